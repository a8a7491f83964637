// Makes the samples of a memory curve fit for modelling: one run, no evaluation spikes, no glitches, at most
// 160 points.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLEANING_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLEANING_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/process_series.h"

namespace plateau::verdict {

struct Samples {
  std::vector<double> t;
  std::vector<double> y;
};

// The last run of a log: by its run numbers, else after the last fall of the step counter.
Samples LastRun(const series::MemoryCurve& curve);

// Removes the three steps from each event on; returns the median height of what was removed above its
// surroundings.
double CutEvents(const std::vector<int64_t>& event_steps, Samples& samples);

// Removes isolated glitches (Hampel on five samples, never at the ends).
void DropGlitches(double level, Samples& samples);

// Medians of 160 bins when there are more samples.
void Bin(Samples& samples);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_CLEANING_H_
