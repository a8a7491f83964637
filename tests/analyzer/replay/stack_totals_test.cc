#include "analyzer/replay/stack_totals.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plateau::replay {
namespace {

TEST(StackTotalsTest, AStackHasOneRowInEachPool) {
  constexpr uint32_t kNodes = 300;  // each twice, and a third are not defined
  StackNodes nodes;
  for (uint32_t node = 1; node < kNodes; ++node) {
    if (node % 3 != 0) nodes.Define(node, 0, 1 + node % 100);
  }
  nodes.Resize(kNodes);
  nodes.MergeEqual();
  StackTotals totals(nodes.size());
  std::map<std::pair<Pool, uint32_t>, uint32_t> rows;
  uint32_t asked = 0;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const uint32_t node = static_cast<uint32_t>(random() % (kNodes + 20));
    const auto pool = static_cast<Pool>(random() % 4);
    const uint32_t row = totals.RowOf(pool, node, nodes, [&](Pool, uint32_t) { return ++asked; });
    const auto [it, is_new] = rows.try_emplace({pool, nodes.Canonical(node)}, row);
    ASSERT_EQ(it->second, row);
    ASSERT_EQ(totals.row(row).pool, pool);
    ASSERT_EQ(totals.row(row).node, nodes.Canonical(node));
    ASSERT_EQ(totals.row(row).site, row + 1) << "the site is asked for once";
  }
  EXPECT_EQ(totals.rows().size(), rows.size());
  EXPECT_GT(rows.size(), 4 * 60u);
}

}  // namespace
}  // namespace plateau::replay
