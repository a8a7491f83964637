#include "analyzer/replay/definitions/stack_nodes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace plateau::replay {
namespace {

struct Defined {
  uint32_t parent;
  uint32_t location;
};

using Path = std::vector<uint32_t>;  // locations, leaf first

Path PathOf(const std::vector<Defined>& defined, uint32_t node) {
  Path path;
  for (; node != 0; node = defined[node].parent) path.push_back(defined[node].location);
  return path;
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(getpagesize());
}

Path PathOf(const StackNodes& nodes, uint32_t node) {
  Path path;
  for (node = nodes.Canonical(node); node != 0; node = nodes[node].parent) {
    EXPECT_EQ(nodes.Canonical(node), node) << "a parent of a canonical node is canonical";
    path.push_back(nodes[node].location);
  }
  return path;
}

StackNodes Merged(const std::vector<Defined>& defined) {
  StackNodes nodes;
  for (uint32_t id = 1; id < defined.size(); ++id) nodes.Define(id, defined[id].parent, defined[id].location);
  nodes.Resize(defined.size());
  nodes.MergeEqual();
  return nodes;
}

// Stacks of a program that comes back to the same places, written by a shim that forgets some of them.
std::vector<Defined> RandomTree(uint32_t count, uint32_t locations, std::mt19937* random) {
  std::vector<Defined> defined = {{0, 0}};
  for (uint32_t id = 1; id < count; ++id) {
    uint32_t parent = id - 1;
    if ((*random)() % 4 == 0) parent = id - 1 - static_cast<uint32_t>((*random)() % std::min(id, 300u));
    if ((*random)() % 16 == 0)
      parent = static_cast<uint32_t>((*random)() % std::min(id, 3u));  // many children
    defined.push_back({parent, 1 + static_cast<uint32_t>((*random)() % locations)});
  }
  return defined;
}

TEST(StackNodesTest, EveryPathKeepsItsFirstNodeAndOnlyThat) {
  std::mt19937 random(7);
  for (const uint32_t locations : {3u, 40u, 5000u}) {
    const std::vector<Defined> defined = RandomTree(30000, locations, &random);
    const StackNodes nodes = Merged(defined);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> first;  // (canonical parent, location) -> node
    std::vector<uint32_t> expected = {0};
    size_t merged = 0;
    for (uint32_t id = 1; id < defined.size(); ++id) {
      const auto key = std::pair(expected[defined[id].parent], defined[id].location);
      expected.push_back(first.try_emplace(key, id).first->second);
      merged += expected[id] != id;
      ASSERT_EQ(nodes.Canonical(id), expected[id]) << "node " << id << ", locations " << locations;
    }
    EXPECT_GT(merged, 20u);
  }
}

TEST(StackNodesTest, ParentsWithLargerNumbersMakeTheSamePaths) {
  std::mt19937 random(8);
  for (const uint32_t batch : {1u, 2u, 3u, 16u, 256u}) {  // of numbers that a thread takes at once
    const std::vector<Defined> tree = RandomTree(1 + 4096 / batch * batch, 12, &random);
    std::vector<uint32_t> batches((tree.size() - 1) / batch);
    std::iota(batches.begin(), batches.end(), 0);
    std::shuffle(batches.begin(), batches.end(), random);
    const auto number = [&](uint32_t id) {
      return id == 0 ? 0 : 1 + batches[(id - 1) / batch] * batch + (id - 1) % batch;
    };
    std::vector<Defined> defined(tree.size());
    for (uint32_t id = 1; id < tree.size(); ++id) {
      defined[number(id)] = {number(tree[id].parent), tree[id].location};
    }
    const StackNodes nodes = Merged(defined);
    std::map<Path, uint32_t> node_of;
    for (uint32_t id = 1; id < defined.size(); ++id) {
      const Path path = PathOf(defined, id);
      ASSERT_EQ(PathOf(nodes, id), path);
      ASSERT_EQ(node_of.try_emplace(path, nodes.Canonical(id)).first->second, nodes.Canonical(id));
    }
  }
}

TEST(StackNodesTest, WhatWasNeverDefinedIsTheRoot) {
  const StackNodes nodes = Merged({{0, 0}, {0, 0}, {1, 5}, {0, 5}, {900, 6}, {4, 7}});
  EXPECT_EQ(nodes.Canonical(1), 0u);
  EXPECT_EQ(nodes.Canonical(2), 2u);
  EXPECT_EQ(nodes[2].parent, 0u);
  EXPECT_EQ(nodes.Canonical(3), 2u);
  EXPECT_EQ(nodes[4].parent, 0u);
  EXPECT_EQ(nodes[5].parent, 4u);
  EXPECT_EQ(nodes.Canonical(6), 0u);
}

TEST(StackNodesTest, CyclesEndAtTheRoot) {
  const StackNodes nodes = Merged({{0, 0}, {1, 5}, {4, 6}, {2, 7}, {3, 8}, {2, 9}});
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    uint32_t depth = 0;
    for (uint32_t node = nodes.Canonical(id); node != 0; node = nodes[node].parent) ASSERT_LT(++depth, 6u);
  }
}

TEST(StackNodesTest, NumbersThatNoShimGivesOutAreRefused) {
  StackNodes nodes;
  EXPECT_FALSE(nodes.Define(0, 1, 2));
  EXPECT_FALSE(nodes.Define(UINT32_MAX, 1, 2));
  EXPECT_TRUE(nodes.Define(1, 0, 2));
}

// A damaged trace has a node of any number, and a caller that comes after it.
TEST(StackNodesTest, LargeNumbersTakeNoMemoryForThoseBelow) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "it has memory for whatever is read";
#endif
  constexpr uint32_t kLarge = 1 << 26;
  StackNodes nodes;
  if (!nodes.Define(kLarge, kLarge + 1, 7)) GTEST_SKIP() << "there is no address space for it";
  nodes.Define(kLarge + 1, 0, 8);
  nodes.Define(5, kLarge, 9);
  nodes.Resize(kLarge + 2);
  const size_t before = ResidentBytes();
  nodes.MergeEqual();
  EXPECT_LT(ResidentBytes(), before + (32 << 20)) << "a byte for each number would be 64 MB";
  EXPECT_EQ(PathOf(nodes, 5), (Path{9, 7, 8}));
  EXPECT_EQ(nodes.Canonical(1234567), 0u);
}

TEST(StackNodesTest, ThreadsDefineAtTheSameTime) {
  constexpr uint32_t kNodes = 100000;
  StackNodes nodes;
  const auto define = [&nodes](uint32_t first) {
    for (uint32_t id = first; id < kNodes; id += 2) nodes.Define(id, id / 2, id);
  };
  std::thread other(define, 2);
  define(1);
  other.join();
  nodes.Resize(kNodes);
  nodes.MergeEqual();
  for (uint32_t id = 1; id < kNodes; ++id) {
    ASSERT_EQ(nodes[id].parent, id / 2);
    ASSERT_EQ(nodes[id].location, id);
  }
}

}  // namespace
}  // namespace plateau::replay
