#include "analyzer/series/holding.h"

#include <gtest/gtest.h>

namespace plateau::series {
namespace {

TEST(HoldingTest, TheContainerIsNamedWithItsLengthAndItsGrowth) {
  HolderPath path;
  path.text = "trainer.meter.history[*]['loss']";
  EXPECT_EQ(ContainerText(path), path.text);
  path.container = "trainer.meter.history";
  EXPECT_EQ(ContainerText(path), "trainer.meter.history");
  path.container_type = "list";
  path.lengths = {{64, 728}, {128, 1240}};
  EXPECT_EQ(ContainerText(path), "trainer.meter.history (list, 1,240 items, +8 a step)");
  path.lengths = {{64, 1}};
  EXPECT_EQ(ContainerText(path), "trainer.meter.history (list, 1 item)");
}

TEST(HoldingTest, ABoundIsSaid) {
  HolderPath path;
  path.container = "client._cache";
  path.container_type = "collections.deque";
  path.lengths = {{64, 1024, 1024}, {128, 1024, 1024}};
  EXPECT_EQ(ContainerText(path), "client._cache (collections.deque, 1,024 of at most 1,024 items)");
}

TEST(HoldingTest, ARateNeedsTwoLooksAtDifferentSteps) {
  HolderPath path;
  path.lengths = {{64, 10}};
  EXPECT_FALSE(path.ItemsPerStep().has_value());
  path.lengths.push_back({64, 12});
  EXPECT_FALSE(path.ItemsPerStep().has_value());
  path.lengths.push_back({128, 28});
  EXPECT_DOUBLE_EQ(*path.ItemsPerStep(), 0.25);
}

}  // namespace
}  // namespace plateau::series
