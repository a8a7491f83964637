#include "analyzer/process/holders/path_merge.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>

namespace plateau::process {
namespace {

using replay::HolderChain;
using replay::PathSegment;
using series::HeldBy;
using series::RootOwner;
using series::SiteHolding;
using trace::HolderEnd;
using trace::SegmentKind;

class PathMergeTest : public testing::Test {
 protected:
  // A chain of stack 1 in walk 1 unless a test says otherwise.
  HolderChain& Add(std::vector<PathSegment> path, double found, double asked, size_t container_segments = 0) {
    HolderChain& chain = chains_.emplace_back();
    chain.walk = 1;
    chain.stack = 1;
    chain.end = HolderEnd::kPath;
    chain.targets_found = found;
    chain.targets_asked = asked;
    chain.path = std::move(path);
    chain.container_segments = container_segments;
    chain.container = container_segments > 0 ? 0x1000 : 0;
    chain.container_type = "list";
    return chain;
  }
  SiteHolding Merge() {
    std::vector<ChainOfSite> of_site;
    for (const HolderChain& chain : chains_) {
      const double weight = weights.count(chain.stack) > 0 ? weights[chain.stack] : 1000;
      of_site.push_back(
          {&chain, static_cast<double>(32 << chain.walk) / 2, weight, cut_walks.count(chain.walk) > 0});
    }
    return MergeChains(of_site, {.owner_of = owner_of, .name_of_stack = [](uint32_t stack) {
                                   return "place " + std::to_string(stack);
                                 }});
  }

  std::function<RootOwner(const std::vector<PathSegment>&)> owner_of =
      [](const std::vector<PathSegment>& path) {
        return path[0].text == "lib" ? RootOwner::kLibrary : RootOwner::kUser;
      };
  std::map<uint32_t, double> weights;
  std::set<uint64_t> cut_walks;

 private:
  std::deque<HolderChain> chains_;
};

const PathSegment kSeen{SegmentKind::kGlobal, 0, "seen"};
const PathSegment kAnyIndex{SegmentKind::kIndex, 0, ""};
PathSegment At(uint64_t index) { return {SegmentKind::kIndex, index + 1, ""}; }
PathSegment Key(std::string key) { return {SegmentKind::kKey, 1, std::move(key)}; }

TEST_F(PathMergeTest, EqualPathsAddUpAndIndicesOpen) {
  Add({kSeen, At(0), Key("x")}, 30, 64, 1);
  Add({kSeen, At(7), Key("x")}, 34, 64, 1);
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_EQ(holding.paths[0].text, "seen[*]['x']");
  EXPECT_EQ(holding.paths[0].container, "seen");
  EXPECT_DOUBLE_EQ(holding.paths[0].share, 1);
  EXPECT_EQ(holding.looked_at, 64);
}

TEST_F(PathMergeTest, AnIndexBeforeTheContainerStaysWhileAllHaveIt) {
  const PathSegment callbacks{SegmentKind::kGlobal, 0, "callbacks"}, kept{SegmentKind::kAttribute, 0, "kept"};
  Add({callbacks, At(2), kept, At(0)}, 10, 20, 3);
  Add({callbacks, At(2), kept, At(1)}, 10, 20, 3);
  EXPECT_EQ(Merge().paths[0].text, "callbacks[2].kept[*]");
  Add({callbacks, At(3), kept, At(1)}, 10, 30, 3);
  EXPECT_EQ(Merge().paths[0].text, "callbacks[*].kept[*]");
}

TEST_F(PathMergeTest, ManyKeysOfOneDictAreItems) {
  for (int i = 0; i < 9; ++i) Add({kSeen, Key(std::to_string(i))}, 1, 9, 1);
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_EQ(holding.paths[0].text, "seen[*]");
  EXPECT_DOUBLE_EQ(holding.paths[0].share, 1);
}

TEST_F(PathMergeTest, TwoKeysAreTwoNames) {
  Add({kSeen, Key("train")}, 8, 9, 1);
  Add({kSeen, Key("test")}, 1, 9, 1);
  EXPECT_EQ(Merge().paths[0].text, "seen['train']");
}

TEST_F(PathMergeTest, LengthsAreThoseOfAllWalksAndSharesOfTheLast) {
  for (uint64_t walk = 1; walk <= 3; ++walk) {
    HolderChain& chain = Add({kSeen, kAnyIndex}, walk == 3 ? 16 : 64, 64, 1);
    chain.walk = walk;
    chain.length = static_cast<double>(100 * walk);
    if (walk < 3) continue;
    HolderChain& rest = Add({}, 48, 64);
    rest.walk = walk;
    rest.end = HolderEnd::kNotFound;
  }
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_DOUBLE_EQ(holding.paths[0].share, 0.25);
  EXPECT_DOUBLE_EQ(holding.not_found_share, 0.75);
  ASSERT_EQ(holding.paths[0].lengths.size(), 3u);
  EXPECT_EQ(holding.paths[0].lengths[1].items, 200);
  EXPECT_EQ(holding.paths[0].lengths[2].step, 128);
  EXPECT_NEAR(*holding.paths[0].ItemsPerStep(), 100.0 / 64, 1e-9);
}

TEST_F(PathMergeTest, ContainersOfOneNameAddUp) {
  HolderChain& a = Add({kSeen, At(0), kAnyIndex}, 4, 8, 2);
  a.length = 10;
  a.bound = 16;
  HolderChain& b = Add({kSeen, At(1), kAnyIndex}, 4, 8, 2);
  b.container = 0x2000;
  b.length = 11;
  b.bound = 16;
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_EQ(holding.paths[0].text, "seen[*][*]");
  EXPECT_EQ(holding.paths[0].lengths[0].items, 21);
  EXPECT_EQ(holding.paths[0].lengths[0].bound, 32);
}

TEST_F(PathMergeTest, ABoundThatIsExceededIsNone) {
  HolderChain& chain = Add({kSeen, kAnyIndex}, 8, 8, 1);
  chain.length = 20;
  chain.bound = 16;
  EXPECT_EQ(Merge().paths[0].lengths[0].bound, 0);
}

TEST_F(PathMergeTest, TheUsersPathComesFirstWhenItHoldsAboutAsMuch) {
  Add({{SegmentKind::kModule, 0, "lib"}, {SegmentKind::kGlobal, 0, "REGISTRY"}, kAnyIndex}, 34, 64, 2);
  Add({{SegmentKind::kModule, 0, "__main__"}, kSeen, kAnyIndex}, 30, 64, 2);
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 2u);
  EXPECT_EQ(holding.paths[0].text, "seen[*]");
  EXPECT_EQ(holding.paths[1].text, "lib.REGISTRY[*]");
  EXPECT_EQ(holding.paths[1].owner, RootOwner::kLibrary);
}

TEST_F(PathMergeTest, WhatHoldsMostComesFirstWhenTheUserHoldsLittle) {
  Add({{SegmentKind::kModule, 0, "lib"}, {SegmentKind::kGlobal, 0, "REGISTRY"}, kAnyIndex}, 54, 64, 2);
  Add({{SegmentKind::kModule, 0, "__main__"}, kSeen, kAnyIndex}, 10, 64, 2);
  const SiteHolding holding = Merge();
  ASSERT_EQ(holding.paths.size(), 1u);  // the second one holds less than 20 %
  EXPECT_EQ(holding.paths[0].text, "lib.REGISTRY[*]");
}

TEST_F(PathMergeTest, ASecondPathOfTheSameContainerIsNotAnother) {
  Add({kSeen, kAnyIndex, Key("loss")}, 32, 64, 1);
  Add({kSeen, kAnyIndex, Key("logits")}, 32, 64, 1);
  EXPECT_EQ(Merge().paths.size(), 1u);
}

TEST_F(PathMergeTest, StacksWeighByWhatTheyHold) {
  weights = {{1, 9000}, {2, 1000}};
  Add({kSeen, kAnyIndex}, 64, 64, 1);
  HolderChain& other = Add({{SegmentKind::kGlobal, 0, "other"}, kAnyIndex}, 4, 4, 1);
  other.stack = 2;
  other.container = 0x9000;
  const SiteHolding holding = Merge();
  EXPECT_EQ(holding.looked_at, 68);
  EXPECT_NEAR(holding.paths[0].share, 0.9, 1e-9);
}

TEST_F(PathMergeTest, GarbageSaysItsCycle) {
  HolderChain& chain =
      Add({{SegmentKind::kInside, 0, "Node"}, {SegmentKind::kAttribute, 0, "other"}}, 64, 64);
  chain.end = HolderEnd::kGarbage;
  const SiteHolding holding = Merge();
  EXPECT_DOUBLE_EQ(holding.garbage_share, 1);
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_EQ(holding.paths[0].end, HeldBy::kGarbage);
  EXPECT_EQ(holding.paths[0].text, "garbage that waits for the collector; cycle: inside Node.other");
}

TEST_F(PathMergeTest, FrozenGarbageDoesNotWaitForTheCollector) {
  HolderChain& chain =
      Add({{SegmentKind::kInside, 0, "Node"}, {SegmentKind::kAttribute, 0, "other"}}, 64, 64);
  chain.end = HolderEnd::kFrozen;
  const SiteHolding holding = Merge();
  EXPECT_DOUBLE_EQ(holding.garbage_share, 0);
  ASSERT_EQ(holding.paths.size(), 1u);
  EXPECT_EQ(holding.paths[0].text,
            "garbage that gc.freeze() keeps from the collector; cycle: inside Node.other");
}

TEST_F(PathMergeTest, NativeHoldersNameWhereTheirBlockWasMade) {
  HolderChain& chain = Add({}, 64, 64);
  chain.end = HolderEnd::kNativeBlock;
  chain.native_stack = 41;
  const SiteHolding holding = Merge();
  EXPECT_EQ(holding.paths[0].text, "held from C or C++, in a block made at place 41");
  EXPECT_EQ(holding.paths[0].owner, RootOwner::kNative);
  EXPECT_TRUE(holding.paths[0].container.empty());
}

TEST_F(PathMergeTest, WhatIsNotFoundMakesNoPath) {
  Add({}, 64, 64).end = HolderEnd::kNotFound;
  Add({}, 1, 64).end = static_cast<HolderEnd>(99);  // of a later version
  const SiteHolding holding = Merge();
  EXPECT_TRUE(holding.paths.empty());
  EXPECT_GE(holding.not_found_share, 1);
  EXPECT_EQ(holding.looked_at, 64);
}

TEST_F(PathMergeTest, LostBlocksSaySo) {
  Add({}, 64, 64).end = HolderEnd::kUnreachable;
  const SiteHolding holding = Merge();
  EXPECT_EQ(holding.paths[0].end, HeldBy::kLost);
  EXPECT_DOUBLE_EQ(holding.lost_share, 1);
}

TEST_F(PathMergeTest, ALookThatWasCutCountsWhenThereIsNoOther) {
  for (uint64_t walk = 1; walk <= 2; ++walk) {
    HolderChain& chain = Add({kSeen, kAnyIndex}, walk == 1 ? 64 : 16, 64, 1);
    chain.walk = walk;
    chain.length = static_cast<double>(100 * walk);
  }
  cut_walks = {2};
  SiteHolding holding = Merge();
  EXPECT_DOUBLE_EQ(holding.paths[0].share, 1);
  EXPECT_EQ(holding.paths[0].lengths.size(), 2u);  // a length is true however the look went on
  EXPECT_FALSE(holding.was_cut);
  cut_walks = {1, 2};
  holding = Merge();
  EXPECT_DOUBLE_EQ(holding.paths[0].share, 0.25);
  EXPECT_TRUE(holding.was_cut);
}

TEST_F(PathMergeTest, NoChainsAreNoHolding) { EXPECT_TRUE(Merge().empty()); }

}  // namespace
}  // namespace plateau::process
