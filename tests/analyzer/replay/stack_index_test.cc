#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/replay/stack_rows.h"

namespace plateau::replay {
namespace {

TEST(StackIndexTest, AStackHasOneRowInEachPool) {
  constexpr uint32_t kNodes = 300;  // each twice, and a third are not defined
  StackNodes nodes;
  for (uint32_t node = 1; node < kNodes; ++node) {
    if (node % 3 != 0) nodes.Define(node, 0, 1 + node % 100);
  }
  nodes.Resize(kNodes);
  nodes.MergeEqual();
  StackIndex index(nodes.size(), nodes.size());
  std::map<std::pair<Pool, uint32_t>, uint32_t> rows;
  uint32_t asked = 0;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t node = static_cast<uint32_t>(random() % (kNodes + 20));
    const auto pool = static_cast<Pool>(random() % 4);
    const uint32_t row = index.RowOf(pool, node, nodes, [&](Pool, uint32_t) { return ++asked; });
    const auto [it, is_new] = rows.try_emplace({pool, nodes.Canonical(node)}, row);
    ASSERT_EQ(it->second, row);
    ASSERT_EQ(index.rows()[row].pool, pool);
    ASSERT_EQ(index.rows()[row].node, nodes.Canonical(node));
    ASSERT_EQ(index.rows()[row].site, row + 1) << "the site is asked for once";
  }
  EXPECT_EQ(index.rows().size(), rows.size());
  EXPECT_GT(rows.size(), 4 * 60u);
}

TEST(StackIndexTest, AStackInTwoPoolsKeepsItsAmountsApart) {
  StackNodes nodes;
  nodes.Define(1, 0, 1);
  nodes.Resize(2);
  nodes.MergeEqual();
  StackIndex index(nodes.size(), nodes.size());
  const auto row_of = [&](Pool pool) {
    return index.RowOf(pool, 1, nodes, [](Pool, uint32_t) { return 0; });
  };
  StackRows& rows = index.rows();
  rows.Born(row_of(Pool::kHeap), 100, 1, true);
  rows.Born(row_of(Pool::kPython), 30, 1, true);
  rows.Born(row_of(Pool::kMmap), 5, 1, true);
  rows.NotePeak();
  rows.Died(row_of(Pool::kHeap), 100, 1, true, false);
  rows.Born(row_of(Pool::kPython), 1, 1, true);
  ASSERT_EQ(index.rows().size(), 3u);
  const StackRow heap = index.rows()[0], python = index.rows()[1], mmap = index.rows()[2];
  EXPECT_EQ(heap.pool, Pool::kHeap);
  EXPECT_EQ(heap.live_bytes, 0);
  EXPECT_EQ(heap.peak_bytes, 100);
  EXPECT_EQ(python.live_bytes, 31);
  EXPECT_EQ(python.peak_bytes, 30);
  EXPECT_EQ(mmap.peak_bytes, 5);
}

}  // namespace
}  // namespace plateau::replay
