// The small statistics every verdict is built from. All are pure, allocate at most a scratch vector, and are
// exact in the sense that equal input gives equal bits.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_STATISTICS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_STATISTICS_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace plateau::verdict {

using Values = std::span<const double>;

double Sum(Values x);
double Mean(Values x);               // NaN when empty
double Max(Values x);                // x must not be empty
double Min(Values x);                // x must not be empty
double StandardDeviation(Values x);  // of the population
double Median(Values x);             // NaN when empty; the mean of the two middle values when even
std::vector<double> CumulativeSum(Values x);

// Bounds of part `i` when n values are split into `parts` nearly equal parts, longer ones first.
std::pair<size_t, size_t> SplitBounds(size_t n, size_t parts, size_t i);
double SplitMean(Values x, size_t parts, size_t i);

// Two-sided 95 % quantile of Student's t for n values.
double TQuantile(double n);

// First autocorrelation, kept within [0, 0.85].
double Lag1(Values residuals);

struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// Mean with a 95 % interval by batch means, valid under autocorrelation shorter than a batch.
// `extra_variance` is a lower bound of the variance of the mean (sampling), known from elsewhere.
MeanInterval BatchInterval(Values x, int batches = 12, double extra_variance = 0);

// Laplace's trend test of arrivals on [0, n): below zero, arrivals are getting rarer.
double LaplaceTrend(std::span<const size_t> positions, size_t n);

struct Slope {
  double value = 0;
  double low = 0;
  double high = 0;
  double standard_error = 0;
};

// Fewer points than these have no spread.
inline constexpr size_t kMinSlopeSamples = 4;

// Least-squares slope whose variance is the larger of Newey-West's and that of AR(1) residuals. Of fewer than
// kMinSlopeSamples points nothing is known: the interval is infinite.
Slope RobustSlope(Values t, Values y);

// Least-squares slope for a handful of independent samples.
Slope PlainSlope(Values t, Values y);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_STATISTICS_H_
