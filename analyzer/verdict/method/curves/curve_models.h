// Shapes fitted to one memory curve, each scored by BIC on the effective number of samples.
//
//   flat ______   line  /   hinge  /‾‾   broken  /‾-   flat then line  __/   step  _|‾   saturation  (‾‾
//   stairs  _|‾|‾
//
// Pure and deterministic; at most 160 points.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_MODELS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/verdict/method/least_squares.h"
#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {

enum class CurveShape {
  kFlat,            // C
  kLine,            // L
  kHinge,           // H: rises, then flat
  kBrokenLine,      // H2
  kFlatThenLine,    // F
  kStep,            // J
  kSaturation,      // X
  kSaturationLine,  // XL
  kLogarithm,       // G
  kLevels,          // P3..P6: piecewise constant
  kEventStairs,     // S
  kEventStep,       // S1: one step at the first event
  kEpochStairs,     // SE
};

struct CurveModel {
  CurveShape shape = CurveShape::kFlat;
  std::string name;
  int parameters = 0;
  LinearFit fit;  // rss is set for every shape, the coefficients for all but kLevels
  double bic = 0;
  double knee = 0;  // hinge, broken line, flat then line, step, event step
  double tau = 0;   // saturation
  double log_offset = 0;
  int event_count = 0;
  std::vector<double> change_steps;  // kLevels
  std::vector<double> levels;
};

struct CurveModels {
  std::vector<CurveModel> models;  // in a fixed order
  double effective_samples = 0;
  double noise = 0;  // root mean square of the residual about the most flexible shapes

  const CurveModel* Find(CurveShape shape) const;  // not for kLevels
  std::vector<const CurveModel*> ByBic() const;
};

// `event_steps`: evaluations and checkpoints, ascending. `epoch` 0 when unknown. `last_step`: of the run.
// `level`: the typical level, below 0.03 % of which two fits count as equal.
CurveModels FitCurve(Values t, Values y, const std::vector<int64_t>& event_steps, double epoch,
                     double last_step, double level);

// The curve min(t, k) and max(t - k, 0) of a knee at k, and 1 - exp(-t / tau).
std::vector<double> BeforeKnee(Values t, double k);
std::vector<double> AfterKnee(Values t, double k);
std::vector<double> SaturationCurve(Values t, double tau);

struct Knee {
  double step = 0;
  double low = 0;
  double high = 0;
};

// Knee of a broken line near `start` with its 95 % profile-likelihood interval, on a grid finer than the
// sampling.
Knee LocateKnee(Values t, Values y, double start, double effective_samples);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_MODELS_H_
