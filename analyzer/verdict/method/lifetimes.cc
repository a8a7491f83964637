#include "analyzer/verdict/method/lifetimes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

using series::AgeBucketTop;
using series::kAgeBuckets;
using series::SiteSeries;

// Deaths and time at risk of the objects in one age bucket.
struct AgeHazard {
  double width = 0;
  double dead_bytes = 0;
  double exposure = 0;  // bytes x steps
  double dead_count = 0;
};

std::vector<AgeHazard> HazardByAge(const SiteSeries& site, int steps) {
  std::vector<AgeHazard> hazards;
  for (int j = 1; j < kAgeBuckets; ++j) {
    const int64_t low = int64_t{1} << (j - 1);
    const int64_t high = int64_t{1} << j;
    if (low > steps) break;
    const double width = static_cast<double>(std::min<int64_t>(high, steps + 1) - low);
    double later = 0;
    for (int k = j + 1; k < kAgeBuckets; ++k) later += site.death_bytes[k];
    double partial = 0;
    for (int birth = 1; birth <= steps; ++birth) {
      const int64_t age = steps - birth;
      if (age >= high) later += site.surv_bytes[birth];
      if (age >= low && age < high) partial += site.surv_bytes[birth] * static_cast<double>(age - low);
    }
    const double dead = site.death_bytes[j];
    hazards.push_back({width, dead, later * width + dead * width / 2 + partial, site.death_count[j]});
  }
  return hazards;
}

}  // namespace

Maturity FindMaturity(const SiteSeries& site, int steps, double floor_rate) {
  std::optional<Maturity> first_candidate;
  std::optional<Maturity> first_empty;
  for (int i = 1;; ++i) {
    const int64_t horizon = (int64_t{1} << i) - 1;
    const int64_t mature = steps - horizon;
    if (static_cast<double>(mature) < std::max(kMinMatureSteps, kMinMatureShare * steps)) {
      if (first_candidate) return *first_candidate;
      return first_empty.value_or(Maturity{});
    }
    const double retained = Sum(Values(site.surv_bytes).subspan(1, mature));
    double old_deaths = 0;
    double in_flight = 0;
    for (int j = i + 1; j < kAgeBuckets; ++j) {
      old_deaths += site.death_bytes[j];
      in_flight += site.death_bytes[j] * (AgeBucketTop(j) - static_cast<double>(horizon));
    }
    in_flight /= steps;
    const double material = floor_rate * static_cast<double>(mature);
    const Maturity here{Maturity::Kind::kRetains, static_cast<int>(horizon)};
    if (retained < material) {
      const Maturity nothing{Maturity::Kind::kNothing, static_cast<int>(horizon)};
      if (in_flight <= material) return nothing;
      if (!first_empty) first_empty = nothing;
    } else if (old_deaths <= kOldDeathShare * (old_deaths + retained)) {
      const bool half_mature = static_cast<double>(mature) >= 0.5 * steps;
      if (in_flight <= floor_rate && (!first_candidate || half_mature)) return here;
      if (!first_candidate) {
        first_candidate = here;
      } else if (!half_mature) {
        return *first_candidate;
      }
    }
  }
}

std::optional<int> FilledBy(Values live, double now, int steps) {
  const double level = live[0] + kFilledShare * now;
  const auto reached = std::find_if(live.begin(), live.end(), [&](double bytes) { return bytes >= level; });
  const int step = static_cast<int>(reached - live.begin());
  if (reached == live.end() || step < kFillTakesShare * steps) return std::nullopt;
  const double lowest = *std::min_element(reached, live.end());
  if (lowest < live[0] + kStaysFilledShare * now) return std::nullopt;
  return step;
}

Verdict JudgeTurnover(const SiteSeries& site, int steps) {
  Verdict verdict;
  const std::vector<AgeHazard> hazards = HazardByAge(site, steps);
  // Pool the oldest buckets until their hazard is known.
  int k = static_cast<int>(hazards.size()) - 1;
  const int oldest_two = static_cast<int>(hazards.size()) - 3;
  double deaths = 0, dead_bytes = 0, exposure = 0;
  while (k >= 0 && (deaths < kWantedDeaths || k > oldest_two)) {
    dead_bytes += hazards[k].dead_bytes;
    exposure += hazards[k].exposure;
    deaths += hazards[k].dead_count;
    --k;
  }
  if (deaths < kMinDeaths || dead_bytes <= 0) {
    verdict.reason = Reason::kNothingOldEnough;
    verdict.why = "objects live long, and too few were freed to tell how long";
    verdict.needs_steps = steps;
    return verdict;
  }
  const double hazard = dead_bytes / exposure;
  double all = 0;
  for (double d : site.death_bytes) all += d;
  all += Sum(Values(site.surv_bytes).subspan(1));
  double alive = 1 - site.death_bytes[0] / std::max(1.0, all);
  double mean_life = 0;
  for (int j = 0; j <= k; ++j) {
    const double h = hazards[j].exposure > 0 ? hazards[j].dead_bytes / hazards[j].exposure : 0;
    const double width = hazards[j].width;
    mean_life += h > 0 ? alive * (1 - std::exp(-h * width)) / h : alive * width;
    alive *= std::exp(-h * width);
  }
  const double tail_life = alive / hazard;
  const Values births = Values(site.alloc_bytes).subspan(1);
  const double birth_rate = Mean(births.subspan(births.size() / 2));
  const double plateau = birth_rate * (mean_life + tail_life);
  const double relative = 1 / std::sqrt(deaths);
  const double low =
      std::min(birth_rate * (mean_life + tail_life / (1 + 2 * relative)), (1 - kLevelError) * plateau);
  const double high =
      std::max(birth_rate * (mean_life + tail_life / std::max(kLeastHazardShare, 1 - 2 * relative)),
               (1 + kLevelError) * plateau);

  const std::vector<double> live = site.LiveBytes();
  const auto mean_of = [&](size_t begin, size_t end) {
    return Mean(Values(live).subspan(begin, end - begin));
  };
  const double now = mean_of(static_cast<size_t>((1 - kNowShare) * steps), live.size()) - live[0];
  verdict.plateau_bytes = Estimate{plateau, Interval{low, high}};
  verdict.evidence.live_bytes = now;
  verdict.evidence.mean_life_steps = 1 / hazard;
  if (now >= kReachedShare * plateau || now >= kReachedShare * low) {
    const double middle = mean_of(steps / 3, 2 * steps / 3);
    if (mean_of(2 * steps / 3, live.size()) <= kLevelThirds * middle) {
      if (std::optional<int> filled = FilledBy(live, now, steps)) {
        verdict.kind = VerdictKind::kWarmupComplete;
        verdict.why = "it filled up, and since then as much is freed as is made";
        verdict.by_step = *filled;
        verdict.evidence.retained_bytes = now;
        return verdict;
      }
      verdict.kind = VerdictKind::kSteady;
      verdict.why = "objects live long, and as much is freed as is made";
      return verdict;
    }
  }
  if (high / std::max(low, 1.0) < kUsefulInterval) {
    verdict.kind = VerdictKind::kWarmupInProgress;
    verdict.why = "it still fills up to the level that births times the mean lifetime give";
    return verdict;
  }
  verdict.reason = Reason::kTooShort;
  verdict.why = "objects live too long for this run to show whether they are freed";
  verdict.needs_steps = steps;
  return verdict;
}

}  // namespace plateau::verdict
