// A clock of the loops whose rounds the Python start-up hook counted (`--loop-rounds`).
//
// A mark says how many rounds of a loop are over. Marks come at most once a millisecond, so of a fast loop most
// rounds lie between two marks: their ends are drawn at equal distances. The number of rounds is exact.
//
// Of several loops the clock is the one that goes round least often, of those with enough rounds and with a
// good part of the run inside: what an inner pass over data fills is then full after one round. A loop around
// it with the same number of its rounds inside each time gives epochs.
//
// Pure. Marks are not trusted: a loop with more rounds than anybody can use is left out.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_ROUND_MARKS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_ROUND_MARKS_H_

#include <optional>
#include <vector>

#include "analyzer/series/clock/mark_log.h"
#include "analyzer/series/clock/step_clock.h"

namespace plateau::series {

// Empty when no loop went round often enough.
std::optional<WorkClock> ClockOfRounds(const MarkLog& log, uint64_t begin_time);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_ROUND_MARKS_H_
