// The constants of the known patterns, each with its reason; those of the verdicts are in method/thresholds.h.
//
// A pattern only explains a verdict and never makes one, so these may be coarse: they keep a pattern from being named
// where it explains little. patterns_test.cc has a run that shows each pattern, patterns_silent_test.cc runs that show none.
#ifndef PLATEAU_ANALYZER_VERDICT_PATTERN_THRESHOLDS_H_
#define PLATEAU_ANALYZER_VERDICT_PATTERN_THRESHOLDS_H_

#include <cstddef>

namespace plateau::verdict {

// Curves of a pool and of the ledger.
inline constexpr size_t kLeastPoolReadings = 4;     // fewer show no course
inline constexpr size_t kLeastLedgerReadings = 20;  // fewer hold no edge of their own
inline constexpr size_t kEdgeParts = 20;  // a rise is the median of the last twentieth less that of the first
inline constexpr double kPoolShare = 0.1;      // of what is reserved: less is the usual slack of a pool
inline constexpr double kDoesNotFollow = 0.2;  // of a rise beside it: what rises by less does not follow it
inline constexpr double kLevelledOff = 0.05;   // of the whole rise, in the second half: it rises no more
inline constexpr double kFellFromPeak = 1.25;  // a peak above what is resident now that confuses people

// In units of what is material for the process.
inline constexpr double kFileRise = 5;       // pages of files come and go by a few of them
inline constexpr double kSharedRise = 2;     // shared memory holds the batches in flight
inline constexpr double kPeakRise = 2;       // peaks within steps vary with the input
inline constexpr double kSmallKeeper = 0.1;  // what is small itself and keeps other things alive
inline constexpr double kTinyKeeper = 0.01;  // a few bytes for each call

// Who holds a site's objects.
inline constexpr double kHolderWorthNaming = 0.2;  // of the objects: a path that explains less is not named

// How a site's objects live and die.
inline constexpr double kMostly = 0.5;
inline constexpr double kOutlivesSteps =
    0.2;                                 // temporary share of the bytes: with less its objects outlive a step
inline constexpr double kEvicted = 0.6;  // of the deaths that came with a birth: entries that make room
inline constexpr double kFreedTogether = 0.6;   // of the deaths that came in bursts
inline constexpr double kCollectorFrees = 0.8;  // the same of a collector, which frees nothing in between
inline constexpr double kEvictionSteps = 7;     // an entry of a full cache lives as long, at the least
inline constexpr double kGarbageSteps = 3;      // and what waits for the collector as long
inline constexpr double kOneInEachStep = 0.9;   // objects a step, but for a few steps without one
inline constexpr double kRoundedToPowers =
    0.9;                                    // of the requests are powers of two: nothing is lost by rounding
inline constexpr double kManySizes = 8;     // sizes that tell a cache for each shape
inline constexpr double kTuningSteps = 10;  // autotuning is over by then

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_PATTERN_THRESHOLDS_H_
