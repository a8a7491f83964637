#include "analyzer/verdict/method/curves/curve_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

std::vector<double> Linspace(double first, double last, int count) {
  std::vector<double> grid(count);
  const double step = (last - first) / (count - 1);
  for (int i = 0; i < count; ++i) grid[i] = first + step * i;
  grid.back() = last;
  return grid;
}

std::vector<double> IndicatorFrom(Values t, double k) {
  std::vector<double> column(t.size());
  for (size_t i = 0; i < t.size(); ++i) column[i] = t[i] >= k ? 1 : 0;
  return column;
}

// Positions at which a knee is tried.
std::vector<double> KneeGrid(Values t) {
  const size_t n = t.size();
  if (n >= kManySamples) return Linspace(t[kMinSegment], t[n - 1 - kMinSegment], kKneeGrid);
  std::vector<double> grid;
  for (size_t i = kMinSegment; i + kMinSegment < n; ++i) grid.push_back(t[i]);
  for (size_t i = kMinSegment; i + kMinSegment + 1 < n; ++i) grid.push_back((t[i] + t[i + 1]) / 2);
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

// Best piecewise-constant fit with `levels` levels, by dynamic programming.
struct LevelFit {
  double rss = 0;
  std::vector<size_t> changes;
};

LevelFit FitLevels(Values y, int levels) {
  const size_t n = y.size();
  std::vector<double> c1(n + 1), c2(n + 1);
  for (size_t i = 0; i < n; ++i) {
    c1[i + 1] = c1[i] + y[i];
    c2[i + 1] = c2[i] + y[i] * y[i];
  }
  const auto cost = [&](size_t a, size_t b) {
    const double sum = c1[b] - c1[a];
    return c2[b] - c2[a] - sum * sum / static_cast<double>(b - a);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(levels + 1, std::vector<double>(n + 1, kInfinity));
  std::vector<std::vector<size_t>> from(levels + 1, std::vector<size_t>(n + 1, 0));
  for (size_t j = 1; j <= n; ++j) best[1][j] = cost(0, j);
  for (int k = 2; k <= levels; ++k) {
    for (size_t j = k; j <= n; ++j) {
      for (size_t a = k - 1; a < j; ++a) {
        const double value = best[k - 1][a] + cost(a, j);
        if (value < best[k][j]) {
          best[k][j] = value;
          from[k][j] = a;
        }
      }
    }
  }
  LevelFit fit{std::max(0.0, best[levels][n]), {}};
  size_t j = n;
  for (int k = levels; k > 1; --k) {
    j = from[k][j];
    fit.changes.push_back(j);
  }
  std::reverse(fit.changes.begin(), fit.changes.end());
  return fit;
}

class Fitter {
 public:
  Fitter(Values t, Values y) : t_(t), y_(y), one_(t.size(), 1.0) {}

  void Offer(CurveModel model, std::initializer_list<Values> columns) {
    model.fit = FitColumns(columns, y_);
    Offer(std::move(model));
  }
  void Offer(CurveModel model) {
    for (CurveModel& known : models_) {
      if (known.name != model.name) continue;
      if (model.fit.rss < known.fit.rss) known = std::move(model);
      return;
    }
    models_.push_back(std::move(model));
  }
  const CurveModel* Find(CurveShape shape) const {
    for (const CurveModel& model : models_) {
      if (model.shape == shape) return &model;
    }
    return nullptr;
  }

  void FitKnees();
  void FitSaturations();
  void OfferSaturation(CurveShape shape, double tau);
  void FitPiecewise();
  void FitEvents(const std::vector<int64_t>& event_steps, double epoch, double last_step);

  Values t_;
  Values y_;
  std::vector<double> one_;
  std::vector<CurveModel> models_;
};

void Fitter::FitKnees() {
  for (double k : KneeGrid(t_)) {
    const std::vector<double> before = BeforeKnee(t_, k);
    const std::vector<double> after = AfterKnee(t_, k);
    const std::vector<double> step = IndicatorFrom(t_, k);
    Offer({.shape = CurveShape::kHinge, .name = "hinge", .parameters = 4, .knee = k}, {one_, before});
    Offer({.shape = CurveShape::kBrokenLine, .name = "broken_line", .parameters = 5, .knee = k},
          {one_, before, after});
    Offer({.shape = CurveShape::kFlatThenLine, .name = "flat_then_line", .parameters = 4, .knee = k},
          {one_, after});
    Offer({.shape = CurveShape::kStep, .name = "step", .parameters = 4, .knee = k}, {one_, step});
  }
}

void Fitter::OfferSaturation(CurveShape shape, double tau) {
  const std::vector<double> f = SaturationCurve(t_, tau);
  if (shape == CurveShape::kSaturation) {
    Offer({.shape = shape, .name = "saturation", .parameters = 3, .tau = tau}, {one_, f});
  } else {
    Offer({.shape = shape, .name = "saturation_plus_line", .parameters = 4, .tau = tau}, {one_, f, t_});
  }
}

void Fitter::FitSaturations() {
  const double span = t_.back() - t_.front();
  for (double divisor : Linspace(std::log(kLeastTauDivisor), std::log(kMostTauDivisor), kTauGrid)) {
    OfferSaturation(CurveShape::kSaturation, span / std::exp(divisor));
    OfferSaturation(CurveShape::kSaturationLine, span / std::exp(divisor));
  }
  for (CurveShape shape : {CurveShape::kSaturation, CurveShape::kSaturationLine}) {
    double width = std::log(kMostTauDivisor / kLeastTauDivisor) /
                   (kTauGrid - 1);  // refine: a coarse grid fakes a linear term
    for (int round = 0; round < 3; ++round) {
      const double centre = Find(shape)->tau;
      for (double q : Linspace(-width, width, 7)) OfferSaturation(shape, centre * std::exp(q));
      width /= 3;
    }
  }
  std::vector<double> logarithm(t_.size());
  for (double offset : kLogOffsets) {
    for (size_t i = 0; i < t_.size(); ++i) logarithm[i] = std::log(t_[i] + offset);
    Offer({.shape = CurveShape::kLogarithm, .name = "logarithm", .parameters = 3, .log_offset = offset},
          {one_, logarithm});
  }
}

void Fitter::FitPiecewise() {
  const size_t n = t_.size();
  for (int levels = kFewestLevels; levels <= kMostLevels; ++levels) {
    if (n < static_cast<size_t>(kSamplesPerLevel * levels)) continue;
    const LevelFit fit = FitLevels(y_, levels);
    CurveModel model{.shape = CurveShape::kLevels,
                     .name = "levels_" + std::to_string(levels),
                     .parameters = 3 * levels - 1};
    model.fit.rss = fit.rss;
    size_t begin = 0;
    for (size_t change : fit.changes) {
      model.change_steps.push_back(t_[change]);
      model.levels.push_back(Mean(y_.subspan(begin, change - begin)));
      begin = change;
    }
    model.levels.push_back(Mean(y_.subspan(begin)));
    Offer(std::move(model));
  }
}

void Fitter::FitEvents(const std::vector<int64_t>& event_steps, double epoch, double last_step) {
  const size_t n = t_.size();
  std::vector<double> count(n);
  if (!event_steps.empty()) {
    for (size_t i = 0; i < n; ++i) {
      count[i] = static_cast<double>(std::count_if(event_steps.begin(), event_steps.end(), [&](int64_t e) {
        return static_cast<double>(e) <= t_[i];
      }));
    }
    const int most = static_cast<int>(Max(count));
    if (most >= 2) {
      Offer({.shape = CurveShape::kEventStairs, .name = "event_stairs", .parameters = 2, .event_count = most},
            {one_, count});
    }
    std::vector<double> after_first(n);
    for (size_t i = 0; i < n; ++i) after_first[i] = count[i] >= 1 ? 1 : 0;
    Offer({.shape = CurveShape::kEventStep,
           .name = "event_step",
           .parameters = 2,
           .knee = static_cast<double>(event_steps.front())},
          {one_, after_first});
  }
  if (epoch > 0 && last_step > 2 * epoch) {
    for (size_t i = 0; i < n; ++i) count[i] = std::floor((t_[i] - kTiny) / epoch);
    const int most = static_cast<int>(Max(count));
    if (most >= 2) {
      Offer({.shape = CurveShape::kEpochStairs, .name = "epoch_stairs", .parameters = 2, .event_count = most},
            {one_, count});
    }
  }
}

std::vector<double> ResidualsOf(const CurveModel& model, Values t, Values y) {
  const std::vector<double> one(t.size(), 1.0);
  switch (model.shape) {
    case CurveShape::kBrokenLine:
      return Residuals(model.fit, {one, BeforeKnee(t, model.knee), AfterKnee(t, model.knee)}, y);
    case CurveShape::kSaturationLine:
      return Residuals(model.fit, {one, SaturationCurve(t, model.tau), t}, y);
    default:
      return Residuals(model.fit, {one, IndicatorFrom(t, model.knee)}, y);
  }
}

}  // namespace

std::vector<double> BeforeKnee(Values t, double k) {
  std::vector<double> column(t.size());
  for (size_t i = 0; i < t.size(); ++i) column[i] = std::min(t[i], k);
  return column;
}

std::vector<double> AfterKnee(Values t, double k) {
  std::vector<double> column(t.size());
  for (size_t i = 0; i < t.size(); ++i) column[i] = std::max(t[i] - k, 0.0);
  return column;
}

std::vector<double> SaturationCurve(Values t, double tau) {
  std::vector<double> column(t.size());
  for (size_t i = 0; i < t.size(); ++i) column[i] = 1 - std::exp(-t[i] / tau);
  return column;
}

const CurveModel* CurveModels::Find(CurveShape shape) const {
  for (const CurveModel& model : models) {
    if (model.shape == shape) return &model;
  }
  return nullptr;
}

std::vector<const CurveModel*> CurveModels::ByBic() const {
  std::vector<const CurveModel*> order;
  for (const CurveModel& model : models) order.push_back(&model);
  std::stable_sort(order.begin(), order.end(),
                   [](const CurveModel* a, const CurveModel* b) { return a->bic < b->bic; });
  return order;
}

CurveModels FitCurve(Values t, Values y, const std::vector<int64_t>& event_steps, double epoch,
                     double last_step, double level) {
  Fitter fitter(t, y);
  fitter.Offer({.shape = CurveShape::kFlat, .name = "flat", .parameters = 1}, {fitter.one_});
  fitter.Offer({.shape = CurveShape::kLine, .name = "line", .parameters = 2}, {fitter.one_, t});
  fitter.FitKnees();
  fitter.FitSaturations();
  fitter.FitPiecewise();
  fitter.FitEvents(event_steps, epoch, last_step);

  CurveModels result;
  result.models = std::move(fitter.models_);
  const CurveModel* flexible = nullptr;
  for (CurveShape shape : {CurveShape::kBrokenLine, CurveShape::kSaturationLine, CurveShape::kStep}) {
    const CurveModel* model = result.Find(shape);
    if (flexible == nullptr || model->fit.rss < flexible->fit.rss) flexible = model;
  }
  const double n = static_cast<double>(t.size());
  const double rho = Lag1(ResidualsOf(*flexible, t, y));
  result.effective_samples = std::max(kLeastEffective, n * (1 - rho) / (1 + rho));
  result.noise = std::sqrt(flexible->fit.rss / n);
  const double floor_variance = std::max((kFitNoise * level) * (kFitNoise * level), kTiny * kTiny);
  for (CurveModel& model : result.models) {
    model.bic = result.effective_samples * std::log(model.fit.rss / n + floor_variance) +
                model.parameters * std::log(result.effective_samples);
  }
  return result;
}

Knee LocateKnee(Values t, Values y, double start, double effective_samples) {
  const size_t n = t.size();
  size_t nearest = 0;
  for (size_t i = 1; i < n; ++i) {
    if (std::abs(t[i] - start) < std::abs(t[nearest] - start)) nearest = i;
  }
  double spacing = 1;
  if (n > 4) {
    spacing = 0;
    const size_t begin = nearest >= 3 ? nearest - 3 : 0;
    const size_t end = std::min(n, nearest + 4);
    for (size_t i = begin + 1; i < end; ++i) spacing = std::max(spacing, t[i] - t[i - 1]);
  }
  double width = 5 * std::max(spacing, kTiny);
  const std::vector<double> one(n, 1.0);
  Knee knee{start, start, start};
  for (int zoom = 0; zoom < 3; ++zoom) {  // until the interval spans several grid points
    const std::vector<double> grid =
        Linspace(std::max(t[1], knee.step - width), std::min(t[n - 2], knee.step + width), 61);
    std::vector<double> rss;
    for (double k : grid) rss.push_back(FitColumns({one, BeforeKnee(t, k), AfterKnee(t, k)}, y).rss);
    const auto least = std::min_element(rss.begin(), rss.end());
    knee.step = grid[least - rss.begin()];
    int within = 0;
    for (size_t i = 0; i < grid.size(); ++i) {
      if (!(effective_samples * std::log(rss[i] / std::max(*least, kTiny)) < kChiSquare95)) continue;
      if (within == 0) knee.low = grid[i];
      knee.high = grid[i];
      ++within;
    }
    if (within > 6) break;
    width /= 8;
  }
  return knee;
}

}  // namespace plateau::verdict
