// A container that re-allocates geometrically (a vector, a hash table): few, growing, spreading jumps of the
// live level.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_CONTAINER_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_CONTAINER_H_

#include <optional>

#include "analyzer/series/site_series.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// warmup_in_progress with the next jump, or empty when the site is not such a container.
std::optional<Verdict> JudgeContainer(const series::SiteSeries& site, int steps, double floor_rate);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_CONTAINER_H_
