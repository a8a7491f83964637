#include "analyzer/reader/sound_blocks.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/reader/trace_reader.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

using ::plateau::testing::TraceFromText;
using ::plateau::testing::WriteTemporary;

// Blocks of 128 bytes: a header and a payload of less than 64.
constexpr uint64_t kBytesOfABlock = 128;
constexpr int kBlocks = 100;  // enough for several threads

std::string Trace() {
  std::string text;
  for (int i = 1; i <= kBlocks; ++i) {
    text += "@" + std::to_string(i * 1000) + " alloc address=" + std::to_string(i * 4096) +
            " bytes=10001\nseal\n";
  }
  return TraceFromText(text);
}

uint64_t OffsetOf(int block) { return trace::kHeaderBytes + static_cast<uint64_t>(block) * kBytesOfABlock; }

SoundBlocks Find(const std::string& bytes, const std::map<uint64_t, uint64_t>& extents = {},
                 Check check = Check::kNow) {
  const auto file = InputFile::Open(WriteTemporary("sound_blocks.plt", bytes));
  EXPECT_TRUE(file.ok()) << file.status();
  Progress progress("test", bytes.size());
  return FindSoundBlocks(*file, trace::kHeaderBytes, bytes.size(), extents, check, &progress);
}

TEST(SoundBlocksTest, AllBlocksOfASoundFileInOrder) {
  const std::string bytes = Trace();
  const SoundBlocks sound = Find(bytes);
  ASSERT_EQ(sound.blocks.size(), size_t{kBlocks});
  for (int i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(sound.blocks[i].offset, OffsetOf(i));
    EXPECT_EQ(sound.blocks[i].header.seq, static_cast<uint32_t>(i));
  }
  EXPECT_EQ(sound.end, OffsetOf(kBlocks));
}

TEST(SoundBlocksTest, StopsAtTheFirstBadChecksumWhateverThreadFindsIt) {
  std::string bytes = Trace();
  bytes[OffsetOf(70) + sizeof(trace::BlockHeader)] ^= 1;
  bytes[OffsetOf(30) + sizeof(trace::BlockHeader)] ^= 1;
  const SoundBlocks sound = Find(bytes);
  EXPECT_EQ(sound.blocks.size(), 30u);
  EXPECT_EQ(sound.end, OffsetOf(30));
}

TEST(SoundBlocksTest, StopsWhereNoSealedBlockBegins) {
  const std::string good = Trace();
  std::string zeros = good, open = good, huge = good;
  zeros.replace(OffsetOf(50), kBytesOfABlock, kBytesOfABlock, '\0');
  open[OffsetOf(50) + offsetof(trace::BlockHeader, flags)] |= trace::kBlockOpen;
  huge[OffsetOf(50) + offsetof(trace::BlockHeader, payload_bytes) + 3] = '\x7f';
  for (const std::string& bytes : {zeros, open, huge, good.substr(0, OffsetOf(50) + 70)}) {
    const SoundBlocks sound = Find(bytes);
    EXPECT_EQ(sound.blocks.size(), 50u);
    EXPECT_EQ(sound.end, OffsetOf(50));
  }
}

TEST(SoundBlocksTest, ExtentsArePassedOver) {
  std::string bytes = Trace();
  bytes.replace(OffsetOf(50), 2 * kBytesOfABlock, 2 * kBytesOfABlock, 'x');
  const SoundBlocks sound = Find(bytes, {{OffsetOf(50), OffsetOf(52)}});
  EXPECT_EQ(sound.blocks.size(), size_t{kBlocks - 2});
  EXPECT_EQ(sound.end, OffsetOf(kBlocks));
}

TEST(SoundBlocksTest, TheReaderFindsWhatLiesBehindTheDamage) {
  std::string bytes = Trace();
  bytes[OffsetOf(30) + sizeof(trace::BlockHeader)] ^= 1;
  bytes[OffsetOf(60)] ^= 1;  // the magic
  const auto reader = TraceReader::Open(WriteTemporary("behind_damage.plt", bytes));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const ReadSummary& summary = (*reader)->summary();
  EXPECT_EQ(summary.blocks, uint64_t{kBlocks - 2});
  EXPECT_EQ(summary.damaged_blocks, 2u);
  EXPECT_EQ(summary.damaged_bytes, 2 * kBytesOfABlock);
  EXPECT_EQ(summary.gap_blocks, 2u);
  ASSERT_EQ(summary.notes.size(), 2u);
  EXPECT_NE(summary.notes[0].find("checksum mismatch; 128 bytes skipped"), std::string::npos);
  EXPECT_NE(summary.notes[1].find("no block starts here; 128 bytes skipped"), std::string::npos);
}

TEST(SoundBlocksTest, HeadersAreEnoughWhenBlocksAreCheckedLater) {
  std::string bytes = Trace();
  bytes[OffsetOf(30) + sizeof(trace::BlockHeader)] ^= 1;
  bytes[OffsetOf(60) + offsetof(trace::BlockHeader, type)] = 77;
  const SoundBlocks sound = Find(bytes, {}, Check::kWhenLoaded);
  EXPECT_EQ(sound.blocks.size(), 60u);
  EXPECT_EQ(sound.end, OffsetOf(60));  // what is not known is looked at with care
}

TEST(SoundBlocksTest, ABlockIsCheckedWhenItIsLoaded) {
  const std::string good = Trace();
  std::string payload = good, header = good;
  payload[OffsetOf(30) + sizeof(trace::BlockHeader)] ^= 1;
  header[OffsetOf(30) + offsetof(trace::BlockHeader, first_tsc)] ^= 1;
  for (const std::string& bytes : {good, payload, header}) {
    const auto reader = TraceReader::Open(WriteTemporary("loaded.plt", bytes), Check::kWhenLoaded);
    ASSERT_TRUE(reader.ok()) << reader.status();
    size_t bad = 0;
    LoadedBlock block;
    for (const BlockRef& ref : (*reader)->streams().at(0).blocks) bad += !(*reader)->Load(ref, &block).ok();
    EXPECT_EQ(bad, bytes == good ? 0u : 1u);
    EXPECT_EQ((*reader)->has_unsound_block(), bytes != good);
  }
}

}  // namespace
}  // namespace plateau::reader
