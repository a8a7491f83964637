// Each kind of damage to a block or a file header has a name, and no damage is read as data.
#include <string>

#include "gtest/gtest.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "tests/support/sample_block.h"

namespace plateau::trace {
namespace {

BlockStatus Read(const std::string& bytes) {
  BlockHeader header;
  std::string_view payload;
  return ReadBlock(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &header, &payload);
}

std::string SealedSample() {
  SampleBlock block;
  for (uint32_t i = 1; i < 50; ++i) {
    block.writer.Node({i, i - 1, i});
    block.writer.Alloc({0x1000u * i, 10000u + i, i, false}, 1000 + i);
    if (i % 5 == 0) block.writer.Info("key", std::string(i, 'v'));
  }
  return block.Sealed();
}

TEST(BlockDamageTest, SealedBlockIsWhole) { EXPECT_EQ(Read(SealedSample()), BlockStatus::kOk); }

TEST(BlockDamageTest, CutAtEveryByteIsTruncated) {
  const std::string whole = SealedSample();
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(Read(whole.substr(0, size)), BlockStatus::kTruncated) << size;
  }
}

TEST(BlockDamageTest, EveryFlippedBitIsNoticed) {
  const std::string whole = SealedSample();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    BlockHeader header;
    std::string_view payload;
    const BlockStatus status =
        ReadBlock(reinterpret_cast<const uint8_t*>(damaged.data()), damaged.size(), &header, &payload);
    // The one bit that turns a sealed block into an open one is caught where open blocks are not expected: in
    // the data.
    const bool open_bit = bit == offsetof(BlockHeader, flags) * 8;
    ASSERT_EQ(status == BlockStatus::kOpen, open_bit) << bit;
    ASSERT_NE(status, BlockStatus::kOk) << bit;
  }
}

TEST(BlockDamageTest, DamagedPayloadNeverLeavesItsBytes) {
  SampleBlock block;
  for (uint32_t i = 1; i < 60; ++i) {
    block.writer.Alloc({0x1000u * i, 10000u + i, i, false}, 1000 + i);
    block.writer.Code({i, 0x030b, i, "file.py", "name", "\x01\x02\x03"});
  }
  const std::string payload(block.payload());
  for (size_t bit = 0; bit < payload.size() * 8; ++bit) {
    std::string damaged = payload;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    RecordReader reader(block.header(), damaged);
    Record record;
    size_t records = 0;
    while (reader.Next(&record)) ++records;
    EXPECT_LE(reader.offset(), damaged.size());
    EXPECT_LE(records, damaged.size());
  }
}

TEST(BlockDamageTest, RecordCutInTheMiddleIsDamageAfterTheWholeOnes) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Free({0x100, false}));
  const size_t first = block.payload().size();
  ASSERT_TRUE(block.writer.Alloc({0x10000, 10001, 7, false}));
  for (size_t size = first + 1; size < block.payload().size(); ++size) {
    RecordReader reader(block.header(), block.payload().substr(0, size));
    Record record;
    ASSERT_TRUE(reader.Next(&record));
    EXPECT_FALSE(reader.Next(&record));
    EXPECT_TRUE(reader.damaged());
    EXPECT_EQ(reader.offset(), first);
  }
}

class FileHeaderTest : public ::testing::Test {
 protected:
  FileHeaderTest() {
    std::memset(&header_, 0, sizeof(header_));
    std::memcpy(header_.magic, kFileMagic, sizeof(kFileMagic));
    header_.version_major = kVersionMajor;
    header_.header_bytes = kHeaderBytes;
    header_.pid = 4711;
    SealHeader(&header_);
  }
  HeaderStatus Read(size_t size = sizeof(FileHeader)) {
    return ReadFileHeader(reinterpret_cast<const uint8_t*>(&header_), size, &read_);
  }
  FileHeader header_;
  FileHeader read_;
};

TEST_F(FileHeaderTest, WholeHeaderIsRead) {
  EXPECT_EQ(Read(), HeaderStatus::kOk);
  EXPECT_EQ(read_.pid, 4711u);
}

TEST_F(FileHeaderTest, DynamicPartIsNotUnderTheChecksum) {
  header_.data_end = 12345;
  header_.clean_exit = 1;
  EXPECT_EQ(Read(), HeaderStatus::kOk);
  EXPECT_EQ(read_.data_end, 12345u);
}

TEST_F(FileHeaderTest, EveryFlippedBitOfTheStaticPartIsNoticed) {
  for (size_t bit = 0; bit < offsetof(FileHeader, data_end) * 8; ++bit) {
    auto* bytes = reinterpret_cast<uint8_t*>(&header_);
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
    EXPECT_NE(Read(), HeaderStatus::kOk) << bit;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
  }
}

TEST_F(FileHeaderTest, CutHeaderIsTooShort) {
  for (size_t size = 0; size < sizeof(FileHeader); ++size) {
    ASSERT_EQ(Read(size), HeaderStatus::kTooShort);
  }
}

TEST_F(FileHeaderTest, HeaderOfAPackedFileEndsBeforeTheExtents) {
  header_.header_bytes = kPackedHeaderBytes;
  header_.clean_exit = 1;
  header_.extent_offset[10] = 77;  // where a block lies already
  SealHeader(&header_);
  EXPECT_EQ(Read(), HeaderStatus::kOk);
  EXPECT_EQ(Read(kPackedHeaderBytes), HeaderStatus::kOk);
  EXPECT_EQ(read_.clean_exit, 1u);
  EXPECT_EQ(read_.extent_offset[10], 0u);
  EXPECT_EQ(Read(kPackedHeaderBytes - 1), HeaderStatus::kTooShort);
}

TEST_F(FileHeaderTest, LaterMajorVersionIsNamedAsSuch) {
  header_.version_major = kVersionMajor + 1;
  SealHeader(&header_);
  EXPECT_EQ(Read(), HeaderStatus::kNewerVersion);
}

TEST_F(FileHeaderTest, TextIsNotATrace) {
  std::memcpy(&header_, "step,bytes\n1,2\n", 15);
  EXPECT_EQ(Read(), HeaderStatus::kNotATrace);
}

}  // namespace
}  // namespace plateau::trace
