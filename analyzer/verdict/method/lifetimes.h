// How long do a site's objects live, and which of its survivors are old enough to count as retained?
//
// Pure functions on the ages at death and the births of what is alive.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_LIFETIMES_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_LIFETIMES_H_

#include <optional>

#include "analyzer/series/site_series.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

struct Maturity {
  enum class Kind {
    kRetains,   // survivors older than `horizon` are retained, not in flight
    kNothing,   // nothing material is older than `horizon`
    kTurnover,  // objects live about as long as the run and do die; no horizon separates them
  };
  Kind kind = Kind::kTurnover;
  int horizon = 0;  // W, in buckets: one of 1, 3, 7, ...
};

// The smallest horizon at which (a) objects that died older are at most 5 % of old deaths and old survivors,
// and (b) the stock still in flight beyond it, by Little's law, is below the floor.
Maturity FindMaturity(const series::SiteSeries& site, int steps, double floor_rate);

// Verdict for long-lived objects that do die: the level births x mean lifetime predicts, and whether it is
// reached.
Verdict JudgeTurnover(const series::SiteSeries& site, int steps);

// The step by which the level of objects that turn over was reached, when that took a good part of the run and
// the level has stayed since: the site has grown from nothing to what it holds, whatever happens to single
// objects. `now` is what it holds more than before the first step.
std::optional<int> FilledBy(Values live, double now, int steps);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_LIFETIMES_H_
