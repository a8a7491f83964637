#include "preload/recorder/file/trace_sink.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "preload/recorder/file/slot_pool.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"

namespace plateau {
namespace {

class TraceSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/plateau-sink-XXXXXX";
    directory_ = mkdtemp(name);
    options_ = {};
    ASSERT_TRUE(options_.out.Set(directory_.c_str()));
    options_.max_trace = 1 << 30;
    ASSERT_TRUE(sink_.Open(options_, "my/pro gram"));
  }
  void TearDown() override {
    sink_.AbandonInChild();
    std::filesystem::remove_all(directory_);
  }

  // An open block with one record.
  void FillBlock(uint32_t seq) {
    writer_.Start(&block_.header, block_.payload, sizeof(block_.payload), 1, seq, 1000);
    ASSERT_TRUE(writer_.Info("key", "value"));
  }
  std::string FileText() const {
    std::ifstream file(sink_.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  int CountBlocks() const {
    const std::string text = FileText();
    int count = 0;
    for (size_t at = trace::kHeaderBytes; at < text.size(); at += trace::kBlockAlign) {
      trace::BlockHeader header;
      std::string_view payload;
      count += trace::ReadBlock(reinterpret_cast<const uint8_t*>(text.data()) + at, text.size() - at, &header,
                                &payload) == trace::BlockStatus::kOk;
    }
    return count;
  }

  static inline TraceSink sink_;
  Options options_;
  std::string directory_;
  trace::BlockWriter writer_;
  struct {
    trace::BlockHeader header;
    uint8_t payload[32768];
  } block_;
};

TEST_F(TraceSinkTest, HeaderIsReadableAtOnce) {
  const std::string text = FileText();
  trace::FileHeader header;
  EXPECT_EQ(trace::ReadFileHeader(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &header),
            trace::HeaderStatus::kOk);
  EXPECT_EQ(header.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(header.shared_ring, 1);
  EXPECT_NE(header.process_start_ticks, 0u);
  EXPECT_NE(std::string(sink_.path()).find("/my_pro_gram."), std::string::npos);
}

TEST_F(TraceSinkTest, BlocksAreAppendedSealed) {
  for (uint32_t seq = 0; seq < 3; ++seq) {
    FillBlock(seq);
    EXPECT_TRUE(sink_.WriteBlock(block_.header, block_.payload));
    EXPECT_EQ(block_.header.flags & trace::kBlockOpen, trace::kBlockOpen)
        << "the open block is left as it is";
  }
  EXPECT_EQ(CountBlocks(), 3);
}

TEST_F(TraceSinkTest, NoDescriptorIsKept) {
  FillBlock(0);
  EXPECT_TRUE(sink_.WriteBlock(block_.header, block_.payload));
  struct stat mine, other;
  ASSERT_EQ(stat(sink_.path(), &mine), 0);
  for (int fd = 0; fd < 2048; ++fd) {
    EXPECT_FALSE(fstat(fd, &other) == 0 && other.st_ino == mine.st_ino && other.st_dev == mine.st_dev) << fd;
  }
}

TEST_F(TraceSinkTest, FileThatWasReplacedIsNeverWritten) {
  const std::string path = sink_.path();
  std::filesystem::remove(path);
  std::ofstream(path) << "the program's own";
  FillBlock(0);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(sink_.WriteBlock(block_.header, block_.payload));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("replaced"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 17u);
  EXPECT_EQ(sink_.header()->dropped_events[static_cast<size_t>(trace::DropReason::kWrite)], 1u);
}

TEST_F(TraceSinkTest, SlotsAreClaimedReleasedAndUsedAgain) {
  static SlotPool pool;
  pool.Reset();
  trace::SlotHeader* first = pool.Claim(&sink_);
  ASSERT_NE(first, nullptr);
  std::memset(static_cast<void*>(first), 1, trace::kSlotBytes);  // its space is there
  trace::SlotHeader* others[trace::kSlotsPerExtent];
  for (auto& slot : others) ASSERT_NE(slot = pool.Claim(&sink_), nullptr);
  EXPECT_EQ(sink_.header()->extent_count, 2u);
  pool.Release(first);
  EXPECT_EQ(pool.Claim(&sink_), first);
  int used = 0;
  pool.ForEachUsed([&](const trace::SlotHeader*) { ++used; });
  EXPECT_EQ(used, 17);
}

TEST_F(TraceSinkTest, AbandonedMemoryIsScratch) {
  static SlotPool pool;
  pool.Reset();
  trace::SlotHeader* slot = pool.Claim(&sink_);
  slot->stream = 7;
  const std::string before = FileText();
  const std::string path = sink_.path();
  sink_.AbandonInChild();
  slot->stream = 9;  // a stale pointer of a forked child
  std::ifstream file(path, std::ios::binary);
  const std::string after((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace plateau
