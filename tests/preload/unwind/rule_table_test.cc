#include "preload/unwind/rule_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace plateau::unwind {
namespace {

constexpr uintptr_t kAddress = 0x10000;  // no object has these: every rule is kNoObject

TEST(RuleTableTest, EntryIsMadeOnceAndStays) {
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(8));
  RuleEntry* entry = table->Find(kAddress);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->rule.kind, RuleKind::kNoObject);
  EXPECT_EQ(table->Find(kAddress), entry);
  EXPECT_EQ(table->size(), 1u);
}

TEST(RuleTableTest, RealCodeHasARule) {
  PrepareObjectLookup();
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(8));
  RuleEntry* entry = table->Find(reinterpret_cast<uintptr_t>(&std::abort));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->rule.kind, RuleKind::kRsp);
  EXPECT_EQ(entry->rule.cfa_offset, 8);  // the first instruction: only the return address is on the stack
}

TEST(RuleTableTest, NotInitializedFindsNothing) {
  auto table = std::make_unique<RuleTable>();
  EXPECT_EQ(table->Find(kAddress), nullptr);
}

TEST(RuleTableTest, FullTableIsCountedAndKeepsWhatItHas) {
  constexpr size_t kAddresses = 5000;
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(4));  // 16 + 128 + 512 slots, and windows of 32 behind each
  std::vector<RuleEntry*> entries;
  size_t refused = 0;
  for (uintptr_t i = 0; i < kAddresses; ++i) {
    entries.push_back(table->Find(kAddress + i));
    if (entries.back() == nullptr) ++refused;
  }
  EXPECT_GT(refused, kAddresses - 800);
  EXPECT_EQ(table->full_count(), refused);
  EXPECT_EQ(table->size(), kAddresses - refused);
  std::set<RuleEntry*> distinct(entries.begin(), entries.end());
  EXPECT_EQ(distinct.size(), kAddresses - refused + 1);
  for (uintptr_t i = 0; i < kAddresses; ++i) {
    if (entries[i] != nullptr) {
      EXPECT_EQ(table->Find(kAddress + i), entries[i]);
    }
  }
}

TEST(RuleTableTest, RetiredSlotsAreUsedAgainForEver) {
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(4));
  for (int reload = 0; reload < 1000; ++reload) {
    for (uintptr_t i = 0; i < 20; ++i) {
      RuleEntry* entry = table->Find(kAddress + i);
      ASSERT_NE(entry, nullptr);
      EXPECT_EQ(entry->location.load(), 0u);
      entry->location.store(7);
      entry->memo.store(9);
    }
    table->Retire(kAddress, kAddress + 20);
  }
  EXPECT_EQ(table->full_count(), 0u);
  EXPECT_EQ(table->size(), 0u);
}

TEST(RuleTableTest, RetireLeavesOthersAlone) {
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(8));
  RuleEntry* before = table->Find(kAddress - 1);
  RuleEntry* inside = table->Find(kAddress);
  RuleEntry* after = table->Find(kAddress + 1);
  table->Retire(kAddress, kAddress + 1);
  EXPECT_EQ(table->Find(kAddress - 1), before);
  EXPECT_EQ(table->Find(kAddress + 1), after);
  EXPECT_EQ(inside->key.load(), 2u);
}

TEST(RuleTableTest, ThreadsAgreeOnEntries) {
  auto table = std::make_unique<RuleTable>();
  ASSERT_TRUE(table->Initialize(12));
  constexpr uintptr_t kKeys = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        for (uintptr_t i = 0; i < kKeys; ++i) {
          RuleEntry* entry = table->Find(kAddress + i * 5);
          ASSERT_NE(entry, nullptr);
          EXPECT_EQ(entry->key.load(), kAddress + i * 5);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(table->size(), kKeys);
  EXPECT_LE(table->size(), kKeys * 2);  // races may leave a second copy
}

}  // namespace
}  // namespace plateau::unwind
