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

// Growth per step below which nothing is headlined: 1 % of the reference over the horizon.
double FloorRate(const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_FORECAST_H_
