// Event vectors: a stream of allocations and frees with the arrays it must accumulate to.
#ifndef PLATEAU_ANALYZER_VERDICT_CASES_CASE_EVENTS_H_
#define PLATEAU_ANALYZER_VERDICT_CASES_CASE_EVENTS_H_

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "analyzer/series/site_series.h"

namespace plateau::verdict {

// Replays lines of {"op":"step","n":k}, {"op":"a","id":i,"size":b,"site":"s"} and {"op":"f","id":i} through
// the series accumulator. Returns the series by site name, `steps` steps long. Malformed lines are a
// DataLossError.
absl::StatusOr<std::unordered_map<std::string, series::SiteSeries>> AccumulateEvents(std::string_view lines,
                                                                                     const std::string& name,
                                                                                     int64_t steps);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_CASES_CASE_EVENTS_H_
