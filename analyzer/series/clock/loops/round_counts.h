// Lists of events compared with each other: how often one happens in the rounds of another, and which list of several
// has an event for each round of a loop.
//
// A list holds the numbers of events in the order in which they happened, as LoopFinder collects them: the begins of the
// rounds that were seen, or the allocations of one stack that is always recorded.
//
// Pure.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_ROUND_COUNTS_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_ROUND_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace plateau::series {

using Events = std::vector<uint32_t>;

// A loop with fewer rounds is no clock.
inline constexpr size_t kFewestRounds = 20;

// How many of `events` happen in each of the rounds that begin at `rounds`. Only whole rounds count: what comes before the
// first begin and after the last one is left out.
std::vector<size_t> CountsPerRound(const Events& events, const Events& rounds);

// How many of `counts` equal `value`.
size_t CountOf(const std::vector<size_t>& counts, size_t value);

// The value that most of `counts` have, and how many of them have it.
std::pair<size_t, size_t> Commonest(const std::vector<size_t>& counts);

// Two numbers of rounds that differ by 2 % or by one round at most.
bool AreAlike(size_t a, size_t b);

// Whether those of `events` that lie in one round are about as far apart as the last one of a round and the first one of the
// next. Several requests of one round lie closer together.
bool LieAsFarApartAsRounds(const Events& events, const Events& rounds,
                           const std::function<uint64_t(uint32_t)>& time_of);

// Whether rounds were missed between some of `rounds`: `events` are met in each of them, once in most, and where several
// lie in one, they lie as far apart as rounds.
bool AreRoundsBetween(const Events& events, const Events& rounds,
                      const std::function<uint64_t(uint32_t)>& time_of);

// `anchors` are stacks that are always recorded, the most frequent first. Two of them or more that were met exactly as
// often, and about as often as the `seen` rounds, have the right number: a round may seem to begin twice where coroutines
// take turns or a sampled object lies at another place. Returns the earliest of the most frequent such stacks, or null.
const Events* EqualStacks(const std::vector<const Events*>& anchors, size_t seen);

// The list whose length most of the others have; among equals the longer one, then the one that begins earlier.
const Events* MostAgreed(const std::vector<const Events*>& lists);

// Stacks of equal length that take turns, each once a round, as they do in a loop. Returns the one that comes first in a
// round, or null. `anchors` begin with the most frequent.
const Events* InTurns(const std::vector<const Events*>& anchors);

// How many rounds that begin at `begins` were over when each round of the loop around them ended. Empty unless the rounds
// of `outer` hold the same number of them.
std::vector<uint32_t> EpochEnds(const Events& outer, const Events& begins);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_ROUND_COUNTS_H_
