#include "analyzer/verdict/vocabulary/verdict_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace plateau::verdict {
namespace {

TEST(VerdictKindTest, RowsStandInTheOrderOfTheEnumAndNamesAreUnique) {
  std::set<std::string_view> names;
  size_t index = 0;
  for (const VerdictRow& row : AllVerdicts()) {
    EXPECT_EQ(static_cast<size_t>(row.kind), index++);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.words.empty()) << row.name;
    EXPECT_EQ(ParseVerdict(row.name), row.kind);
    EXPECT_EQ(VerdictName(row.kind), row.name);
  }
}

TEST(VerdictKindTest, NamesAreReadInAnyCase) {
  EXPECT_EQ(ParseVerdict("CACHE_FILL"), VerdictKind::kCacheFill);
  EXPECT_EQ(ParseVerdict("no such verdict"), std::nullopt);
}

TEST(VerdictKindTest, WhatGrowsForEverIsShownAsTheWorstAndHarmlessThingsAsFine) {
  EXPECT_EQ(ToneOf("leak"), Tone::kGrows);
  EXPECT_EQ(ToneOf("inconclusive"), Tone::kOpen);
  EXPECT_EQ(ToneOf("cache_fill"), Tone::kNote);
  EXPECT_EQ(ToneOf("steady"), Tone::kFine);
  EXPECT_EQ(ToneOf(""), Tone::kFine);
  EXPECT_EQ(ToneOf("a_verdict_of_next_year"), Tone::kNote);
  EXPECT_EQ(VerdictTitle("cache_fill"), "CACHE FILL");
}

TEST(VerdictKindTest, EveryLeakRanksFirstAndSteadyLast) {
  for (const VerdictRow& row : AllVerdicts()) {
    if (row.is_leak) {
      EXPECT_EQ(row.rank, 0) << row.name;
    }
    if (row.kind != VerdictKind::kSteady) {
      EXPECT_LT(row.rank, SeverityRank(VerdictKind::kSteady)) << row.name;
    }
  }
}

}  // namespace
}  // namespace plateau::verdict
