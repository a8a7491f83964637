#include "analyzer/replay/definitions/holder_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace plateau::replay {
namespace {

trace::HolderRecord Sound(const trace::HolderPathWriter& path) {
  trace::HolderRecord record{};
  record.walk = 1;
  record.stack = 3;
  record.end = trace::HolderEnd::kPath;
  record.targets_found = 60;
  record.targets_asked = 64;
  record.bytes = 600060;
  record.container = 0x7f1000;
  record.container_length = 1240;
  record.container_segments = 2;
  record.container_type = "list";
  record.path = path.bytes();
  return record;
}

class HolderLogTest : public testing::Test {
 protected:
  HolderLogTest() {
    path.Add({trace::SegmentKind::kModule, 0, "__main__"});
    path.Add({trace::SegmentKind::kGlobal, 0, "seen"});
    path.Add({trace::SegmentKind::kIndex, 0, ""});
  }
  void ExpectRefused(const trace::HolderRecord& record) {
    HolderLog log;
    log.Add(1, record);
    EXPECT_TRUE(log.chains.empty());
    EXPECT_EQ(log.damaged_chains, 1u);
  }

  trace::HolderPathWriter path;
};

TEST_F(HolderLogTest, AChainIsKeptWithItsPath) {
  HolderLog log;
  log.Add(77, Sound(path));
  ASSERT_EQ(log.chains.size(), 1u);
  const HolderChain& chain = log.chains[0];
  EXPECT_EQ(chain.tsc, 77u);
  EXPECT_EQ(chain.stack, 3u);
  EXPECT_EQ(chain.length, 1240);
  ASSERT_EQ(chain.path.size(), 3u);
  EXPECT_EQ(chain.path[1].text, "seen");
  EXPECT_EQ(log.damaged_chains, 0u);
}

TEST_F(HolderLogTest, WhatMakesNoSenseIsCountedAndLeftOut) {
  trace::HolderRecord record = Sound(path);
  record.targets_found = 65;  // more than were asked
  ExpectRefused(record);
  record = Sound(path);
  record.targets_asked = record.targets_found = 0;
  ExpectRefused(record);
  record = Sound(path);
  record.container_length = UINT64_MAX;
  ExpectRefused(record);
  record = Sound(path);
  record.bytes = UINT64_MAX;
  ExpectRefused(record);
  record = Sound(path);
  record.container_segments = 4;  // of three
  ExpectRefused(record);
}

TEST_F(HolderLogTest, APathThatEndsWithinASegmentIsRefused) {
  trace::HolderRecord record = Sound(path);
  for (size_t cut = 1; cut < path.bytes().size(); ++cut) {
    record.path = path.bytes().substr(0, cut);
    record.container_segments = 0;
    HolderLog log;
    log.Add(1, record);
    EXPECT_EQ(log.chains.size() + log.damaged_chains, 1u) << cut;
    for (const HolderChain& chain : log.chains) EXPECT_LT(chain.path.size(), 3u);
  }
}

TEST_F(HolderLogTest, LongTextsAndPathsAreRefusedOrCut) {
  std::string bytes;
  for (size_t i = 0; i <= trace::kMaxSegments; ++i) bytes += std::string("\x07\x00\x01x", 4);
  trace::HolderRecord record = Sound(path);
  record.path = bytes;
  ExpectRefused(record);
  std::string long_text("\x07\x00\x64", 3);
  long_text += std::string(100, 'x');
  record.path = long_text;
  record.container_segments = 0;
  ExpectRefused(record);
  record = Sound(path);
  const std::string type(100'000, 't');
  record.container_type = record.what = type;
  HolderLog log;
  log.Add(1, record);
  ASSERT_EQ(log.chains.size(), 1u);
  EXPECT_LE(log.chains[0].container_type.size(), 200u);
  EXPECT_LE(log.chains[0].what.size(), 200u);
}

TEST_F(HolderLogTest, ABoundThatNobodyReachesIsNone) {
  trace::HolderRecord record = Sound(path);
  record.container_bound = INT64_MAX;  // sys.maxsize
  HolderLog log;
  log.Add(1, record);
  ASSERT_EQ(log.chains.size(), 1u);
  EXPECT_EQ(log.chains[0].bound, 0);
}

TEST_F(HolderLogTest, MoreThanTheLimitIsCounted) {
  HolderLog log, other;
  for (size_t i = 0; i < HolderLog::kMaxChains + 5; ++i) log.Add(i, Sound(path));
  EXPECT_EQ(log.chains.size(), HolderLog::kMaxChains);
  EXPECT_EQ(log.surplus, 5u);
  other.Add(0, Sound(path));
  for (size_t i = 0; i < HolderLog::kMaxWalks + 2; ++i) other.Add(i, trace::HolderWalkRecord{});
  EXPECT_EQ(other.surplus, 2u);
  log.Add(std::move(other));
  EXPECT_EQ(log.chains.size(), HolderLog::kMaxChains);
  EXPECT_EQ(log.walks.size(), HolderLog::kMaxWalks);
  EXPECT_EQ(log.surplus, 8u);
}

TEST_F(HolderLogTest, LogsOfSeveralBlocksAreOrderedByTime) {
  HolderLog log, other;
  log.Add(20, Sound(path));
  other.Add(10, Sound(path));
  log.Add(std::move(other));
  log.SortByTime();
  ASSERT_EQ(log.chains.size(), 2u);
  EXPECT_EQ(log.chains[0].tsc, 10u);
}

}  // namespace
}  // namespace plateau::replay
