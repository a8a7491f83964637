// Which shape does the retention rate of a site have over the steps of a run?
//
//   constant   ______    delayed      ___    box  ____      exponential  \        power law  |
//                                 ___|                |___                \__                 \___
//
// Every candidate is fitted by weighted least squares, with a variance that grows with the local mean as it
// does for arriving objects, and scored by BIC on the effective number of buckets. Pure and deterministic;
// O(n^2) in n <= 40 buckets.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_RATE_MODELS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_RATE_MODELS_H_

#include <vector>

#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {

enum class RateShape {
  kZero,                     // Z
  kConstant,                 // K
  kDelayed,                  // D: zero, then constant
  kTwoLevels,                // T2
  kBox,                      // B: constant, then zero
  kDelayedBox,               // DB
  kExponential,              // E
  kExponentialPlusConstant,  // EK
  kPowerLaw,                 // P
};
const char* RateShapeName(RateShape shape);

// What a shape means for the future.
enum class RateTrend { kZero, kConstant, kStopped, kSlowing };

struct RateFit {
  RateShape shape = RateShape::kZero;
  RateTrend trend = RateTrend::kZero;
  int parameters = 0;
  double rss = 0;  // weighted residual sum of squares
  double bic = 0;
  double rate = 0;       // of the constant part
  int start = 0;         // bucket in which the constant part starts
  double tau = 0;        // decay constant, in buckets
  double end_rate = 0;   // of a decay at the end of the window
  double remaining = 0;  // what a decay will still add, in rate x buckets; infinite for a power law
  double remaining_low = 0;
  double remaining_high = 0;
};

// `rate`: mean retained bytes per step in each bucket. `centre`: absolute step of the bucket's middle.
// `floor`: rate below which two fits count as equal. Returns all candidates, best first.
std::vector<RateFit> FitRateModels(Values rate, Values centre, double floor);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_RATE_MODELS_H_
