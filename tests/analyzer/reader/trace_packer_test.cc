#include "analyzer/reader/trace_packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/reader/record_text.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

using ::plateau::testing::TraceFromText;
using ::plateau::testing::WriteTemporary;

std::vector<std::string> Records(const std::string& path) {
  std::vector<std::string> lines;
  const auto reader = TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  for (const StreamIndex& stream : (*reader)->streams()) {
    lines.push_back("stream " + std::to_string(stream.stream));
    for (const BlockRef& ref : stream.blocks) {
      LoadedBlock block;
      EXPECT_TRUE((*reader)->Load(ref, &block).ok());
      trace::RecordReader records(block.header, block.payload);
      trace::Record record;
      while (records.Next(&record)) {
        // Blocks that were joined keep their times by a record of their own.
        if (record.kind != trace::RecordKind::kTime) lines.push_back(RecordToText(record));
      }
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
