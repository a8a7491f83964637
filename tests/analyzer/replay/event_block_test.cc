#include "analyzer/replay/event_block.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/reader/trace_reader.h"
#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

struct Wanted {
  uint64_t bytes;
  uint32_t stack;
};

// Numbers that an event has room for, the first that it has not, and the largest there are.
TEST(EventBlockTest, SizesAndStacksOfAnyNumberAreExact) {
  constexpr uint64_t kMostBytes = (uint64_t{1} << (64 - PackedObject::kStackBits)) - 1;
  constexpr uint32_t kMostStack = (uint32_t{1} << PackedObject::kStackBits) - 1;
  const std::vector<Wanted> wanted = {{0, 0},
                                      {48, 7},
                                      {kMostBytes, kMostStack},
                                      {kMostBytes + 1, 3},
                                      {24, kMostStack + 1},
                                      {24, UINT32_MAX},
                                      {kMostBytes + 1, UINT32_MAX},
                                      {(uint64_t{1} << 46) - 1, 5},
                                      {1, 1}};
  std::string text;
  for (size_t i = 0; i < wanted.size(); ++i) {
    absl::StrAppend(&text, i % 2 == 0 ? "alloc" : "alloc_in", " address=", 0x1000 + 16 * i,
                    " bytes=", wanted[i].bytes, " stack=", wanted[i].stack, "\n");
  }
  const std::string path = testing::WriteTemporary("events.plt", testing::TraceFromText(text));
  const auto reader = reader::TraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EventBlock block;
  ASSERT_TRUE(block.Decode(**reader, (*reader)->streams().at(0).blocks.at(0)).ok());
  ASSERT_EQ(block.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Event& event = block.events()[i];
    EXPECT_EQ(event.address, 0x1000 + 16 * i);
    EXPECT_EQ(block.BytesOf(event), wanted[i].bytes) << i;
    EXPECT_EQ(block.StackOf(event), wanted[i].stack) << i;
    EXPECT_EQ((event.flags & kEventLarge) != 0, i >= 3 && i <= 7) << i;
  }
}

TEST(EventBlockTest, TheRoomOfOneBlockIsUsedForTheNext) {
  EventBlock block;
  for (const size_t wanted : {3, 40000, 5, 40000}) {
    std::string text;
    for (size_t i = 0; i < wanted; ++i) {
      const char* const kind = i % 2 == 0 ? "alloc bytes=24 stack=1" : "free";
      absl::StrAppend(&text, kind, " address=", 0x1000 + i / 2 % 8 * 32, "\n");
    }
    const std::string path = testing::WriteTemporary("room.plt", testing::TraceFromText(text));
    const auto reader = reader::TraceReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    size_t i = 0;
    for (const reader::BlockRef& ref : (*reader)->streams().at(0).blocks) {
      ASSERT_TRUE(block.Decode(**reader, ref).ok());
      for (size_t k = 0; k < block.size(); ++k, ++i) {
        ASSERT_EQ(block.events()[k].address, 0x1000 + i / 2 % 8 * 32);
        ASSERT_EQ(block.events()[k].Kind(),
                  i % 2 == 0 ? trace::RecordKind::kAlloc : trace::RecordKind::kFree);
      }
    }
    EXPECT_EQ(i, wanted);
  }
}

}  // namespace
}  // namespace plateau::replay
