#include "analyzer/verdict/method/rate_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

constexpr int kShapes = static_cast<int>(RateShape::kPowerLaw) + 1;

// Decay constants tried, as divisors of the number of buckets.
const std::array<double, kDecayConstants>& DecayDivisors() {
  static const auto divisors = [] {
    std::array<double, kDecayConstants> d;
    const double first = std::log(kLeastDecayDivisor);
    const double step = (std::log(kMostTauDivisor) - first) / (kDecayConstants - 1);
    for (int i = 0; i < kDecayConstants; ++i) d[i] = std::exp(first + step * i);
    d.back() = kMostTauDivisor;
    return d;
  }();
  return divisors;
}

// Five-point mean with the ends repeated.
std::vector<double> Smooth(Values y) {
  const int n = static_cast<int>(y.size());
  std::vector<double> smooth(n);
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = i - 2; j <= i + 2; ++j) sum += y[std::clamp(j, 0, n - 1)];
    smooth[i] = sum / 5;
  }
  return smooth;
}

// Weighted sums over bucket ranges in O(1).
class Segments {
 public:
  Segments(Values weight, Values y) : w_(y.size() + 1), wy_(y.size() + 1), wyy_(y.size() + 1) {
    for (size_t i = 0; i < y.size(); ++i) {
      w_[i + 1] = w_[i] + weight[i];
      wy_[i + 1] = wy_[i] + weight[i] * y[i];
      wyy_[i + 1] = wyy_[i] + weight[i] * y[i] * y[i];
    }
  }
  double AboutMean(int a, int b) const {
    const double sum = wy_[b] - wy_[a];
    return std::max(0.0, wyy_[b] - wyy_[a] - sum * sum / std::max(1e-12, w_[b] - w_[a]));
  }
  double AboutZero(int a, int b) const { return wyy_[b] - wyy_[a]; }
  double MeanOf(int a, int b) const { return (wy_[b] - wy_[a]) / std::max(1e-12, w_[b] - w_[a]); }
  double total_weight() const { return w_.back(); }
  double total() const { return wy_.back(); }

 private:
  std::vector<double> w_, wy_, wyy_;
};

// Keeps the best fit of each shape.
class Candidates {
 public:
  void Keep(const RateFit& fit) {
    std::optional<RateFit>& slot = best_[static_cast<int>(fit.shape)];
    if (!slot || fit.rss < slot->rss) slot = fit;
  }
  std::optional<RateFit>& operator[](RateShape shape) { return best_[static_cast<int>(shape)]; }
  auto begin() { return best_.begin(); }
  auto end() { return best_.end(); }

 private:
  std::array<std::optional<RateFit>, kShapes> best_;
};

void FitSteps(const Segments& seg, int n, Candidates& best) {
  const int silent = std::max(2, static_cast<int>(std::ceil(kSilentTailShare * n)));
  const int shortest = std::max(2, static_cast<int>(std::ceil(kShortestPart * n)));
  best.Keep(
      {.shape = RateShape::kZero, .trend = RateTrend::kZero, .parameters = 0, .rss = seg.AboutZero(0, n)});
  best.Keep({.shape = RateShape::kConstant,
             .trend = RateTrend::kConstant,
             .parameters = 1,
             .rss = seg.AboutMean(0, n),
             .rate = seg.MeanOf(0, n)});
  for (int j = shortest; j <= n - shortest; ++j) {
    best.Keep({.shape = RateShape::kDelayed,
               .trend = RateTrend::kConstant,
               .parameters = 3,
               .rss = seg.AboutZero(0, j) + seg.AboutMean(j, n),
               .rate = seg.MeanOf(j, n),
               .start = j});
    best.Keep({.shape = RateShape::kTwoLevels,
               .trend = RateTrend::kConstant,
               .parameters = 4,
               .rss = seg.AboutMean(0, j) + seg.AboutMean(j, n),
               .rate = seg.MeanOf(j, n),
               .start = j});
  }
  for (int j = 1; j <= n - silent; ++j) {
    best.Keep({.shape = RateShape::kBox,
               .trend = RateTrend::kStopped,
               .parameters = 3,
               .rss = seg.AboutMean(0, j) + seg.AboutZero(j, n)});
  }
  for (int a = 1; a < n - silent; ++a) {
    for (int b = a + 1; b <= n - silent; ++b) {
      best.Keep({.shape = RateShape::kDelayedBox,
                 .trend = RateTrend::kStopped,
                 .parameters = 5,
                 .rss = seg.AboutZero(0, a) + seg.AboutMean(a, b) + seg.AboutZero(b, n),
                 .start = a});
    }
  }
}

struct DecayProfile {
  std::array<double, kDecayConstants> rss;
  std::array<double, kDecayConstants> remaining;
};

DecayProfile FitDecays(const Segments& seg, Values y, Values w, Candidates& best) {
  const int n = static_cast<int>(y.size());
  DecayProfile profile;
  std::vector<double> f(n);
  const double s1 = seg.total_weight();
  const double sy = seg.total();
  for (int d = 0; d < kDecayConstants; ++d) {
    const double tau = n / DecayDivisors()[d];
    double ff = 0, fy = 0, f1 = 0;
    for (int i = 0; i < n; ++i) {
      f[i] = std::exp(-(i + 0.5) / tau);
      const double wf = w[i] * f[i];
      ff += wf * f[i];
      fy += wf * y[i];
      f1 += wf;
    }
    const double c = std::max(0.0, fy / ff);
    double rss = 0;
    for (int i = 0; i < n; ++i) rss += w[i] * (y[i] - c * f[i]) * (y[i] - c * f[i]);
    const double at_end = std::exp(-n / tau);
    profile.rss[d] = rss;
    profile.remaining[d] = c * tau * at_end;
    best.Keep({.shape = RateShape::kExponential,
               .trend = RateTrend::kSlowing,
               .parameters = 2,
               .rss = rss,
               .tau = tau,
               .end_rate = c * at_end,
               .remaining = c * tau * at_end});
    const double det = s1 * ff - f1 * f1;
    if (det <= kTiny * s1 * ff) continue;
    const double r = (sy * ff - f1 * fy) / det;
    const double c2 = (s1 * fy - f1 * sy) / det;
    if (r <= 0 || c2 <= 0) continue;
    double both = 0;
    for (int i = 0; i < n; ++i) both += w[i] * (y[i] - r - c2 * f[i]) * (y[i] - r - c2 * f[i]);
    best.Keep({.shape = RateShape::kExponentialPlusConstant,
               .trend = RateTrend::kConstant,
               .parameters = 3,
               .rss = both,
               .rate = r,
               .start = std::min(n - 1, static_cast<int>(kMostDecayedTaus * tau)),
               .tau = tau});
  }
  return profile;
}

void FitPowerLaws(Values y, Values w, Values centre, Candidates& best) {
  const size_t n = y.size();
  std::vector<double> logarithm(n), f(n);
  for (double offset : kPowerOffsets) {
    for (size_t i = 0; i < n; ++i) logarithm[i] = std::log(centre[i] + offset);
    for (double alpha : kPowers) {
      const double fall = std::exp(alpha * (logarithm[n - 1] - logarithm[0]));
      if (fall < kLeastFall) continue;
      double ff = 0, fy = 0;
      for (size_t i = 0; i < n; ++i) {
        f[i] = std::exp(-alpha * (logarithm[i] - logarithm[0]));
        ff += w[i] * f[i] * f[i];
        fy += w[i] * f[i] * y[i];
      }
      const double c = std::max(0.0, fy / ff);
      double rss = 0;
      for (size_t i = 0; i < n; ++i) rss += w[i] * (y[i] - c * f[i]) * (y[i] - c * f[i]);
      best.Keep({.shape = RateShape::kPowerLaw,
                 .trend = RateTrend::kSlowing,
                 .parameters = 2,
                 .rss = rss,
                 .end_rate = c * f[n - 1],
                 .remaining = std::numeric_limits<double>::infinity()});
    }
  }
}

// Effective number of buckets, from the autocorrelation of the residual about a smooth.
double EffectiveCount(Values y, Values smooth, Values w) {
  const size_t n = y.size();
  double rho = 0;
  if (n > kFewEvents) {
    std::vector<double> residual(n);
    for (size_t i = 0; i < n; ++i) residual[i] = (y[i] - smooth[i]) * std::sqrt(w[i]);
    rho = Lag1(residual);
  }
  return std::max(kLeastEffectiveBuckets, static_cast<double>(n) * (1 - rho) / (1 + rho));
}

}  // namespace

const char* RateShapeName(RateShape shape) {
  static constexpr const char* kNames[] = {
      "zero",        "constant",    "delayed_constant",          "two_levels", "box",
      "delayed_box", "exponential", "exponential_plus_constant", "power_law"};
  return kNames[static_cast<int>(shape)];
}

std::vector<RateFit> FitRateModels(Values y, Values centre, double floor) {
  const int n = static_cast<int>(y.size());
  const std::vector<double> smooth = Smooth(y);
  const double highest = Max(smooth);
  std::vector<double> w(n);
  for (int i = 0; i < n; ++i) w[i] = 1 / (smooth[i] + kWeightFloor * highest);
  const double scale = n / Sum(w);
  for (double& v : w) v *= scale;

  const Segments seg(w, y);
  Candidates best;
  FitSteps(seg, n, best);
  const DecayProfile profile = FitDecays(seg, y, w, best);
  FitPowerLaws(y, w, centre, best);

  const double effective = EffectiveCount(y, smooth, w);
  const double floor_variance = floor * floor * Mean(w);
  const double least = *std::min_element(profile.rss.begin(), profile.rss.end()) / n + floor_variance;
  RateFit& decay = *best[RateShape::kExponential];
  decay.remaining_low = std::numeric_limits<double>::infinity();
  decay.remaining_high = -std::numeric_limits<double>::infinity();
  for (int d = 0; d < kDecayConstants; ++d) {
    if (effective * std::log((profile.rss[d] / n + floor_variance) / least) >= kProfileDrop) continue;
    decay.remaining_low = std::min(decay.remaining_low, profile.remaining[d]);
    decay.remaining_high = std::max(decay.remaining_high, profile.remaining[d]);
  }

  std::vector<RateFit> fits;
  for (std::optional<RateFit>& fit : best) {
    if (!fit) continue;
    fit->bic = effective * std::log(fit->rss / n + floor_variance) +
               fit->parameters * std::log(std::max(effective, 3.0));
    fits.push_back(*fit);
  }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const RateFit& a, const RateFit& b) { return a.bic < b.bic; });
  return fits;
}

}  // namespace plateau::verdict
