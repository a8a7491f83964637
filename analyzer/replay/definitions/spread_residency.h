// Pages that came into memory between two looks, spread over the time between them.
//
// The shim looks at a large region at most at every sample of the ledger, 50 ms to a second apart, and all that came
// in since the look before would be born at once: lumps of some dozen rounds of a fast loop. When exactly a page came
// is not known, so what came between two looks is taken as even. A region that has not moved is in no record, so the
// time between looks is not the time between records: it begins at the last sample of the ledger before.
//
// Pure: values in, values out.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SPREAD_RESIDENCY_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SPREAD_RESIDENCY_H_

#include <vector>

#include "analyzer/replay/definitions/definitions.h"

namespace plateau::replay {

// Both by time, and so is the result: the readings and, before those that grew, some in between.
std::vector<TimedResidency> SpreadResidency(const std::vector<TimedResidency>& readings,
                                            const std::vector<TimedLedger>& ledger);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SPREAD_RESIDENCY_H_
