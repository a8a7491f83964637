#include "analyzer/verdict/judge_holding.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

using series::HeldBy;
using series::HolderPath;
using series::LengthReading;
using series::SiteHolding;

// Live bytes of the site at a step and at the end.
class LiveCurve {
 public:
  LiveCurve(const series::SiteSeries& site, double bucket_steps, double last_step)
      : live_(site.LiveBytes()), bucket_steps_(std::max(1.0, bucket_steps)) {
    // What comes after the last step is the program taking itself down.
    const size_t end = Bucket(last_step);
    if (!live_.empty()) end_ = live_[end];
  }
  double At(double step) const { return live_.empty() ? 0 : live_[Bucket(step)]; }
  double end() const { return end_; }

 private:
  size_t Bucket(double step) const {
    if (live_.empty() || step <= 0) return 0;
    return std::min(live_.size() - 1, static_cast<size_t>(std::ceil(step / bucket_steps_)));
  }

  std::vector<double> live_;
  double bucket_steps_;
  double end_ = 0;
};

bool IsOpenOrGrows(const Verdict& verdict) {
  if (verdict.reason == Reason::kNoSteps || verdict.reason == Reason::kNotCovered) return false;
  return GrowsWithoutEnd(verdict.kind) || verdict.kind == VerdictKind::kInconclusive;
}

// A fill that ends when the container has `items` items of `bytes_per_item`.
void SayFill(const HolderPath& path, double items, double bytes_per_item, double now_items, double now_bytes,
             double now_step, Verdict* verdict) {
  Verdict fill;
  fill.kind = VerdictKind::kCacheFill;
  fill.rate_bytes_per_step = verdict->rate_bytes_per_step;
  fill.evidence = verdict->evidence;
  fill.detectable_bytes_per_step = verdict->detectable_bytes_per_step;
  fill.evidence.held_by = series::ContainerText(path);
  fill.evidence.container_items = now_items;
  fill.evidence.container_bound = items;
  fill.evidence.retained_bytes = now_bytes;
  fill.evidence.complete = now_items >= items;
  fill.plateau_bytes = Estimate{*fill.evidence.complete ? now_bytes : items * bytes_per_item, std::nullopt};
  const std::optional<double> rate = path.ItemsPerStep();
  if (!*fill.evidence.complete && rate && *rate > 0) {
    fill.knee_step = Estimate{now_step + (items - now_items) / *rate, std::nullopt};
  }
  if (*fill.evidence.complete) fill.rate_bytes_per_step.reset();
  *verdict = std::move(fill);
}

// Whether the bound of its container ends the growth. Bytes must follow the length: items that grow themselves are
// not bounded by the number of items.
bool EndsAtBound(const HolderPath& path, const LiveCurve& live, const series::RunContext& run,
                 Verdict* verdict) {
  if (path.share < kEndsGrowthShare || path.lengths.size() < 2 || !IsOpenOrGrows(*verdict)) return false;
  const LengthReading& last = path.lengths.back();
  const LengthReading& before = path.lengths[path.lengths.size() - 2];
  if (last.bound <= 0 || last.bound != before.bound || before.items <= 0 || last.items < before.items)
    return false;
  const double size_then = live.At(before.step) / before.items, size = live.At(last.step) / last.items;
  const double now = static_cast<double>(run.steps * run.bucket_steps);
  if (size <= 0 || std::abs(size - size_then) > kItemSizeSpread * std::max(size, size_then)) return false;
  if (last.items >= last.bound) {  // full: what came since must have replaced something
    if (live.end() > (1 + kHeldStandsStill) * live.At(last.step)) return false;
    SayFill(path, last.bound, size, last.bound, live.end(), now, verdict);
    return true;
  }
  const double items = live.end() / size;
  if (items > (1 + kItemSizeSpread) * last.bound) return false;
  SayFill(path, last.bound, size, std::clamp(items, last.items, last.bound), live.end(), now, verdict);
  return true;
}

// Whether it has an item for each example and has stopped there.
bool HoldsTheDataSet(const HolderPath& path, const LiveCurve& live, const series::RunContext& run,
                     Verdict* verdict) {
  const bool is_open =
      verdict->kind == VerdictKind::kInconclusive || verdict->kind == VerdictKind::kUnboundedGrowth;
  if (!run.dataset_examples || *run.dataset_examples < 2 || path.share < kEndsGrowthShare || !is_open)
    return false;
  if (path.lengths.size() < 2 || !IsOpenOrGrows(*verdict)) return false;
  const double examples = *run.dataset_examples;
  for (const LengthReading& reading : std::span(path.lengths).last(2)) {
    if (std::abs(reading.items - examples) > kAsManyAsExamples * examples) return false;
  }
  const LengthReading& last = path.lengths.back();
  if (live.end() > (1 + kHeldStandsStill) * live.At(last.step)) return false;
  SayFill(path, last.items, live.end() / last.items, last.items, live.end(),
          static_cast<double>(run.steps * run.bucket_steps), verdict);
  verdict->evidence.per_example_bytes = live.end() / last.items;
  return true;
}

// Longer at each of the last three looks, the last of them in the later part of the run; and what is live rose
// with it and is still there.
bool GrowsToTheEnd(const HolderPath& path, const LiveCurve& live, const series::RunContext& run) {
  if (path.share < kSpeaksForShare || path.lengths.size() < kLongerLooks) return false;
  const std::span<const LengthReading> looks = std::span(path.lengths).last(kLongerLooks);
  for (size_t i = 1; i < looks.size(); ++i) {
    if (looks[i].items < looks[i - 1].items + kItemsBetweenLooks) return false;
    if (live.At(looks[i].step) <= live.At(looks[i - 1].step)) return false;
  }
  const double last_step = static_cast<double>(run.steps * run.bucket_steps);
  return looks.back().step >= kLateLook * last_step && live.end() >= kStillHeld * live.At(looks.back().step);
}

bool SaysItEnded(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kSteady:
    case VerdictKind::kWarmupComplete:
    case VerdictKind::kSpikeRecovered:
    case VerdictKind::kSpikeRetained:
    case VerdictKind::kAllocatorRetention:
      return true;
    default:
      return false;
  }
}

void TakeBackAllClear(const HolderPath& path, const LiveCurve& live, const series::RunContext& run,
                      Verdict* verdict, Estimate* growth) {
  const LengthReading& last = path.lengths.back();
  const LengthReading& before = path.lengths[path.lengths.size() - 2];
  const double rate = (live.At(last.step) - live.At(before.step)) / (last.step - before.step);
  if (rate <= verdict->evidence.floor_bytes_per_step) return;
  verdict->kind = VerdictKind::kInconclusive;
  verdict->reason = Reason::kContainerGrows;
  verdict->why = "its container " + series::ContainerText(path) + " was longer at each look, to the last";
  if (growth->value <= 0) *growth = Estimate{rate, std::nullopt};
  verdict->rate_bytes_per_step = *growth;
  verdict->needs_steps = static_cast<double>(run.steps * run.bucket_steps);
}

void SayGarbage(const SiteHolding& holding, const series::RunContext& run, Verdict* verdict) {
  verdict->evidence.garbage_share = holding.garbage_share;
  verdict->evidence.is_collector_off = holding.is_collector_off;
  if (holding.garbage_share < kEndsGrowthShare || holding.is_collector_off || !IsOpenOrGrows(*verdict))
    return;
  verdict->kind = VerdictKind::kInconclusive;
  verdict->reason = Reason::kWaitsForCollector;
  verdict->why = NumberText(std::round(100 * holding.garbage_share)) +
                 " % of it is garbage in cycles, which Python's collector frees when it comes to them";
  verdict->needs_steps = static_cast<double>(run.steps * run.bucket_steps);
}

}  // namespace

void JudgeHolding(const SiteHolding& holding, const series::SiteSeries& site_series, double bucket_steps,
                  const series::RunContext& run, Verdict* verdict, Estimate* growth) {
  if (holding.empty()) return;
  if (holding.garbage_share >= kSpeaksForShare) return SayGarbage(holding, run, verdict);
  const HolderPath* path = holding.main();
  if (path == nullptr || path->share < kSpeaksForShare) return;
  const LiveCurve live(site_series, bucket_steps, static_cast<double>(run.steps * run.bucket_steps));
  if (EndsAtBound(*path, live, run, verdict) || HoldsTheDataSet(*path, live, run, verdict)) {
    *growth = verdict->rate_bytes_per_step.value_or(Estimate{});
    return;
  }
  const bool is_kept = GrowsWithoutEnd(verdict->kind) || verdict->kind == VerdictKind::kInconclusive ||
                       verdict->kind == VerdictKind::kCacheFill;
  const bool grows = GrowsToTheEnd(*path, live, run);
  if (grows && SaysItEnded(verdict->kind)) {
    TakeBackAllClear(*path, live, run, verdict, growth);
  } else if (is_kept) {
    verdict->evidence.held_by = series::ContainerText(*path);
  }
  if (path->lengths.empty()) return;
  verdict->evidence.container_items = path->lengths.back().items;
  verdict->evidence.container_items_per_step = path->ItemsPerStep();
}

}  // namespace plateau::verdict
