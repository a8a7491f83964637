#include "analyzer/reader/trace_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>

#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

using ::plateau::testing::TraceFromText;
using ::plateau::testing::WriteTemporary;

struct ReadBack {
  std::multiset<uint64_t> sizes;  // of the allocations
  ReadSummary summary;
};

ReadBack ReadBytes(const std::string& bytes) {
  ReadBack result;
  const auto reader = TraceReader::Open(WriteTemporary("case.plt", bytes));
  if (!reader.ok()) return result;
  result.summary = (*reader)->summary();
  for (const StreamIndex& stream : (*reader)->streams()) {
    for (const BlockRef& ref : stream.blocks) {
      LoadedBlock block;
      if (!(*reader)->Load(ref, &block).ok()) continue;
      trace::RecordReader records(block.header, block.payload);
      trace::Record record;
      while (records.Next(&record)) {
        if (record.kind == trace::RecordKind::kAlloc) result.sizes.insert(record.alloc.bytes);
      }
    }
  }
  return result;
}

// Six blocks of one allocation each: 10001 ... 10006.
std::string SixBlocks() {
  std::string text;
  for (int i = 1; i <= 6; ++i) {
    text += "alloc address=" + std::to_string(i * 64) + " bytes=" + std::to_string(10000 + i) +
            " stack=1\nseal\n";
  }
  return TraceFromText(text);
}

constexpr size_t kSmallBlock = 128;  // one allocation: header, a few bytes, padding

TEST(TraceReaderTest, SoundFileHasNoDamage) {
  const ReadBack read = ReadBytes(SixBlocks());
  EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10001, 10002, 10003, 10004, 10005, 10006}));
  EXPECT_FALSE(read.summary.HasDamage());
  EXPECT_TRUE(read.summary.clean_exit);
  EXPECT_EQ(read.summary.blocks, 6u);
}

TEST(TraceReaderTest, BlocksBehindADamagedOneAreKept) {
  std::string bytes = SixBlocks();
  ASSERT_EQ(bytes.size(), trace::kHeaderBytes + 6 * kSmallBlock);
  bytes[trace::kHeaderBytes + 2 * kSmallBlock + 66] ^= 1;  // payload of the third
  const ReadBack read = ReadBytes(bytes);
  EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10001, 10002, 10004, 10005, 10006}));
  EXPECT_EQ(read.summary.damaged_blocks, 1u);
  EXPECT_EQ(read.summary.damaged_bytes, kSmallBlock);
  EXPECT_EQ(read.summary.gap_blocks, 1u);
  ASSERT_EQ(read.summary.notes.size(), 1u);
  EXPECT_NE(read.summary.notes[0].find("offset 4352: checksum mismatch"), std::string::npos)
      << read.summary.notes[0];
}

// A walk that goes on behind it would never end.
TEST(TraceReaderTest, ABlockWithoutLengthIsDamage) {
  std::string bytes = SixBlocks();
  const size_t at = trace::kHeaderBytes + 2 * kSmallBlock;
  trace::BlockHeader header;
  std::memcpy(&header, bytes.data() + at, sizeof(header));
  header.header_bytes = 0;
  header.payload_bytes = 0;
  std::memcpy(bytes.data() + at, &header, sizeof(header));
  const std::string path = WriteTemporary("case.plt", bytes);
  for (const Check check : {Check::kNow, Check::kWhenLoaded}) {
    const auto reader = TraceReader::Open(path, check);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->summary().blocks, 5u);
    EXPECT_EQ((*reader)->summary().damaged_blocks, 1u);
  }
}

TEST(TraceReaderTest, EveryFlippedBitCostsAtMostItsOwnBlock) {
  const std::string good = SixBlocks();
  for (size_t at = trace::kHeaderBytes; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] ^= static_cast<char>(1 << (at % 8));
    EXPECT_GE(ReadBytes(bytes).sizes.size(), 5u) << "byte " << at;
  }
}

TEST(TraceReaderTest, CutAtEveryLengthKeepsTheBlocksBefore) {
  const std::string good = SixBlocks();
  for (size_t length = trace::kHeaderBytes; length <= good.size(); ++length) {
    const ReadBack read = ReadBytes(good.substr(0, length));
    // The last bytes of a block are padding, which nobody misses.
    const size_t whole = (length - trace::kHeaderBytes + kSmallBlock - 64 - 8) / kSmallBlock;
    EXPECT_GE(read.sizes.size() + 1, whole) << "length " << length;
    EXPECT_LE(read.sizes.size(), 6u);
  }
}

TEST(TraceReaderTest, AFileThatWasCutBetweenTwoBlocksHasLostSomething) {
  const std::string good = SixBlocks();
  for (size_t blocks = 0; blocks < 6; ++blocks) {
    const ReadBack read = ReadBytes(good.substr(0, trace::kHeaderBytes + blocks * kSmallBlock));
    EXPECT_EQ(read.sizes.size(), blocks);
    EXPECT_EQ(read.summary.gap_blocks, 1u) << blocks;
    ASSERT_EQ(read.summary.notes.size(), 1u);
    EXPECT_NE(read.summary.notes[0].find("case.plt: the file was cut: "), std::string::npos);
  }
}

TEST(TraceReaderTest, ABlockThatAKilledProcessWasAboutToWriteIsNotMissed) {
  std::string bytes =
      TraceFromText("alloc address=0x100 bytes=10001\nseal\nalloc address=0x200 bytes=10002\nopen\n");
  uint64_t data_end = bytes.size() + trace::kSlotBytes / 2;
  const size_t place = offsetof(trace::FileHeader, data_end);
  std::memcpy(bytes.data() + place, &data_end, sizeof(data_end));
  EXPECT_FALSE(ReadBytes(bytes).summary.HasDamage());
  // Of one that ended in order while a thread still worked neither.
  const uint32_t clean_exit = 1;
  std::memcpy(bytes.data() + offsetof(trace::FileHeader, clean_exit), &clean_exit, sizeof(clean_exit));
  EXPECT_FALSE(ReadBytes(bytes).summary.HasDamage());
  data_end = bytes.size() + 4 * trace::kExtentBytes;  // more than a thread can be about to write
  std::memcpy(bytes.data() + place, &data_end, sizeof(data_end));
  EXPECT_TRUE(ReadBytes(bytes).summary.HasDamage());
}

TEST(TraceReaderTest, OpenBlocksOfAKilledProcessAreRead) {
  const ReadBack read = ReadBytes(TraceFromText(R"(
stream 1
alloc address=0x100 bytes=10001
seal
alloc address=0x200 bytes=10002
open
stream 2
alloc address=0x300 bytes=10003
open
)"));
  EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10001, 10002, 10003}));
  EXPECT_EQ(read.summary.open_blocks, 2u);
  EXPECT_FALSE(read.summary.HasDamage());
  EXPECT_FALSE(read.summary.clean_exit);
}

TEST(TraceReaderTest, OpenBlockIsFoundEvenWhenTheExtentListIsLost) {
  std::string bytes = TraceFromText("alloc address=0x200 bytes=10002\nopen\n");
  std::memset(bytes.data() + offsetof(trace::FileHeader, extent_count), 0, sizeof(uint32_t));
  EXPECT_EQ(ReadBytes(bytes).sizes, (std::multiset<uint64_t>{10002}));
}

TEST(TraceReaderTest, SealedCopyWinsOverTheOpenOne) {
  // The same block twice: killed after the copy was written and before the slot was taken again.
  std::string sealed = TraceFromText("alloc address=0x200 bytes=10002\n");
  std::string open = TraceFromText("alloc address=0x200 bytes=10002\nopen\n");
  const std::string block = sealed.substr(trace::kHeaderBytes);
  ReadBack read = ReadBytes(open + block);
  EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10002}));
  EXPECT_EQ(read.summary.open_blocks, 0u);
  // When the copy is torn, the open one serves.
  std::string torn = block;
  torn[65] ^= 1;
  read = ReadBytes(open + torn);
  EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10002}));
  EXPECT_EQ(read.summary.open_blocks, 1u);
}

TEST(TraceReaderTest, ACopyThatWasBeingWrittenIsNoDamageWhileTheRingHasTheBlock) {
  const std::string block = TraceFromText("alloc address=0x200 bytes=10002\n").substr(trace::kHeaderBytes);
  const std::string open = TraceFromText("alloc address=0x200 bytes=10002\nopen\n");
  const size_t written = sizeof(trace::BlockHeader) + 2;
  for (const std::string& copy :
       {block.substr(0, written), block.substr(0, written) + std::string(block.size() - written, '\0')}) {
    const ReadBack read = ReadBytes(open + copy);
    EXPECT_EQ(read.sizes, (std::multiset<uint64_t>{10002}));
    EXPECT_EQ(read.summary.duplicate_blocks, 1u);
    EXPECT_FALSE(read.summary.HasDamage());
  }
  // The ring has gone on to another block: this one is lost.
  const std::string later = TraceFromText("skip 1\nalloc address=0x300 bytes=10003\nopen\n");
  EXPECT_TRUE(ReadBytes(later + block.substr(0, written)).summary.truncated);
}

TEST(TraceReaderTest, HoleOfAWriteThatNeverHappenedIsNotDamage) {
  std::string bytes = SixBlocks();
  bytes.insert(trace::kHeaderBytes + 2 * kSmallBlock, std::string(64 * 100, '\0'));
  const ReadBack read = ReadBytes(bytes);
  EXPECT_EQ(read.sizes.size(), 6u);
  EXPECT_FALSE(read.summary.HasDamage());
}

TEST(TraceReaderTest, MissingBlockNumbersAreGaps) {
  const ReadBack read = ReadBytes(TraceFromText("alloc bytes=10001\nskip 3\nalloc bytes=10002\n"));
  EXPECT_EQ(read.sizes.size(), 2u);
  EXPECT_EQ(read.summary.gap_blocks, 3u);
}

TEST(TraceReaderTest, RandomGarbageIsSkippedAndCounted) {
  std::mt19937 random(7);
  std::string garbage(4096, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  std::string bytes = SixBlocks();
  bytes.insert(trace::kHeaderBytes + 3 * kSmallBlock, garbage);
  const ReadBack read = ReadBytes(bytes);
  EXPECT_EQ(read.sizes.size(), 6u);
  EXPECT_EQ(read.summary.damaged_bytes, garbage.size());
}

TEST(TraceReaderTest, DamagedHeaderStillGivesTheBlocks) {
  std::string bytes = SixBlocks();
  bytes[offsetof(trace::FileHeader, pid)] ^= 1;
  const ReadBack read = ReadBytes(bytes);
  EXPECT_EQ(read.sizes.size(), 6u);
  EXPECT_TRUE(read.summary.header_damaged);
}

TEST(TraceReaderTest, ImpossibleExtentListDoesNotHideData) {
  std::string bytes = SixBlocks();
  trace::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.extent_count = 200000;
  header.extent_offset[0] = trace::kHeaderBytes;
  header.extent_offset[1] = UINT64_MAX - 63;
  std::memcpy(bytes.data(), &header, sizeof(header));
  EXPECT_EQ(ReadBytes(bytes).sizes.size(), 6u);
}

}  // namespace
}  // namespace plateau::reader
