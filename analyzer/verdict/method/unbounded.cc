#include "analyzer/verdict/method/unbounded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/verdict/method/forecast.h"
#include "analyzer/verdict/method/judgement.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

// Where most rounds keep something, what one of the first few kept far beyond it is no part of the growth: a library
// that is imported when it is first used, a buffer that is made once. Such rounds count as the usual one.
std::vector<double> WithoutOneOffs(Values bytes) {
  std::vector<double> even(bytes.begin(), bytes.end());
  const double usual = Median(bytes);
  const size_t early = std::max<size_t>(1, bytes.size() / kOneOffRounds);
  for (size_t i = 0; usual > 0 && i < std::min(early, even.size()); ++i) {
    if (even[i] > kOneOffTimes * usual) even[i] = usual;
  }
  return even;
}

// Does the last third keep as much as the first, as far as sampling lets one know?
bool GoesOn(const SurvivorWindow& window, Values bytes) {
  const size_t third = bytes.size() / 3;
  const double first = Mean(bytes.first(third));
  const double last = Mean(bytes.last(third));
  double error = 0;
  if (!window.variance.empty()) {
    const double both = Sum(window.variance.first(third)) + Sum(window.variance.last(third));
    error = std::sqrt(both) / static_cast<double>(third);
  }
  return last >= kUnboundedLastThird * first - 2 * error;
}

// How many entries a cache has of which `draws` random draws have found `births` different ones:
// births = D (1 - exp(-draws / D)), which rises with D towards `draws`.
double EntriesFor(double births, double draws) {
  double low = births, high = births;
  const auto expected = [&](double entries) { return entries * -std::expm1(-draws / entries); };
  while (expected(high) < births && high < kMostCacheEntries) high *= 2;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (expected(middle) < births ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::optional<HitEstimate> EstimateCacheFromHits(Values births) {
  std::map<double, int> seen;
  for (double count : births) {
    if (count > 0) ++seen[std::round(count)];
  }
  if (seen.empty()) return std::nullopt;
  const double draws_per_round = std::max_element(seen.begin(), seen.end(), [](const auto& a, const auto& b) {
                                   return a.second < b.second;
                                 })->first;
  const double rounds = static_cast<double>(births.size());
  const double draws = draws_per_round * rounds;
  const double born = std::min(Sum(births), draws);
  const double hits = draws - born;
  HitEstimate estimate;
  if (hits < 1) {
    estimate.entries = born * born / kNoHitDivisor;
    return estimate;
  }
  double by_third[3];
  for (size_t i = 0; i < 3; ++i) {
    const auto [begin, end] = SplitBounds(births.size(), 3, i);
    by_third[i] =
        draws_per_round * static_cast<double>(end - begin) - Sum(births.subspan(begin, end - begin));
  }
  const double noise = 2 * std::sqrt(std::max(1.0, by_third[0] + by_third[2]));
  if (by_third[2] - by_third[0] <= noise) return std::nullopt;
  estimate.entries = EntriesFor(born, draws);
  const double error = 2 * std::sqrt(hits);
  estimate.interval = Interval{EntriesFor(std::max(1.0, born - error), draws),
                               EntriesFor(std::min(born + error, draws - 0.5), draws)};
  return estimate;
}

Verdict JudgeUnbounded(const SurvivorWindow& window, const RetentionState& full, Values objects,
                       const series::RunContext& run, Verdict base) {
  const size_t begun = static_cast<size_t>(std::max(0, full.onset.value_or(1) - window.first_step));
  const SurvivorWindow since = window.From(std::min(begun, window.bytes.size() - 1));
  const double rounds = static_cast<double>(run.steps * run.bucket_steps);
  const double births = Sum(since.objects);
  double sampling_variance = 0;
  const double length = static_cast<double>(since.bytes.size());
  if (!since.variance.empty()) sampling_variance = Sum(since.variance) / (length * length);
  const std::vector<double> bytes = WithoutOneOffs(since.bytes);
  const MeanInterval rate = BatchInterval(bytes, kRateBatches, sampling_variance);
  base.rate_bytes_per_step = Estimate{rate.mean, Interval{rate.low, rate.high}};
  base.evidence.retained_bytes = Sum(since.bytes);
  base.forecast = MakeForecast(run.level_now_bytes.value_or(*base.evidence.retained_bytes), rate,
                               static_cast<double>(run.steps), run);
  if (rounds < kUnboundedRounds || since.bytes.size() < 3) {
    return Inconclusive(std::move(base), Reason::kTooShort,
                        "it has grown in all steps so far, but they are few",
                        std::max(1.0, (kUnboundedRounds - rounds) / static_cast<double>(run.bucket_steps)));
  }
  if (births < kUnboundedBirths) {
    return Inconclusive(std::move(base), Reason::kFewSamples, "few of the objects that stay were seen",
                        std::ceil((kUnboundedBirths - births) * full.spacing));
  }
  if (!GoesOn(since, bytes)) {
    return Inconclusive(std::move(base), Reason::kShapesNotSeparable,
                        "it keeps less at the end than at the beginning, so its growth may be slowing down",
                        static_cast<double>(run.steps));
  }
  base.evidence.entries = Sum(objects);
  const size_t mature = std::min(objects.size(), since.bytes.size());
  base.evidence.objects_per_step = Mean(objects.last(mature));
  if (full.onset.value_or(1) > window.first_step) base.onset_step = *full.onset;
  const bool each_was_seen = since.variance.empty() && run.bucket_steps == 1 && run.CountsSteps();
  if (each_was_seen) {
    if (const auto cache = EstimateCacheFromHits(since.objects)) {
      base.evidence.cache_entries = cache->entries;
      base.evidence.cache_entries_interval = cache->interval;
    }
  }
  return With(std::move(base), VerdictKind::kUnboundedGrowth,
              "it grew to the end, and no pass over data was seen that could end it");
}

}  // namespace plateau::verdict
