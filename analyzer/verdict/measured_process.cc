#include "analyzer/verdict/measured_process.h"

#include <algorithm>
#include <vector>

#include "analyzer/verdict/method/curves/curve_classifier.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/worker_copies.h"

namespace plateau::verdict {
namespace {

using series::ProcessSeries;
using series::RunContext;

// Slope of the last two thirds of the steps, and whether it is above zero, worth `material` bytes and still there at
// the end.
struct LateSlope {
  Slope slope;
  double gain = 0;  // bytes, in that part of the run
  bool grows = false;
};

// The first sample behind `share` of the run's steps. The distances of samples in steps vary.
size_t LateBegin(Values step, double share) {
  const double from = step.front() + share * (step.back() - step.front());
  return std::lower_bound(step.begin(), step.end(), from) - step.begin();
}

LateSlope LateSlopeOf(Values step, Values bytes, double material) {
  LateSlope late;
  const size_t n = step.size();
  const size_t third = LateBegin(step, 1.0 / 3);
  if (n - third < kMinSlopeSamples) {
    // A quick run was read a few times only, its beginning included: how much it may grow can be told, that it
    // does cannot.
    const size_t begin = n - std::min(n, kMinSlopeSamples);
    late.slope = RobustSlope(step.subspan(begin), bytes.subspan(begin));
    return late;
  }
  late.slope = RobustSlope(step.subspan(third), bytes.subspan(third));
  const double gain = late.gain = late.slope.value * (step.back() - step[third]);
  const size_t last = LateBegin(step, 2.0 / 3);
  const Slope last_third = RobustSlope(step.subspan(last), bytes.subspan(last));
  const bool ending = last_third.high < kStillGrowingShare * late.slope.value;
  late.grows = late.slope.low > 0 && gain > material && !ending;
  return late;
}

// Whether a growth of `rate` has come to nothing in the last part of the run, where some samples say so.
bool IsSilentAtEnd(Values step, Values bytes, double rate) {
  const size_t begin = LateBegin(step, 1 - kSilentTailShare);
  if (step.size() - begin < kMinSlopeSamples) return false;
  const double expected = rate * (step.back() - step[begin]);
  return Max(bytes.subspan(begin)) - bytes[begin] < kSilentGrowth * expected;
}

OverheadFact FactOf(Values step, Values bytes, double material) {
  OverheadFact fact;
  if (step.size() < kMinOverheadSamples) return fact;
  const LateSlope late = LateSlopeOf(step, bytes, material);
  fact.known = true;
  fact.slope = late.slope;
  fact.growth = late.grows ? Growth::kGrowing : Growth::kFlat;
  fact.bytes = bytes.back();
  fact.late_gain = late.gain;
  const size_t edge = std::max<size_t>(1, step.size() / 20);
  fact.rise = Median(bytes.last(edge)) - Median(bytes.first(edge));
  return fact;
}

void MeasureWorkers(const ProcessSeries& process, double reference, MeasuredProcess& measured) {
  const WorkerCopies copies = MostAtOnce(process.workers);
  const double private_growth = copies.private_growth_bytes;
  const double of_data = private_growth * (1 - process.share_copied_of_imports);
  if (of_data <= kProcessMaterial * reference || copies.heap_growth_bytes >= kOwnHeapShare * private_growth) {
    return;
  }
  measured.worker_growth_bytes = private_growth;
  measured.worker_heap_growth_bytes = copies.heap_growth_bytes;
  measured.worker_bound_bytes = copies.bound_bytes;
}

}  // namespace

OverheadTrend JudgeOverhead(Values step, Values bytes, const RunContext& run) {
  OverheadTrend trend;
  if (step.size() < kMinOverheadSamples) return trend;
  RunContext bare = run;
  bare.epoch_steps.reset();
  bare.events.clear();
  // Keep the level positive and comparable to the process.
  const double offset = std::max(0.0, -Min(bytes)) + run.reference_bytes * 0.5;
  series::MemoryCurve curve;
  curve.step.assign(step.begin(), step.end());
  for (double b : bytes) curve.bytes.push_back(b + offset);
  const VerdictKind kind = ClassifyCurve(curve, bare).kind;

  const LateSlope late = LateSlopeOf(step, bytes, kProcessMaterial * run.reference_bytes);
  trend.slope = late.slope;
  if (late.grows && !IsSilentAtEnd(step, bytes, late.slope.value)) {
    trend.growth = Growth::kGrowing;
  } else if (kind == VerdictKind::kWarmupInProgress) {
    trend.growth = Growth::kSlowing;
  } else if (kind == VerdictKind::kWarmupComplete || kind == VerdictKind::kCacheFill ||
             kind == VerdictKind::kSpikeRetained) {
    trend.growth = Growth::kStopped;
  }
  return trend;
}

namespace {

OverheadFact JudgedFact(Values step, Values bytes, const RunContext& run) {
  const OverheadTrend trend = JudgeOverhead(step, bytes, run);
  OverheadFact fact = FactOf(step, bytes, 0);
  fact.growth = trend.growth;
  fact.slope = trend.slope;
  fact.bytes = bytes.back();
  return fact;
}

// What the allocator holds and nobody uses: lately, and whether it is the mark of an earlier peak.
void MeasureSlack(Values slack, const OverheadFact& gap, double reference, MeasuredProcess& measured) {
  const size_t n = slack.size();
  const size_t last = std::min(n, std::max<size_t>(3, n / 10));
  const size_t early_end = std::min(n, std::max<size_t>(4, n / 20));
  const double now = Median(slack.last(last));
  const double early = n > 1 ? Median(slack.subspan(1, early_end - 1)) : now;
  const bool has_risen =
      now > kSlackShare * reference && now > kSlackRise * early + kProcessMaterial * reference;
  const bool has_ended = gap.growth == Growth::kStopped || gap.growth == Growth::kSlowing;
  measured.slack_bytes = now;
  measured.keeps_old_peak = has_risen || (has_ended && gap.bytes > kProcessMaterial * reference);
}

}  // namespace

MeasuredProcess MeasureProcess(const ProcessSeries& process, const RunContext& run) {
  MeasuredProcess measured;
  ProcessFacts& facts = measured.facts;
  const double reference = run.reference_bytes;
  facts.steps = run.steps * run.bucket_steps;
  facts.reference_bytes = reference;
  facts.counts_steps = run.CountsSteps();
  MeasureWorkers(process, reference, measured);

  std::vector<double> step, beyond_peak, outside, unexplained, anonymous, resident, slack;
  double highest_live = 0;
  const bool has_held = process.held.size() == process.step.size();
  const bool has_unexplained = process.unexplained.size() == process.step.size();
  for (size_t i = 0; i < process.step.size() && has_held; ++i) {
    highest_live = std::max(highest_live, process.live_peak[i]);
    slack.push_back(process.held[i] - process.live[i]);
    if (process.step[i] < 1) continue;
    step.push_back(process.step[i]);
    beyond_peak.push_back(std::max(process.held[i] - highest_live, 0.0));
    // Below zero, the allocator holds pages that were never touched: where nobody knows how many, touching
    // them would look like growth outside it.
    const double beyond_held = process.rss[i] - process.held[i];
    outside.push_back(process.knows_untouched ? beyond_held : std::max(beyond_held, 0.0));
    if (has_unexplained) {
      unexplained.push_back(std::max(process.unexplained[i], 0.0));
      anonymous.push_back(process.held[i] + unexplained.back());
    }
    resident.push_back(process.rss[i]);
  }
  if (step.empty()) return measured;
  // The files of large libraries are half of many processes and say nothing of how much a heap may creep.
  facts.anonymous_peak_bytes = has_unexplained ? std::min(reference, Max(anonymous)) : reference;
  facts.gap = JudgedFact(step, beyond_peak, run);
  facts.outside = JudgedFact(step, outside, run);
  facts.gap_rises =
      step.size() >= kMinRiseSamples &&
      FactOf(step, beyond_peak, kUnexplainedMaterial * facts.anonymous_peak_bytes).growth == Growth::kGrowing;
  if (has_unexplained && step.size() >= kMinRiseSamples) facts.anonymous = FactOf(step, anonymous, 0);
  if (has_unexplained) facts.unexplained = FactOf(step, unexplained, kUnexplainedMaterial * reference);
  facts.resident = FactOf(step, resident, 0);
  MeasureSlack(slack, facts.gap, reference, measured);
  return measured;
}

}  // namespace plateau::verdict
