#include "analyzer/verdict/method/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plateau::verdict {

double Sum(Values x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

double Mean(Values x) { return Sum(x) / static_cast<double>(x.size()); }

double Max(Values x) { return *std::max_element(x.begin(), x.end()); }
double Min(Values x) { return *std::min_element(x.begin(), x.end()); }

double StandardDeviation(Values x) {
  const double mean = Mean(x);
  double sum = 0;
  for (double v : x) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

double Median(Values x) {
  if (x.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> copy(x.begin(), x.end());
  const size_t half = copy.size() / 2;
  std::nth_element(copy.begin(), copy.begin() + half, copy.end());
  const double upper = copy[half];
  if (copy.size() % 2 == 1) return upper;
  return (*std::max_element(copy.begin(), copy.begin() + half) + upper) / 2;
}

std::vector<double> CumulativeSum(Values x) {
  std::vector<double> sums(x.size());
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sums[i] = sum += x[i];
  return sums;
}

std::pair<size_t, size_t> SplitBounds(size_t n, size_t parts, size_t i) {
  const size_t length = n / parts;
  const size_t longer = n % parts;
  const size_t begin = i * length + std::min(i, longer);
  return {begin, begin + length + (i < longer ? 1 : 0)};
}

double SplitMean(Values x, size_t parts, size_t i) {
  const auto [begin, end] = SplitBounds(x.size(), parts, i);
  return Mean(x.subspan(begin, end - begin));
}

double TQuantile(double n) {
  static constexpr double kQuantiles[] = {12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
  const int whole = static_cast<int>(n);
  if (whole >= 2 && whole <= 10) return kQuantiles[whole - 2];
  return n < 15 ? 2.26 : n < 25 ? 2.13 : 2.0;
}

double Lag1(Values residuals) {
  const double mean = Mean(residuals);
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    const double e = residuals[i] - mean;
    squares += e * e;
    if (i > 0) products += e * (residuals[i - 1] - mean);
  }
  return squares <= 0 ? 0 : std::clamp(products / squares, 0.0, 0.85);
}

MeanInterval BatchInterval(Values x, int batches, double extra_variance) {
  const size_t n = x.size();
  if (n == 0) return {};
  const size_t k = std::min<size_t>(batches, std::max<size_t>(2, n / 3));
  const double mean = Mean(x);
  double mean_of_batches = 0;
  std::vector<double> batch;
  batch.reserve(k);
  for (size_t i = 0; i < k; ++i) {
    const auto [begin, end] = SplitBounds(n, k, i);
    if (begin == end) continue;
    batch.push_back(Mean(x.subspan(begin, end - begin)));
    mean_of_batches += batch.back();
  }
  mean_of_batches /= static_cast<double>(batch.size());
  double squares = 0;
  for (double b : batch) squares += (b - mean_of_batches) * (b - mean_of_batches);
  double variance =
      batch.size() > 1 ? squares / static_cast<double>(batch.size() - 1) / static_cast<double>(k) : 0;
  const double half = TQuantile(static_cast<double>(k)) * std::sqrt(std::max(variance, extra_variance));
  return {mean, mean - half, mean + half};
}

double LaplaceTrend(std::span<const size_t> positions, size_t n) {
  if (positions.empty()) return 0;
  double sum = 0;
  for (size_t p : positions) sum += static_cast<double>(p);
  const double count = static_cast<double>(positions.size());
  const double length = static_cast<double>(n);
  return (sum / count + 0.5 - length / 2) / (length * std::sqrt(1 / (12 * count)));
}

namespace {

struct Line {
  double slope = 0;
  double sxx = 0;
  std::vector<double> centred_t;
  std::vector<double> residuals;
};

Line FitLine(Values t, Values y) {
  Line line;
  const size_t n = t.size();
  const double t_mean = Mean(t);
  const double y_mean = Mean(y);
  line.centred_t.resize(n);
  line.residuals.resize(n);
  double sxy = 0;
  for (size_t i = 0; i < n; ++i) {
    line.centred_t[i] = t[i] - t_mean;
    line.sxx += line.centred_t[i] * line.centred_t[i];
    sxy += line.centred_t[i] * y[i];
  }
  line.slope = sxy / line.sxx;
  for (size_t i = 0; i < n; ++i) line.residuals[i] = y[i] - y_mean - line.slope * line.centred_t[i];
  return line;
}

double SumOfSquares(Values x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return sum;
}

}  // namespace

Slope RobustSlope(Values t, Values y) {
  const size_t n = t.size();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (n < kMinSlopeSamples) return {0, -kInfinity, kInfinity, kInfinity};
  const Line line = FitLine(t, y);
  std::vector<double> u(n);
  for (size_t i = 0; i < n; ++i) u[i] = line.centred_t[i] * line.residuals[i];
  const size_t lags =
      std::min(std::max<size_t>(2, static_cast<size_t>(1.5 * std::sqrt(static_cast<double>(n)))), n - 2);
  double newey_west = SumOfSquares(u);
  for (size_t lag = 1; lag <= lags; ++lag) {
    double product = 0;
    for (size_t i = lag; i < n; ++i) product += u[i] * u[i - lag];
    newey_west += 2 * (1 - static_cast<double>(lag) / (static_cast<double>(lags) + 1)) * product;
  }
  newey_west = std::max(newey_west, 0.0) / (line.sxx * line.sxx);
  const double count = static_cast<double>(n);
  double rho = Lag1(line.residuals);
  rho = std::min(0.95, rho + (1 + 4 * rho) / count);  // Kendall's bias correction
  const double autoregressive =
      SumOfSquares(line.residuals) / std::max(1.0, count - 2) / line.sxx * (1 + rho) / (1 - rho);
  const double effective = std::max(3.0, count * (1 - rho) / (1 + rho));
  const double error = std::sqrt(std::max(newey_west, autoregressive));
  const double half = (effective < 30 ? TQuantile(effective) : 2.0) * error;
  return {line.slope, line.slope - half, line.slope + half, error};
}

Slope PlainSlope(Values t, Values y) {
  const size_t n = t.size();
  if (n < 3) {
    const double rate = (y.back() - y.front()) / (t.back() - t.front());
    return {rate, std::min(rate * 0.8, rate * 1.2), std::max(rate * 0.8, rate * 1.2),
            0};  // two points have no spread: 20 % by convention, and never more than inconclusive
  }
  const Line line = FitLine(t, y);
  const double error = std::sqrt(SumOfSquares(line.residuals) / static_cast<double>(n - 2) / line.sxx);
  const double half = TQuantile(static_cast<double>(n - 1)) * error;
  return {line.slope, line.slope - half, line.slope + half, error};
}

}  // namespace plateau::verdict
