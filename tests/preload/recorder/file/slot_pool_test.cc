#include "preload/recorder/file/slot_pool.h"

#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace plateau {
namespace {

class SlotPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/plateau-slots-XXXXXX";
    directory_ = mkdtemp(name);
    Options options = {};
    ASSERT_TRUE(options.out.Set(directory_.c_str()));
    ASSERT_TRUE(sink_.Open(options, "slots"));
    slots_.Reset();
  }
  void TearDown() override {
    sink_.AbandonInChild();
    std::filesystem::remove_all(directory_);
  }
  size_t CountUsed() const {
    size_t count = 0;
    slots_.ForEachUsed([&count](const trace::SlotHeader*) { ++count; });
    return count;
  }

  static inline TraceSink sink_;
  static inline SlotPool slots_;
  std::string directory_;
};

TEST_F(SlotPoolTest, AnExtentIsAddedWhenAllSlotsAreTaken) {
  std::set<trace::SlotHeader*> taken;
  for (size_t i = 0; i < trace::kSlotsPerExtent + 1; ++i) {
    trace::SlotHeader* slot = slots_.Claim(&sink_);
    ASSERT_NE(slot, nullptr);
    EXPECT_TRUE(taken.insert(slot).second) << "a slot was given out twice";
  }
  EXPECT_EQ(sink_.header()->extent_count, 2u);
  EXPECT_EQ(CountUsed(), trace::kSlotsPerExtent + 1);
}

TEST_F(SlotPoolTest, AReleasedSlotIsGivenOutAgainBeforeTheFileGrows) {
  trace::SlotHeader* first = slots_.Claim(&sink_);
  ASSERT_NE(first, nullptr);
  slots_.Release(first);
  EXPECT_EQ(CountUsed(), 0u);
  EXPECT_EQ(slots_.Claim(&sink_), first);
  EXPECT_EQ(sink_.header()->extent_count, 1u);
}

TEST_F(SlotPoolTest, ASlotIsWritableUpToItsEnd) {
  auto* bytes = reinterpret_cast<uint8_t*>(slots_.Claim(&sink_));
  ASSERT_NE(bytes, nullptr);
  bytes[trace::kSlotBytes - 1] = 1;
  EXPECT_EQ(bytes[trace::kSlotBytes - 1], 1);
}

}  // namespace
}  // namespace plateau
