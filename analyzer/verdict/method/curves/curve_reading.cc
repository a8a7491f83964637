#include "analyzer/verdict/method/curves/curve_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

Reading FlatIf(const Slope& slope, double limit, double since) {
  return {.growth = slope.high < limit ? Growth::kFlat : Growth::kUnclear, .tail = slope, .since = since};
}

Reading ReadGrowth(const CurveModel& model, const CurveView& view) {
  const double onset = model.shape == CurveShape::kLine ? 0 : model.knee;
  const std::optional<Slope> tail = onset != 0 ? view.TailFrom(onset) : view.Whole();
  if (!tail) return {};
  const bool large =
      tail->value * (view.t.back() - std::max(onset, view.t.front())) > kCurveGrowth * view.level;
  Reading reading{.tail = tail, .onset = onset};
  reading.growth = tail->low > 0 && large           ? Growth::kGrowing
                   : tail->high < view.flat_limit() ? Growth::kFlat
                                                    : Growth::kUnclear;
  return reading;
}

struct LevelSummary {
  double last_change = 0;
  bool came_back = false;  // went away from the first level and returned to it
  Slope slope_at_level;
};

LevelSummary SummariseLevels(const CurveModel& model, const CurveView& view) {
  const size_t n = view.t.size();
  const std::vector<double>& levels = model.levels;
  const double tolerance =
      std::max(kFlatNoise * view.level, kNoiseErrors * std::sqrt(model.fit.rss / static_cast<double>(n)));
  LevelSummary summary{.last_change = view.t.front()};
  for (size_t i = 0; i < model.change_steps.size(); ++i) {
    if (std::abs(levels[i + 1] - levels[i]) > tolerance) summary.last_change = model.change_steps[i];
  }
  std::vector<double> t_same, y_same;
  for (size_t i = 0; i < n; ++i) {
    size_t segment = 0;
    while (segment < model.change_steps.size() && view.t[i] >= model.change_steps[segment]) ++segment;
    if (std::abs(levels[segment] - levels.back()) > tolerance) continue;
    t_same.push_back(view.t[i]);
    y_same.push_back(view.y[i]);
  }
  summary.came_back = std::abs(levels.back() - levels.front()) <= tolerance &&
                      static_cast<double>(t_same.size()) / static_cast<double>(n) > 0.5;
  if (summary.came_back) summary.slope_at_level = RobustSlope(t_same, y_same);
  return summary;
}

Reading ReadStop(const CurveModel& model, const CurveView& view) {
  const bool levels = model.shape == CurveShape::kLevels;
  const bool kinked = model.shape == CurveShape::kHinge || model.shape == CurveShape::kBrokenLine;
  const double first = view.t.front();
  double knee = model.knee;
  if (levels) {
    const LevelSummary summary = SummariseLevels(model, view);
    knee = summary.last_change;
    if (summary.came_back) return FlatIf(summary.slope_at_level, view.flat_limit(), first);
  }
  const double rise = levels   ? model.levels.back() - model.levels.front()
                      : kinked ? model.fit.b[1] * (knee - first)
                               : model.fit.b[1];
  const std::optional<Slope> tail = view.TailFrom(knee);
  if (rise <= 0 && (!tail || (!levels && !kinked))) {
    // A downward step is no growth problem: judge what precedes it.
    const size_t before = std::lower_bound(view.t.begin(), view.t.end(), knee) - view.t.begin();
    const Slope slope =
        before >= kMinBeforeKnee ? RobustSlope(view.t.first(before), view.y.first(before)) : Slope{};
    return FlatIf(slope, 2 * view.flat_limit(), knee);
  }
  if (!tail) return {.since = knee};
  Reading reading{.tail = tail, .since = knee, .rise = rise};
  if (tail->low > 0 && tail->value > view.floor_rate() &&
      tail->value * (view.t.back() - knee) > kCurveGrowth * view.level) {
    reading.growth = Growth::kGrowing;
    reading.onset =
        kinked && model.fit.b[1] > kGrewBefore * tail->value ? 0 : knee;  // it grew before the kink too
    return reading;
  }
  const double allowed = std::max(
      view.flat_limit(), kFlatOfRise * std::abs(rise) / std::max(knee - first, view.sample_distance));
  if (tail->high < allowed) {
    const double noise = std::sqrt(model.fit.rss / static_cast<double>(view.t.size()));
    reading.growth =
        rise > std::max(kLeastRise * view.level, kNoiseErrors * noise) ? Growth::kStopped : Growth::kFlat;
  }
  return reading;
}

Reading ReadLogarithm(const CurveModel& model, const CurveView& view) {
  const double rise = model.fit.b[1] * (std::log(view.t.back() + model.log_offset) -
                                        std::log(view.t.front() + model.log_offset));
  if (std::abs(rise) < kFlatNoise * view.level)
    return FlatIf(view.Whole(), view.flat_limit(), view.t.front());
  return {.growth = Growth::kSlowing};
}

// The level a saturation tends to, with its profile-likelihood interval: tau is walked outward until
// rejected.
Estimate SaturationPlateau(const CurveModel& model, const CurveModels& all, const CurveView& view) {
  const double plateau = model.fit.b[0] + model.fit.b[1];
  double low = plateau, high = plateau;
  const std::vector<double> one(view.t.size(), 1.0);
  const double best_rss = std::max(all.Find(CurveShape::kSaturation)->fit.rss, kTiny);
  for (double direction : {-1.0, 1.0}) {
    double q = 0;
    for (int i = 0; i < 160; ++i) {
      q += direction * 0.012;
      const LinearFit fit = FitColumns({one, SaturationCurve(view.t, model.tau * std::exp(q))}, view.y);
      if (all.effective_samples * std::log(fit.rss / best_rss) > kProfileDrop) break;
      low = std::min(low, fit.b[0] + fit.b[1]);
      high = std::max(high, fit.b[0] + fit.b[1]);
    }
  }
  const double slack = 2 * std::sqrt(model.fit.rss / static_cast<double>(view.t.size())) /
                           std::sqrt(std::max(all.effective_samples, 1.0)) +
                       kLevelNoise * view.level;
  return {plateau, Interval{low - slack, high + slack}};
}

Reading ReadSaturation(const CurveModel& model, const CurveModels& all, const CurveView& view) {
  const double tau = model.tau;
  const double amplitude = model.fit.b[1];
  const double first = view.t.front();
  if (model.shape == CurveShape::kSaturationLine) {
    if (kSettledTaus * tau > first + kCleanTailShare * view.span())
      return {};  // no clean tail: a slower decay explains the same data
    const std::optional<Slope> tail = view.TailFrom(kSettledTaus * tau);
    if (!tail) return {};
    const double line = model.fit.b[2];
    if (line > view.floor_rate() && tail->low > 0 && amplitude > 0 &&
        tail->value * (view.t.back() - kSettledTaus * tau) > kCurveGrowth * view.level) {
      return {.growth = Growth::kGrowing, .tail = tail, .warmed_up_before = true};
    }
    if (amplitude <= 0) return {.growth = line > 0 ? Growth::kGrowing : Growth::kUnclear, .tail = tail};
  }
  if (amplitude <= 0) return {};
  if (amplitude * std::exp(-first / tau) < kFlatNoise * view.level)
    return FlatIf(view.Whole(), view.flat_limit(), first);
  const double rest = amplitude * std::exp(-view.last_step / tau);
  if (rest < kDecayRest * amplitude || rest < kRestOfLevel * view.level) {
    return {.growth = Growth::kStopped,
            .tail = view.TailFrom(std::min(first + kCleanTailTaus * tau, first + kEarlyShare * view.span())),
            .since = first + kMostDecayedTaus * tau,
            .rise = amplitude};
  }
  return {.growth = Growth::kSlowing, .plateau = SaturationPlateau(model, all, view)};
}

Reading ReadStairs(const CurveModel& model, const CurveView& view) {
  const double per_event = model.fit.b[1];
  if (per_event * model.event_count < kFlatNoise * view.level) {
    return FlatIf(view.Whole(), view.flat_limit(), view.t.front());
  }
  const bool stairs = model.event_count >= kMinStairs && per_event > view.floor_rate() * kStairFloors;
  return {.growth = stairs ? Growth::kStairs : Growth::kUnclear,
          .event_count = model.event_count,
          .per_event_bytes = per_event,
          .event = model.shape == CurveShape::kEpochStairs ? "epoch" : "eval"};
}

}  // namespace

const char* GrowthName(Growth growth) {
  static constexpr const char* kNames[] = {"flat", "growing", "stopped", "slowing", "stairs", "unclear"};
  return kNames[static_cast<int>(growth)];
}

double CurveView::flat_limit() const { return kFlatShare * level / std::max(span(), 1.0); }

double CurveView::floor_rate() const {
  return kMaterialShare * level / (kRunLengthsAhead * std::max(last_step, 1.0));
}

std::optional<Slope> CurveView::TailFrom(double from) const {
  const size_t begin = std::lower_bound(t.begin(), t.end(), from) - t.begin();
  if (t.size() - begin < kMinWindow || t.back() - from < kCurveTail * span()) return std::nullopt;
  return RobustSlope(t.subspan(begin), y.subspan(begin));
}

Reading Read(const CurveModel& model, const CurveModels& all, const CurveView& view) {
  switch (model.shape) {
    case CurveShape::kFlat:
      return FlatIf(view.Whole(), view.flat_limit(), view.t.front());
    case CurveShape::kLine:
    case CurveShape::kFlatThenLine:
      return ReadGrowth(model, view);
    case CurveShape::kHinge:
    case CurveShape::kBrokenLine:
    case CurveShape::kStep:
    case CurveShape::kEventStep:
    case CurveShape::kLevels:
      return ReadStop(model, view);
    case CurveShape::kSaturation:
    case CurveShape::kSaturationLine:
      return ReadSaturation(model, all, view);
    case CurveShape::kLogarithm:
      return ReadLogarithm(model, view);
    case CurveShape::kEventStairs:
    case CurveShape::kEpochStairs:
      return ReadStairs(model, view);
  }
  return {};
}

}  // namespace plateau::verdict
