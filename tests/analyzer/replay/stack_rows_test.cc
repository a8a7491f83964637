#include "analyzer/replay/stack_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace plateau::replay {
namespace {

// The same rows as plain doubles, with a copy of everything at every peak.
class PlainRows {
 public:
  void Add(Pool pool, uint32_t node, uint32_t site) {
    rows_.push_back({.node = node, .site = site, .pool = pool});
  }
  void Born(uint32_t row, uint64_t bytes, double weight, bool is_object) {
    const double size = static_cast<double>(bytes) * weight, count = is_object ? weight : 0;
    Apply(row, {.live_bytes = size, .live_count = count, .alloc_bytes = size, .alloc_count = count});
  }
  void Died(uint32_t row, uint64_t bytes, double weight, bool is_object, bool is_temporary) {
    const double size = static_cast<double>(bytes) * weight, count = is_object ? weight : 0;
    Apply(row, {.live_bytes = -size,
                .live_count = -count,
                .free_count = count,
                .temporary_bytes = is_temporary ? size : 0});
  }
  void Apply(uint32_t row, const StackRows::Change& change) {
    StackRow& r = rows_[row];
    r.live_bytes += change.live_bytes;
    r.live_count += change.live_count;
    r.alloc_bytes += change.alloc_bytes;
    r.alloc_count += change.alloc_count;
    r.free_count += change.free_count;
    r.temporary_bytes += change.temporary_bytes;
  }
  void NotePeak() {
    for (StackRow& r : rows_) r.peak_bytes = r.live_bytes;
  }
  void NoteRetained() {
    retained_ = rows_;
    has_retained_ = true;
  }
  StackRow operator[](size_t row) const {
    StackRow r = rows_[row];
    if (has_retained_) {
      r.live_bytes = row < retained_.size() ? retained_[row].live_bytes : 0;
      r.live_count = row < retained_.size() ? retained_[row].live_count : 0;
    }
    return r;
  }
  double live_bytes(uint32_t row) const { return rows_[row].live_bytes; }
  double live_count(uint32_t row) const { return rows_[row].live_count; }
  size_t size() const { return rows_.size(); }

 private:
  std::vector<StackRow> rows_, retained_;
  bool has_retained_ = false;
};

// Does everything to both.
struct Pair {
  explicit Pair(uint32_t first_peak = 1) : rows(first_peak) {}

  uint32_t Add(Pool pool = Pool::kHeap) {
    const auto number = static_cast<uint32_t>(plain.size());
    plain.Add(pool, number * 7, number * 3);
    return rows.Add(pool, number * 7, number * 3);
  }
  void Born(uint32_t row, uint64_t bytes, double weight = 1, bool is_object = true) {
    rows.Born(row, bytes, weight, is_object);
    plain.Born(row, bytes, weight, is_object);
  }
  void Died(uint32_t row, uint64_t bytes, double weight = 1, bool is_object = true,
            bool is_temporary = false) {
    rows.Died(row, bytes, weight, is_object, is_temporary);
    plain.Died(row, bytes, weight, is_object, is_temporary);
  }
  void Apply(uint32_t row, const StackRows::Change& change) {
    rows.Apply(row, change);
    plain.Apply(row, change);
  }
  void NotePeak() {
    rows.MakeRoomForPeaks(1);
    rows.NotePeak();
    plain.NotePeak();
  }
  void NoteRetained() {
    rows.NoteRetained();
    plain.NoteRetained();
  }
  void ExpectEqual() const {
    ASSERT_EQ(rows.size(), plain.size());
    for (uint32_t row = 0; row < rows.size(); ++row) {
      const StackRow r = rows[row], p = plain[row];
      ASSERT_EQ(r.node, p.node);
      ASSERT_EQ(r.site, p.site);
      ASSERT_EQ(r.pool, p.pool);
      ASSERT_EQ(r.live_bytes, p.live_bytes) << row;
      ASSERT_EQ(r.live_count, p.live_count) << row;
      ASSERT_EQ(r.peak_bytes, p.peak_bytes) << row;
      ASSERT_EQ(r.alloc_bytes, p.alloc_bytes) << row;
      ASSERT_EQ(r.alloc_count, p.alloc_count) << row;
      ASSERT_EQ(r.free_count, p.free_count) << row;
      ASSERT_EQ(r.temporary_bytes, p.temporary_bytes) << row;
      ASSERT_EQ(rows.live_bytes(row), plain.live_bytes(row)) << row;
      ASSERT_EQ(rows.live_count(row), plain.live_count(row)) << row;
    }
  }

  StackRows rows;
  PlainRows plain;
};

TEST(StackRowsTest, CountsBeyondSixteenBits) {
  Pair pair;
  const uint32_t row = pair.Add();
  for (int i = 0; i < 65535; ++i) pair.Born(row, 1);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[row].alloc_count, 65535);
  for (int i = 0; i < 65535; ++i) pair.Died(row, 1);
  pair.Born(row, 1);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[row].alloc_count, 65536);
  EXPECT_EQ(pair.rows[row].free_count, 65535);
  EXPECT_EQ(pair.rows[row].live_count, 1);
}

TEST(StackRowsTest, BytesBeyondThirtyTwoBits) {
  Pair pair;
  const uint32_t at_once = pair.Add(), over_time = pair.Add(), part = pair.Add(), exactly = pair.Add();
  pair.Born(at_once, uint64_t{5} << 30);
  for (int i = 0; i < 5; ++i) {
    pair.Born(over_time, 1 << 30);
    pair.Died(over_time, 1 << 30, 1, true, /*is_temporary=*/true);
  }
  pair.Born(part, UINT32_MAX);
  pair.Born(part, 1, 1, /*is_object=*/false);
  pair.Born(exactly, UINT32_MAX);
  pair.Died(exactly, UINT32_MAX, 1, true, /*is_temporary=*/true);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[over_time].temporary_bytes, 5.0 * (1 << 30));
  EXPECT_EQ(pair.rows[part].live_bytes, 4294967296.0);
  EXPECT_EQ(pair.rows[part].live_count, 1);
  EXPECT_EQ(pair.rows[exactly].temporary_bytes, 4294967295.0);
}

TEST(StackRowsTest, SizesThatWrapAround) {
  Pair pair;
  const uint32_t row = pair.Add();
  pair.Born(row, 100);
  pair.Born(row, UINT64_MAX - 50);
  pair.ExpectEqual();
}

TEST(StackRowsTest, SampledObjectsHaveFractions) {
  Pair pair;
  const uint32_t row = pair.Add(), freed = pair.Add();
  pair.Born(row, 100);
  pair.Born(row, 100, 7.25);
  pair.Born(freed, 100);
  pair.Died(freed, 100, 1.5);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[row].live_bytes, 825);
  EXPECT_EQ(pair.rows[row].live_count, 8.25);
  EXPECT_EQ(pair.rows[freed].live_bytes, -50);
}

TEST(StackRowsTest, MoreMayEndThanThereIs) {
  Pair pair;
  const uint32_t bytes = pair.Add(), count = pair.Add();
  pair.Born(bytes, 10);
  pair.Died(bytes, 11, 1, /*is_object=*/false);
  pair.Born(count, 10, 1, /*is_object=*/false);
  pair.Died(count, 5);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[bytes].live_bytes, -1);
  EXPECT_EQ(pair.rows[count].live_count, -1);
  EXPECT_EQ(pair.rows[count].free_count, 1);
}

TEST(StackRowsTest, ThePeakOutlivesTheMoveToAWideRow) {
  Pair pair;
  const uint32_t before = pair.Add(), after = pair.Add(), at = pair.Add();
  for (const uint32_t row : {before, after, at}) pair.Born(row, 1000);
  pair.NotePeak();
  pair.Died(before, 400);  // has seen the peak, and then
  pair.Born(before, 1, 2.5);
  pair.Born(after, 1, 2.5);  // has not
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[before].peak_bytes, 1000);
  EXPECT_EQ(pair.rows[after].peak_bytes, 1000);
  EXPECT_EQ(pair.rows[at].peak_bytes, 1000);
  pair.NotePeak();
  pair.Died(after, 1000);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[after].peak_bytes, 1002.5);
}

TEST(StackRowsTest, PeaksAreNumberedAnewWhenTheNumbersEnd) {
  Pair pair(UINT32_MAX - 3);
  const uint32_t narrow = pair.Add(), wide = pair.Add(), still = pair.Add();
  pair.Born(still, 5);
  for (int i = 0; i < 8; ++i) {
    pair.Born(narrow, 10);
    pair.Born(wide, 10, 1.5);
    pair.NotePeak();
    pair.ExpectEqual();
    pair.Died(narrow, 3);
    pair.Died(wide, 3);
    pair.ExpectEqual();
    const uint32_t late = pair.Add();
    pair.ExpectEqual();
    pair.Born(late, 2);
    pair.ExpectEqual();
  }
}

TEST(StackRowsTest, WhatIsRetainedStays) {
  Pair pair;
  const uint32_t narrow = pair.Add(), wide = pair.Add(), widened = pair.Add();
  pair.Born(narrow, 10);
  pair.Born(wide, 10, 1.5);
  pair.Born(widened, 10);
  pair.NoteRetained();
  pair.Died(narrow, 10);
  pair.Died(wide, 10, 1.5);
  pair.Died(widened, 10);
  pair.Born(widened, 3, 1.25);
  const uint32_t late = pair.Add();
  pair.Born(late, 10);
  pair.NotePeak();
  pair.Died(late, 10);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows[narrow].live_bytes, 10);
  EXPECT_EQ(pair.rows[narrow].live_count, 1);
  EXPECT_EQ(pair.rows[narrow].free_count, 1);
  EXPECT_EQ(pair.rows[widened].live_bytes, 10);
  EXPECT_EQ(pair.rows[late].live_bytes, 0);
  EXPECT_EQ(pair.rows[late].peak_bytes, 10);
}

TEST(StackRowsTest, TotalsOfManyEvents) {
  Pair pair;
  const uint32_t fits = pair.Add(), fraction = pair.Add(), uneven = pair.Add(), large = pair.Add();
  const StackRows::Change whole{100, 1, 300, 3, 2, 200};
  for (const uint32_t row : {fits, fraction, uneven, large}) pair.Apply(row, whole);
  pair.ExpectEqual();
  pair.Apply(fraction, {.live_bytes = 0.5, .alloc_bytes = 0.5});
  pair.Apply(uneven, {.free_count = 1});  // of something that was not counted
  pair.Apply(large, {.live_bytes = 1e12, .live_count = 1e6, .alloc_bytes = 1e12, .alloc_count = 1e6});
  pair.Apply(fits, {.live_bytes = -100, .live_count = -1, .free_count = 1});
  pair.ExpectEqual();
}

TEST(StackRowsTest, LinkedRowsKeepTheirAmounts) {
  Pair pair;
  const uint32_t row = pair.Add(), other = pair.Add(Pool::kShared);
  pair.Born(row, 10);
  pair.NotePeak();
  pair.rows.Link(row, other + 1);
  pair.ExpectEqual();
  EXPECT_EQ(pair.rows.link(row), other + 1);
  EXPECT_EQ(pair.rows.link(other), 0u);
  pair.Died(row, 10);
  pair.ExpectEqual();
}

TEST(StackRowsTest, AreWhatPlainDoublesAre) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    // Some runs near the limits, so that many rows pass them.
    const uint64_t size = std::vector<uint64_t>{64, 60'000, 1u << 30, uint64_t{3} << 31}[seed % 4];
    const bool is_sampled = seed % 5 == 4, is_damaged = seed % 7 == 6;
    Pair pair(seed % 3 == 0 ? UINT32_MAX - 40 : 1);
    struct Object {
      uint32_t row;
      uint64_t bytes;
      double weight;
    };
    std::vector<Object> live;
    for (int i = 0; i < 3000; ++i) {
      const uint32_t what = below(100);
      if (pair.plain.size() == 0 || what < 2) {
        pair.Add(static_cast<Pool>(below(4)));
      } else if (what < 50) {
        const Object object{below(static_cast<uint32_t>(pair.plain.size())), random() % size,
                            is_sampled && below(4) == 0 ? 1 + below(100) / 7.0 : 1.0};
        pair.Born(object.row, object.bytes, object.weight);
        live.push_back(object);
      } else if (what < 90 && !live.empty()) {
        std::swap(live[below(static_cast<uint32_t>(live.size()))], live.back());
        pair.Died(live.back().row, live.back().bytes, live.back().weight, true, below(2) == 0);
        if (!is_damaged || below(20) != 0) live.pop_back();
      } else if (what < 93) {
        pair.Born(below(static_cast<uint32_t>(pair.plain.size())), random() % size, 1, /*is_object=*/false);
      } else if (what < 95) {
        const double bytes = below(1000), count = below(70);
        pair.Apply(below(static_cast<uint32_t>(pair.plain.size())),
                   {bytes / 4, count, bytes, 2 * count, count, bytes / 2});
      } else if (what < 99) {
        pair.NotePeak();
      } else if (i > 2000 && i < 2100) {
        pair.NoteRetained();
        i = 2100;
      }
      if (i % 10 == 0) {
        pair.ExpectEqual();
        if (HasFatalFailure()) FAIL() << "seed " << seed << ", change " << i;
      }
    }
    pair.ExpectEqual();
  }
}

}  // namespace
}  // namespace plateau::replay
