// Growth that is the filling of memory which was reserved before: pages of one array of zeros being touched.
//
// Nothing is allocated and the size it can reach is known, so it is neither a leak nor undecided, whatever its
// shape. It is a warm-up that ends where the reservation does.
#ifndef PLATEAU_ANALYZER_VERDICT_RESERVED_FILL_H_
#define PLATEAU_ANALYZER_VERDICT_RESERVED_FILL_H_

#include "analyzer/series/large_regions.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// The arena of an allocator that a library brought along has no such end, and nothing is known of the blocks
// inside it: straight growth there is unbounded growth on the line that mapped it, and not a leak of that line.
//
// Rewrites the verdict of a site, in steps, where its growth is either and goes on. `rate` is what the site
// gains per step. Otherwise the verdict stays as it is.
void JudgeReservedFill(const series::SiteReservation& reservation, const Estimate& rate,
                       const series::RunContext& run, Verdict* verdict);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_RESERVED_FILL_H_
