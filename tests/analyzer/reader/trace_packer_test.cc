#include "analyzer/reader/trace_packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/reader/record_text.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

using ::plateau::testing::TraceFromText;
using ::plateau::testing::WriteTemporary;

std::vector<std::string> RecordsOf(const TraceReader& reader, const BlockRef& ref) {
  std::vector<std::string> lines;
  LoadedBlock block;
  EXPECT_TRUE(reader.Load(ref, &block).ok());
  trace::RecordReader records(block.header, block.payload);
  trace::Record record;
  while (records.Next(&record)) {
    // Blocks that were joined keep their times by a record of their own.
    if (record.kind != trace::RecordKind::kTime) lines.push_back(RecordToText(record));
  }
  return lines;
}

std::vector<std::string> Records(const std::string& path) {
  std::vector<std::string> lines;
  const auto reader = TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  for (const StreamIndex& stream : (*reader)->streams()) {
    lines.push_back("stream " + std::to_string(stream.stream));
    for (const BlockRef& ref : stream.blocks) {
      for (std::string& line : RecordsOf(**reader, ref)) lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::string ManyRecords() {
  std::string text;
  for (int stream = 1; stream <= 3; ++stream) {
    text += "stream " + std::to_string(stream) + "\nmodule module=1 path=\"/opt/train\" build_id=aabb\n";
    for (int i = 1; i <= 4000; ++i) {
      const std::string address = std::to_string((i * 7919 % 1000 + 1) * 16 + stream * 1000000);
      text += "@" + std::to_string(i * 100) + " alloc address=" + address +
              " bytes=" + std::to_string(i % 50 * 16) + " stack=" + std::to_string(i % 7) +
              "\nfree address=" + address + "\n";
      if (i % 1000 == 0) text += "seal\n";
    }
  }
  return text;
}

TEST(TracePackerTest, EveryRecordSurvivesAndTheFileShrinks) {
  const std::string path = WriteTemporary("pack.plt", TraceFromText(ManyRecords()));
  const std::vector<std::string> before = Records(path);
  const auto packed = PackTrace(path);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->bytes_after, std::filesystem::file_size(path));
  EXPECT_LT(packed->bytes_after, packed->bytes_before / 3);
  EXPECT_EQ(Records(path), before);
  EXPECT_FALSE((*TraceReader::Open(path))->summary().HasDamage());
  EXPECT_FALSE(std::filesystem::exists(path + ".packing"));
}

TEST(TracePackerTest, ABlockOfHeapOnlyBlocksIsHeapOnly) {
  const std::string events = "@2000 alloc address=0x10 bytes=10001\nfree address=0x10\nseal\n";
  const auto is_heap_only = [](const std::string& text) {
    const std::string path = WriteTemporary("heap_only.plt", TraceFromText(text));
    EXPECT_TRUE(PackTrace(path).ok());
    const auto reader = TraceReader::Open(path);
    EXPECT_EQ((*reader)->streams()[0].blocks.size(), 1u);
    return trace::IsHeapOnly((*reader)->streams()[0].blocks[0].header);
  };
  EXPECT_TRUE(is_heap_only(events + events));
  EXPECT_FALSE(is_heap_only(events + "node node=1 parent=0 location=5\nseal\n" + events));
}

TEST(TracePackerTest, GroupsOfAStreamHaveAboutTheSameSize) {
  std::string text;
  for (int i = 0; i < 70; ++i) {
    for (int j = 0; j < 1000; ++j) text += "alloc address=" + std::to_string(j * 16) + " bytes=16 stack=1\n";
    text += "seal\n";
  }
  const std::string path = WriteTemporary("groups.plt", TraceFromText(text));
  const size_t block_bytes = (*TraceReader::Open(path))->streams()[0].blocks[1].header.payload_bytes;
  ASSERT_TRUE(PackTrace(path, {.payload_bytes = block_bytes * 20}).ok());
  const auto reader = TraceReader::Open(path);
  const std::vector<BlockRef>& blocks = (*reader)->streams()[0].blocks;
  ASSERT_EQ(blocks.size(), 4u);  // not three of 20 and one of 10
  for (const BlockRef& ref : blocks) EXPECT_NEAR(ref.header.record_count, 17500, 1000);
}

// Objects of one group are freed in the next, and the heap goes on where it was.
TEST(TracePackerTest, RecordsOfSeveralGroupsSurvive) {
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    const auto address = [](int n) { return std::to_string(0x55550010 + n % 3000 * 112); };
    if (i >= 3000) text += "free address=" + address(i) + "\n";
    text += "alloc address=" + address(i) + " bytes=100 stack=" + std::to_string(i % 3 + 1) + "\n";
    if (i % 500 == 499) text += "seal\n";
  }
  const std::string path = WriteTemporary("several.plt", TraceFromText(text));
  const std::vector<std::string> before = Records(path);
  ASSERT_TRUE(PackTrace(path, {.payload_bytes = 16384}).ok());
  EXPECT_GT((*TraceReader::Open(path))->streams()[0].blocks.size(), 3u);
  EXPECT_EQ(Records(path), before);
}

// Objects of one block are freed in the next, and still no block needs another.
TEST(TracePackerTest, ADamagedBlockCostsItsOwnRecordsAndNoOthers) {
  const std::string path = WriteTemporary("each.plt", TraceFromText(ManyRecords()));
  ASSERT_TRUE(PackTrace(path, {.payload_bytes = 4096}).ok());
  std::vector<std::vector<std::string>> records;  // of each block
  std::vector<BlockRef> blocks;
  {
    const auto reader = TraceReader::Open(path);
    for (const StreamIndex& stream : (*reader)->streams()) {
      for (const BlockRef& ref : stream.blocks) {
        blocks.push_back(ref);
        records.push_back(RecordsOf(**reader, ref));
      }
    }
  }
  ASSERT_GT(blocks.size(), 6u);
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t damaged = 0; damaged < blocks.size(); ++damaged) {
    std::string bytes = whole;
    bytes[blocks[damaged].offset + sizeof(trace::BlockHeader) + blocks[damaged].header.payload_bytes / 2] ^=
        0x10;
    const auto reader = TraceReader::Open(WriteTemporary("each_damaged.plt", bytes));
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->summary().damaged_blocks, 1u);
    std::vector<std::vector<std::string>> left;
    for (const StreamIndex& stream : (*reader)->streams()) {
      for (const BlockRef& ref : stream.blocks) left.push_back(RecordsOf(**reader, ref));
    }
    std::vector<std::vector<std::string>> expected = records;
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(damaged));
    EXPECT_EQ(left, expected) << "block " << damaged;
  }
}

TEST(TracePackerTest, OpenBlocksOfAKilledProcessArePackedToo) {
  const std::string path =
      WriteTemporary("killed.plt", TraceFromText("header pid=4194304\nalloc address=0x10 bytes=10001\nseal\n"
                                                 "alloc address=0x20 bytes=10002\nopen\n"));
  const std::vector<std::string> before = Records(path);
  ASSERT_TRUE(PackTrace(path).ok());
  EXPECT_EQ(Records(path), before);
  const auto reader = TraceReader::Open(path);
  EXPECT_EQ((*reader)->summary().open_blocks, 0u);
  EXPECT_FALSE((*reader)->summary().clean_exit);  // still known to have been killed
}

TEST(TracePackerTest, RateOfPythonsObjectsIsKept) {
  const auto packed_rate = [](const char* header) {
    const std::string path = WriteTemporary("python.plt", TraceFromText(header + ManyRecords()));
    EXPECT_TRUE(PackTrace(path).ok());
    return (*TraceReader::Open(path))->header().python_sample_bytes;
  };
  EXPECT_EQ(packed_rate("header mode=exact python_sample=4096\n"), 4096u);
  EXPECT_EQ(packed_rate("header mode=default sample=512 exact_from=16384 python_sample=0\n"), 0u);
}

TEST(TracePackerTest, APackedTraceThatWasCutHasLostSomething) {
  // Of a process that was killed: nothing is pending once it is packed.
  const std::string path = WriteTemporary("cut.plt", TraceFromText(ManyRecords() + "open\n"));
  ASSERT_TRUE(PackTrace(path).ok());
  ASSERT_FALSE((*TraceReader::Open(path))->summary().HasDamage());
  ASSERT_FALSE((*TraceReader::Open(path))->summary().clean_exit);
  std::filesystem::resize_file(path, trace::kPackedHeaderBytes);
  const auto cut = TraceReader::Open(path);
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE((*cut)->summary().HasDamage());
}

TEST(TracePackerTest, PackedTraceIsLeftAlone) {
  const std::string path = WriteTemporary("twice.plt", TraceFromText(ManyRecords()));
  ASSERT_TRUE(PackTrace(path).ok());
  const auto again = PackTrace(path);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->was_packed);
}

TEST(TracePackerTest, DamagedTraceIsLeftAlone) {
  std::string bytes = TraceFromText("alloc address=0x10 bytes=10001\nseal\nalloc address=0x20 bytes=10002\n");
  bytes[trace::kHeaderBytes + 66] ^= 1;
  const std::string path = WriteTemporary("damaged.plt", bytes);
  EXPECT_EQ(PackTrace(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(path), bytes.size());
}

TEST(TracePackerTest, DamagedHeaderCostsNoRecords) {
  const std::string path = WriteTemporary("header.plt", TraceFromText(ManyRecords()));
  const std::vector<std::string> before = Records(path);
  ASSERT_TRUE(PackTrace(path).ok());
  for (const size_t at : {offsetof(trace::FileHeader, pid), offsetof(trace::FileHeader, header_bytes)}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x55');
    file.close();
    EXPECT_EQ(Records(path), before);
    EXPECT_TRUE((*TraceReader::Open(path))->summary().header_damaged);
    EXPECT_EQ((*TraceReader::Open(path))->summary().damaged_blocks, 0u);
  }
}

// Every kind of record that a program with Python and torch has.
std::string VariedRecords() {
  std::string text =
      "info key=\"exe\" value=\"/usr/bin/python3.11\"\ninfo key=\"cmdline\" value=\"python3 train.py\"\n"
      "module module=1 base=0x7f0000000000 begin=0x7f0000000000 bytes=1974096 path=\"/lib/libc.so.6\" "
      "build_id=93ac61ec\n"
      "code code=1 python=0x30b line=1 file=\"/srv/train.py\" name=\"<module>\" "
      "table=f003010101d80b0f8008f00600171b\n"
      "code code=2 python=0x30b line=9 file=\"/srv/train.py\" name=\"Trainer.fit\" "
      "table=80008000f002010520f000010520\n"
      "code code=3 python=0x308 line=70 file=\"/srv/old.py\" name=\"load\" table=0001060108ff\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string n = std::to_string(i);
    text += "pc location=" + n + " module=1 offset=" + std::to_string(100000 + i * 7919 % 5000) + "\n";
    text += "node node=" + n + " parent=" + std::to_string(i / 2) + " location=" + n + "\n";
  }
  for (int i = 1; i <= 600; ++i) {
    const std::string address = std::to_string(0x55550000 + i * 7919 % 1000 * 64);
    const std::string small = std::to_string(0x66660000 + i % 40 * 48);
    text += "@" + std::to_string(i * 1000) + " alloc address=" + address +
            " bytes=" + std::to_string(i % 5 * 400) + " stack=" + std::to_string(i % 30 + 1) +
            "\ntensor address=" + address + " bytes=" + std::to_string(i % 5 * 400) +
            "\nalloc_in address=" + small + " bytes=48 stack=" + std::to_string(i % 7 + 1) +
            "\nfree_in address=" + small + "\ntensor_gone address=" + address + "\nfree address=" + address +
            "\n";
    if (i % 50 == 0)
      text += "mark kind=step source=record_function value=" + std::to_string(i / 50) + " name=\"Adam\"\n";
    if (i % 200 == 0) {
      text += "ledger rss_anon=" + std::to_string(i * 4096) + " threads=4\nseal\n";
      text += "map address=0x7f1234560000 bytes=1048576 prot=3 flags=34 kind=anonymous stack=3\n";
    }
  }
  return text;
}

TEST(TracePackerTest, ExtendedRecordsSurvive) {
  const std::string path = WriteTemporary("varied.plt", TraceFromText(VariedRecords()));
  const std::vector<std::string> before = Records(path);
  EXPECT_GT(before.size(), 3600u);
  ASSERT_TRUE(PackTrace(path).ok());
  EXPECT_EQ(Records(path), before);
}

TEST(TracePackerTest, CountersOfTheHeaderAreKept) {
  const std::string path =
      WriteTemporary("counters.plt", TraceFromText("header alloc_calls=7 alloc_bytes=70 dropped_write=3\n"
                                                   "alloc address=0x10 bytes=10001\n"));
  ASSERT_TRUE(PackTrace(path).ok());
  const auto reader = TraceReader::Open(path);
  EXPECT_EQ((*reader)->summary().totals.alloc_calls, 7u);
  EXPECT_EQ((*reader)->summary().TotalDroppedEvents(), 3u);
  EXPECT_FALSE((*reader)->summary().header_damaged);
}

}  // namespace
}  // namespace plateau::reader
