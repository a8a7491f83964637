// What the series of a process say before its headline is chosen: which parts of its memory grow, what its
// allocator holds in vain, what its workers copied.
//
// Pure and deterministic.
#ifndef PLATEAU_ANALYZER_VERDICT_MEASURED_PROCESS_H_
#define PLATEAU_ANALYZER_VERDICT_MEASURED_PROCESS_H_

#include "analyzer/series/process_series.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/honesty.h"
#include "analyzer/verdict/method/curves/curve_reading.h"
#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {

struct MeasuredProcess {
  ProcessFacts facts;
  double slack_bytes = 0;          // held and not live, lately
  bool keeps_old_peak = false;     // that slack has risen, or the gap has grown and stopped
  double worker_growth_bytes = 0;  // private memory of forked workers, when it is worth a verdict
  double worker_heap_growth_bytes = 0;
  double worker_bound_bytes = 0;
};
MeasuredProcess MeasureProcess(const series::ProcessSeries& process, const series::RunContext& run);

// Does an overhead curve grow? An overhead is not data, so the first pass is no excuse for it.
struct OverheadTrend {
  Growth growth = Growth::kFlat;
  Slope slope;  // over the last two thirds
};
OverheadTrend JudgeOverhead(Values step, Values bytes, const series::RunContext& run);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_MEASURED_PROCESS_H_
