// Stacks and locations come back as they were defined, take few bytes, and are whole at every moment.
#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "tests/support/sample_block.h"

namespace plateau::trace {
namespace {

using Node = std::tuple<uint32_t, uint32_t, uint32_t>;

std::vector<Node> NodesOf(const SampleBlock& block) {
  RecordReader reader(block.header(), block.payload());
  std::vector<Node> nodes;
  Record record;
  while (reader.Next(&record)) {
    if (record.kind == RecordKind::kNode) {
      nodes.push_back({record.node.node, record.node.parent, record.node.location});
    }
  }
  EXPECT_FALSE(reader.damaged());
  return nodes;
}

// Defines stacks as a program that walks a call tree does.
class Stacks {
 public:
  explicit Stacks(SampleBlock* block) : block_(block) {}

  uint32_t Define(uint32_t parent, std::vector<uint32_t> locations) {
    for (const uint32_t location : locations) {
      nodes_.push_back({++id_, parent, location});
      EXPECT_TRUE(block_->writer.Node({id_, parent, location}));
      parent = id_;
    }
    return parent;
  }
  void SkipIds(uint32_t count) { id_ += count; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  SampleBlock* block_;
  std::vector<Node> nodes_;
  uint32_t id_ = 0;
};

TEST(StackRecordsTest, NodesOfAnyOrderComeBack) {
  SampleBlock block;
  const Node nodes[] = {{1, 0, 5},    {2, 1, 6},    {3, 1, 4000000000u}, {9000, 3, 1},
                        {9001, 0, 2}, {4, 9001, 3}, {5, 9001, 3},        {6, 5, 3}};
  for (const auto& [node, parent, location] : nodes) ASSERT_TRUE(block.writer.Node({node, parent, location}));
  EXPECT_EQ(NodesOf(block), std::vector<Node>(std::begin(nodes), std::end(nodes)));
}

TEST(StackRecordsTest, WhatWasCalledFromThereBeforeIsGuessed) {
  SampleBlock block;
  Stacks stacks(&block);
  const std::vector<uint32_t> path = {5, 60000, 70000, 80000, 90000, 100000, 110000, 120000};
  stacks.Define(0, path);
  const size_t once = block.payload().size();
  stacks.Define(0, path);  // the same place again, then seven guesses
  EXPECT_EQ(block.payload().size(), once + 2 + 1);
  stacks.Define(0, {5, 61000});  // another call from 5
  const size_t before = block.payload().size();
  stacks.Define(0, {5, 60000});  // the call before that
  EXPECT_EQ(block.payload().size(), before + 1 + 1);
  EXPECT_EQ(NodesOf(block), stacks.nodes());
}

TEST(StackRecordsTest, WhatTheCallerCalledNextIsGuessed) {
  SampleBlock block;
  Stacks stacks(&block);
  // main calls two functions, each from three lines that allocate by the same two calls.
  const auto function = [&](uint32_t parent, uint32_t place) {
    const uint32_t frame = stacks.Define(parent, {place});
    for (const uint32_t line : {10000u, 20000u, 30000u}) stacks.Define(frame, {line, line + 1, 77});
  };
  const uint32_t main = stacks.Define(0, {1});
  function(main, 2);
  const size_t before = block.payload().size();
  function(main, 30);
  // Two bytes for the call, its first line and what that calls; then one for each line and one for its calls.
  EXPECT_LE(block.payload().size(), before + 12);
  EXPECT_EQ(NodesOf(block), stacks.nodes());
}

TEST(StackRecordsTest, DeepAndRandomTreesComeBack) {
  std::mt19937 generator(3);
  const auto random = [&] { return static_cast<uint32_t>(generator()); };
  for (int round = 0; round < 20; ++round) {
    SampleBlock block;
    Stacks stacks(&block);
    std::vector<uint32_t> path = {0};  // of the tree, deeper than what a block remembers
    while (block.writer.room() > 4000) {
      const size_t keep = random() % 4 == 0 ? random() % path.size() : path.size() - 1 - random() % 4;
      path.resize(std::max<size_t>(1, std::min(keep + 1, path.size())));
      for (uint32_t depth = random() % (round < 10 ? 6 : 60); depth-- > 0;) {
        path.push_back(
            stacks.Define(path.back(), {random() % 3 == 0 ? random() % 100000 : 1 + random() % 40}));
      }
      if (random() % 50 == 0) stacks.SkipIds(random() % 1000);
      if (random() % 5 == 0) block.writer.Pc({1 + random() % 40, 1, random()});
      if (path.size() > 300) path.resize(1);
    }
    EXPECT_EQ(NodesOf(block), stacks.nodes());
  }
}

TEST(StackRecordsTest, EveryNodeOfARunIsThereAsSoonAsItIsDefined) {
  SampleBlock block;
  Stacks stacks(&block);
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < 30; ++i) path.push_back(1000 * i + 1);
  stacks.Define(0, path);
  uint32_t parent = 0;
  for (const uint32_t location : path) {
    parent = stacks.Define(parent, {location});
    ASSERT_EQ(NodesOf(block), stacks.nodes());
  }
}

TEST(StackRecordsTest, LocationsComeBack) {
  SampleBlock block;
  const PcRecord pcs[] = {{1, 1, 0x1234}, {2, 1, 0x1200}, {70000, 3, UINT64_MAX}, {3, 0, 0x7fff12345678}};
  const PythonLocationRecord pythons[] = {
      {4, 9, 120}, {5, 9, UINT32_MAX}, {6, 8, 0}, {100, 4000000000u, 7}, {101, 1, 2}};
  for (const PcRecord& pc : pcs) ASSERT_TRUE(block.writer.Pc(pc));
  for (const PythonLocationRecord& python : pythons) ASSERT_TRUE(block.writer.PythonLocation(python));
  RecordReader reader(block.header(), block.payload());
  Record record;
  for (const PcRecord& pc : pcs) {
    ASSERT_TRUE(reader.Next(&record));
    EXPECT_EQ(std::tuple(record.pc.location, record.pc.module, record.pc.offset),
              std::tuple(pc.location, pc.module, pc.offset));
  }
  for (const PythonLocationRecord& python : pythons) {
    ASSERT_TRUE(reader.Next(&record));
    ASSERT_EQ(record.kind, RecordKind::kPythonLocation);
    const PythonLocationRecord& r = record.python_location;
    EXPECT_EQ(std::tuple(r.location, r.code, r.offset),
              std::tuple(python.location, python.code, python.offset));
  }
}

// A block is not left half empty because a record might have been long.
TEST(StackRecordsTest, AShortCodeFitsTheRestOfABlock) {
  SampleBlock block;
  uint32_t codes = 0;
  while (block.writer.Code({codes, 0x030b, 1, "a.py", "f", std::string(100, 'l')})) ++codes;
  EXPECT_LT(block.writer.room(), 300u);
}

}  // namespace
}  // namespace plateau::trace
