#include "analyzer/symbols/passed_on.h"

#include <optional>

#include "gtest/gtest.h"

namespace plateau::symbols {
namespace {

TEST(PassedOnTest, WhatIsAppendedStoredOrPutIsFollowed) {
  EXPECT_EQ(LineThatStores("out = net(x)\nself.outputs.append(out)\n", 1), 2);
  EXPECT_EQ(LineThatStores("    out = net(x)\n\n    # a comment\n    kept[step] = out", 1), 4);
  EXPECT_EQ(LineThatStores("out = net(x)\nloss = out.mean()\nself.last = out\n", 1), 3);
  EXPECT_EQ(LineThatStores("x, y = read(i)\nqueue.put((i, y))\n", 1), 2);
  EXPECT_EQ(LineThatStores("out: Tensor = net(x)\nif keep:\n  seen.add(out.detach())\n", 1), 3);
}

TEST(PassedOnTest, WhatIsMadeOfItIsAnotherObject) {
  EXPECT_EQ(LineThatStores("loss = f(x)\nlosses.append(loss.item())\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\nkept.append(output)\nkept.append(self.out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\nif out == kept[0]:\n  pass\n", 1), std::nullopt);
}

TEST(PassedOnTest, ItEndsWithTheBlockAndWithTheName) {
  EXPECT_EQ(LineThatStores("  out = f(x)\n  g(out)\nkept.append(out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\nout = g(out)\nkept.append(out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\nout = g(out)\nkept.append(out)\n", 2), 3);
}

TEST(PassedOnTest, OtherLinesHaveNoNameToFollow) {
  EXPECT_EQ(LineThatStores("kept.append(f(x))\nkept.append(x)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("f(out=1)\nkept.append(out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out == f(x)\nkept.append(out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out += f(x)\nkept.append(out)\n", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\n", 7), std::nullopt);
  EXPECT_EQ(LineThatStores("", 1), std::nullopt);
  EXPECT_EQ(LineThatStores("out = f(x)\n", 0), std::nullopt);
}

}  // namespace
}  // namespace plateau::symbols
