#include "analyzer/verdict/method/first_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

// The step by which 98.5 % of the sum is reached.
int StepOfAlmostAll(Values x) {
  const std::vector<double> sums = CumulativeSum(x);
  return static_cast<int>(std::lower_bound(sums.begin(), sums.end(), kAlmostAll * sums.back()) -
                          sums.begin()) +
         1;
}

struct Quarters {
  std::array<double, 4> relative;  // mean of each quarter over the mean of all
  double LeastOfFirstThree() const { return *std::min_element(relative.begin(), relative.begin() + 3); }
  double Most() const { return *std::max_element(relative.begin(), relative.end()); }
};

Quarters QuartersOf(Values x) {
  Quarters q;
  const double mean = std::max(Mean(x), kTiny);
  for (size_t i = 0; i < 4; ++i) q.relative[i] = SplitMean(x, 4, i) / mean;
  return q;
}

// Spread evenly over the pass, in bytes or (sizes may be heavy-tailed) in objects. The last quarter may hold
// the partial end.
bool EvenOverPass(Values bytes, Values objects, double epoch) {
  const Quarters b = QuartersOf(bytes);
  const Quarters o = QuartersOf(objects);
  const bool even = (b.LeastOfFirstThree() > kLeastQuarter && b.relative[3] > kLeastLastQuarter &&
                     b.Most() < kMostQuarter) ||
                    (o.LeastOfFirstThree() > kLeastQuarterObjects && o.relative[3] > kLeastLastQuarter &&
                     o.Most() < kMostQuarterObjects);
  if (!even) return false;
  double count = 0, moment = 0, retaining = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    count += objects[i];
    moment += objects[i] * static_cast<double>(i + 1);
    if (objects[i] > 0) ++retaining;
  }
  const double length = static_cast<double>(objects.size());
  const double centre = moment / std::max(count, kTiny) / std::max(std::min(epoch, length), 1.0);
  const double tolerance = std::max(
      {kCentreTolerance, 2 / epoch, kCentreErrors / std::sqrt(kUniformVariance * std::max(count, 1.0))});
  return std::abs(centre - 0.5) <= tolerance && retaining / length >= kRetainingSteps;
}

// What more data would need: twice as much, and how many examples the limit has room for.
void ScaleToData(const series::RunContext& run, Verdict* verdict) {
  Evidence& e = verdict->evidence;
  if (!run.level_now_bytes || !verdict->plateau_bytes) return;
  const double left = std::max(0.0, verdict->plateau_bytes->value - e.retained_bytes.value_or(0));
  const double level = *run.level_now_bytes + left;  // when all of the data has been seen
  e.double_data_bytes = level + verdict->plateau_bytes->value;
  const double limit = run.limit_bytes.value_or(0);
  if (limit <= level || e.per_example_bytes.value_or(0) <= 0) return;
  const double seen = verdict->plateau_bytes->value / *e.per_example_bytes;
  e.examples_that_fit = seen + (limit - level) / *e.per_example_bytes;
}

}  // namespace

Verdict FillOrWarmup(const SurvivorWindow& window, const RetentionState& full,
                     const series::RunContext& run) {
  const double epoch = *run.epoch_steps;
  const double tolerance = std::max(kEpochToleranceSteps, kEpochTolerance * epoch);
  const auto near_epoch = [&](int step) {
    const double off = step - epoch;
    return off >= -tolerance - kLoaderLeadSteps && off <= tolerance + 1;
  };
  const int by_step = StepOfAlmostAll(window.bytes);
  const bool near = near_epoch(by_step) || near_epoch(StepOfAlmostAll(window.objects));
  const size_t pass = std::min(window.bytes.size(), static_cast<size_t>(std::ceil(epoch)) + 1);
  bool even = EvenOverPass(window.bytes.first(pass), window.objects.first(pass), epoch);
  if (!full.fits.empty() && full.BicOf(RateShape::kBox) - full.BicOf(RateShape::kExponential) > kStrongBic) {
    even = false;  // a decay fits far better than a box
  }

  Verdict verdict;
  verdict.by_step = by_step;
  verdict.evidence.retained_bytes = Sum(window.bytes);
  if (near && even) {
    verdict.kind = VerdictKind::kCacheFill;
    verdict.why = "memory was kept evenly over the first pass over the data, and none after it";
    verdict.evidence.complete = true;
    verdict.plateau_bytes = Estimate{*verdict.evidence.retained_bytes, std::nullopt};
    if (run.examples_per_step.value_or(0) > 0) {
      const double examples = epoch * *run.examples_per_step;
      verdict.evidence.per_example_bytes = *verdict.evidence.retained_bytes / examples;
      verdict.evidence.objects_per_example = Sum(window.objects) / examples;
    }
    ScaleToData(run, &verdict);
    return verdict;
  }
  verdict.kind = VerdictKind::kWarmupComplete;
  verdict.why = near ? "growth ended with the first pass over the data, but was not spread evenly over it"
                     : "growth ended, but not with the end of the first pass over the data";
  return verdict;
}

namespace {

// How well the retained bytes follow the distinct examples, and how well the steps: root mean squares, as shares of
// all bytes.
struct ExampleFit {
  double per_example = 0;
  double error_of_examples = 0;
  double error_of_steps = 0;
};

std::optional<ExampleFit> FitExamples(Values retained, Values seen) {
  const std::vector<double> sums = CumulativeSum(retained);
  double us = 0, uu = 0, ks = 0, kk = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double k = static_cast<double>(i + 1);
    us += seen[i] * sums[i];
    uu += seen[i] * seen[i];
    ks += k * sums[i];
    kk += k * k;
  }
  if (uu <= 0 || sums.back() <= 0) return std::nullopt;
  ExampleFit fit{.per_example = us / uu};
  const double per_step = ks / kk;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double by_examples = sums[i] - fit.per_example * seen[i];
    const double by_steps = sums[i] - per_step * static_cast<double>(i + 1);
    fit.error_of_examples += by_examples * by_examples;
    fit.error_of_steps += by_steps * by_steps;
  }
  const auto n = static_cast<double>(sums.size());
  fit.error_of_examples = std::sqrt(fit.error_of_examples / n) / sums.back();
  fit.error_of_steps = std::sqrt(fit.error_of_steps / n) / sums.back();
  return fit;
}

}  // namespace

bool ExcludesFillByExamples(Values retained, const series::RunContext& run) {
  const size_t n = retained.size();
  if (run.unique_seen.size() < n + 1) return true;
  const Values seen = Values(run.unique_seen).subspan(1, n);
  const bool has_new_examples = seen[n - 1] - seen[2 * n / 3] > 0.02 * seen[n - 1];
  const std::optional<ExampleFit> fit = FitExamples(retained, seen);
  return !has_new_examples || !fit || fit->error_of_steps < 0.5 * fit->error_of_examples;
}

std::optional<Verdict> FillByUniqueExamples(Values retained, const series::RunContext& run) {
  const size_t n = retained.size();
  if (run.unique_seen.size() < n + 1) return std::nullopt;
  const Values seen = Values(run.unique_seen).subspan(1, n);
  const std::optional<ExampleFit> fit = FitExamples(retained, seen);
  if (!fit || fit->error_of_examples >= kExampleError || fit->error_of_examples >= 0.5 * fit->error_of_steps)
    return std::nullopt;
  const std::vector<double> sums = CumulativeSum(retained);
  const double per_example = fit->per_example;

  // Spread of the bytes per example, from twelve parts of the run.
  std::vector<double> ratio, weight;
  for (size_t part = 0; part < kRateBatches; ++part) {
    const auto [begin, end] = SplitBounds(n, kRateBatches, part);
    if (begin == end) continue;
    const double new_examples = seen[end - 1] - (begin > 0 ? seen[begin - 1] : 0);
    if (new_examples <= 0) continue;
    ratio.push_back(Sum(retained.subspan(begin, end - begin)) / new_examples);
    weight.push_back(new_examples);
  }
  double mean = 0;
  for (size_t i = 0; i < ratio.size(); ++i) mean += ratio[i] * weight[i];
  mean /= Sum(weight);
  double spread = 0;
  for (size_t i = 0; i < ratio.size(); ++i) spread += weight[i] * (ratio[i] - mean) * (ratio[i] - mean);
  spread = std::sqrt(spread / std::max<double>(1, static_cast<double>(ratio.size()) - 1));

  Verdict verdict;
  verdict.kind = VerdictKind::kCacheFill;
  verdict.why = "what is kept follows the number of different examples seen";
  verdict.evidence.per_example_bytes = per_example;
  verdict.evidence.retained_bytes = sums.back();
  const double examples = run.dataset_examples.value_or(0);
  verdict.evidence.complete = examples > 0 && seen.back() >= kAllSeen * examples;
  if (examples > 0) {
    const double left = std::max(0.0, examples - seen.back());
    const double plateau = sums.back() + mean * left;
    const double half = kForecastErrors * spread * std::sqrt(left + left * left / std::max(seen.back(), 1.0));
    verdict.plateau_bytes = Estimate{plateau, Interval{plateau - half, plateau + half}};
  }
  ScaleToData(run, &verdict);
  return verdict;
}

bool LooksLikeFill(Values retained, int last_step) {
  const size_t n = std::min(retained.size(), static_cast<size_t>(std::max(last_step, 0)));
  if (n < kFewEvents) return false;
  const double first = Mean(retained.first(n / 2));
  const double last = Mean(retained.subspan(3 * n / 4, n - 3 * n / 4));
  return last > kAbruptShare * first && first > kAbruptShare * last;
}

}  // namespace plateau::verdict
