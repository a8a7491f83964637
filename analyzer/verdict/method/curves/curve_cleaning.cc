#include "analyzer/verdict/method/curves/curve_cleaning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

constexpr int kEventSteps = 2;  // an event's memory is seen until this many steps later

// Linear interpolation with constant ends; `t` ascending.
double Interpolate(double at, Values t, Values y) {
  if (at <= t.front()) return y.front();
  if (at >= t.back()) return y.back();
  const size_t right = std::upper_bound(t.begin(), t.end(), at) - t.begin();
  const size_t left = right - 1;
  if (t[right] == t[left]) return y[left];
  return y[left] + (y[right] - y[left]) * (at - t[left]) / (t[right] - t[left]);
}

void KeepOnly(const std::vector<bool>& keep, Samples& samples) {
  Samples kept;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    kept.t.push_back(samples.t[i]);
    kept.y.push_back(samples.y[i]);
  }
  samples = std::move(kept);
}

}  // namespace

Samples LastRun(const series::MemoryCurve& curve) {
  Samples samples{curve.step, curve.bytes};
  if (curve.run.size() == curve.step.size() && !curve.run.empty()) {
    const int last = *std::max_element(curve.run.begin(), curve.run.end());
    std::vector<bool> keep;
    for (int run : curve.run) keep.push_back(run == last);
    KeepOnly(keep, samples);
    return samples;
  }
  size_t begin = 0;
  for (size_t i = 1; i < samples.t.size(); ++i) {
    if (samples.t[i] < samples.t[i - 1]) begin = i;
  }
  samples.t.erase(samples.t.begin(), samples.t.begin() + begin);
  samples.y.erase(samples.y.begin(), samples.y.begin() + begin);
  return samples;
}

double CutEvents(const std::vector<int64_t>& event_steps, Samples& samples) {
  const size_t n = samples.t.size();
  std::vector<bool> quiet(n, true);
  size_t at_events = 0;
  for (size_t i = 0; i < n; ++i) {
    for (int64_t event : event_steps) {
      const double step = static_cast<double>(event);
      if (samples.t[i] >= step && samples.t[i] <= step + kEventSteps) quiet[i] = false;
    }
    if (!quiet[i]) ++at_events;
  }
  if (at_events == 0 || static_cast<double>(at_events) / static_cast<double>(n) >= kMostAtEvents ||
      n - at_events < static_cast<size_t>(kMinSamples)) {
    return 0;
  }
  Samples rest = samples;
  KeepOnly(quiet, rest);
  std::vector<double> heights;
  for (size_t i = 0; i < n; ++i) {
    if (!quiet[i]) heights.push_back(samples.y[i] - Interpolate(samples.t[i], rest.t, rest.y));
  }
  samples = std::move(rest);
  return Median(heights);
}

void DropGlitches(double level, Samples& samples) {
  const std::vector<double>& y = samples.y;
  const size_t n = y.size();
  if (n < kMinForGlitches) return;
  std::vector<double> steps;
  for (size_t i = 1; i < n; ++i) steps.push_back(y[i] - y[i - 1]);
  const double usual = Median(steps);
  std::vector<double> deviation;
  for (double step : steps) deviation.push_back(std::abs(step - usual));
  const double scale = kMadToDeviation * Median(deviation) / std::sqrt(2.0) + kGlitchFloor * level;
  std::vector<bool> keep(n, true);
  size_t kept = n;
  for (size_t i = 2; i + 2 < n; ++i) {
    if (std::abs(y[i] - Median(Values(y).subspan(i - 2, 5))) < kGlitchScales * scale) continue;
    keep[i] = false;
    --kept;
  }
  if (static_cast<double>(kept) / static_cast<double>(n) > kLeastKept) KeepOnly(keep, samples);
}

void Bin(Samples& samples) {
  const size_t n = samples.t.size();
  if (n <= static_cast<size_t>(kCurveBins)) return;
  Samples binned;
  for (size_t i = 0; i < static_cast<size_t>(kCurveBins); ++i) {
    const auto [begin, end] = SplitBounds(n, kCurveBins, i);
    binned.t.push_back(Mean(Values(samples.t).subspan(begin, end - begin)));
    binned.y.push_back(Median(Values(samples.y).subspan(begin, end - begin)));
  }
  samples = std::move(binned);
}

}  // namespace plateau::verdict
