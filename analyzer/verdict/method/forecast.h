// What happens next if a growth is a leak, and what if it is a first-pass cache.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_FORECAST_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_FORECAST_H_

#include "analyzer/series/run_context.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// `level_bytes` at `step`, growing by `rate` per step.
Forecast MakeForecast(double level_bytes, const MeanInterval& rate, double step,
                      const series::RunContext& run);

// Gives a headline that grows its date: the step at which the limit is reached, from the larger of its own rate and
// that of resident memory, which also grows by what an allocator loses around each block. `resident` is a slope of
// the process; below zero or unsure, it says nothing.
void ForecastHeadline(const series::RunContext& run, const Slope& resident, Verdict& headline);

// Growth per step below which nothing is headlined: 1 % of the reference over the horizon.
double FloorRate(const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_FORECAST_H_
