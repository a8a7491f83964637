// The constants of the method, in one place. docs/verdicts.md gives the reason for each; change one only
// together with a run of all vectors.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_

#include <cstddef>

namespace plateau::verdict {

// Evidence needed.
inline constexpr int kMinSteps = 10;            // below this nothing is decided
inline constexpr double kStrongBic = 6.0;       // "strong" on the scale of Kass and Raftery
inline constexpr double kNoTailBic = 12.0;      // when the tail of a decay is not visible yet
inline constexpr double kRunLengthsAhead = 10;  // horizon when the planned length is unknown
inline constexpr double kMaterialShare = 0.01;  // growth that matters: 1 % of the reference over the horizon
inline constexpr double kSlowLeakShare = 2e-4;  // slow_leak below 0.02 % of the reference per step

// Lifetimes.
inline constexpr double kOldDeathShare = 0.05;  // old deaths among old deaths and old survivors
inline constexpr double kMinMatureShare = 0.10;
inline constexpr double kFilledShare = 0.9;  // of its level: a site of long-lived objects has filled up ...
inline constexpr double kFillTakesShare =
    0.1;  // ... and that is worth telling when it took so much of the run
inline constexpr double kStaysFilledShare = 0.75;  // it has not fallen below this share of its level since

// Retention-rate models.
inline constexpr int kRateBuckets = 40;
inline constexpr int kRateBatches = 12;  // batch means behind the interval of a rate
inline constexpr double kSilentTailShare =
    0.15;                                   // "stopped" needs an empty tail of this share of the window ...
inline constexpr double kSilentGaps = 5.0;  // ... and of this many mean inter-event gaps
inline constexpr int kFewEvents = 8;        // with fewer retention events no shape is fitted
// A few sampled records have stopped when so early a last one would be as rare as this, had they gone on.
inline constexpr double kEarlyEndChance = 0.05;
inline constexpr double kSampledDeviation = 0.3;  // of its bytes: a step with more was mostly sampled
inline constexpr int kMinWindow = 5;              // steps old enough, before a shape is asked for
inline constexpr int kRecentEvents = 12;          // the spacing of so many last events is the recent one
inline constexpr int kLoneEventSilence = 10;      // steps of silence that say something after a single event
inline constexpr double kFewSilentShare = 0.3;    // of the window, for a handful of one-offs
inline constexpr double kLongSilentGaps = 8.0;    // silence that needs no shape to agree with it
inline constexpr double kLiveTailGaps = 4.6;      // P(longer silence) < 1 % at the recent rate
inline constexpr size_t kMinRateBuckets = 10;     // fewer cannot tell a decay from a step
inline constexpr double kFitFloor = 0.03;         // of the mean rate: fits that differ by less are equal
inline constexpr double kTiny = 1e-9;             // keeps a quotient finite
inline constexpr double kSameStory = 0.12;        // largest distance of the curves of bytes and of objects
inline constexpr double kFadedShare = 0.002;      // of the highest rate: a decay that ends below it has ended
inline constexpr double kCleanTailTaus = 4;       // decay constants after which a tail is clean ...
inline constexpr double kCleanTailShare = 0.75;   // ... when they fit into this share of the window
inline constexpr int kMinRetaining = 4;           // retaining steps behind a rate
inline constexpr double kWeakBic = 2;             // "positive" on the scale of Kass and Raftery
inline constexpr double kLaplace95 = -1.64;  // one-sided 95 % and 90 % of the normal distribution: arrivals
inline constexpr double kLaplace90 = -1.28;  // that get rarer lie below

// First pass over the data.
inline constexpr int kPostPassSteps = 5;
inline constexpr double kPostPassShare = 0.04;
inline constexpr double kEpochTolerance = 0.05;
inline constexpr double kEpochToleranceSteps = 3.0;
inline constexpr double kLoaderLeadSteps = 4;  // loaders run ahead of the step counter

// Events.
inline constexpr double kEventShare = 0.8;   // of the retained bytes born at events
inline constexpr double kEventCover = 0.34;  // share of the steps that events may cover
inline constexpr size_t kStairsBesideOneOff =
    3;                                          // events that keep alike, beside one that keeps far more ...
inline constexpr double kOneOffFactor = 3;      // ... by this factor at least: it left a one-off ...
inline constexpr double kStairOfOneOff = 0.05;  // ... and the others more than a crumb of it ...
inline constexpr double kEvenStairs = 0.8;      // ... of which so many keep, the later as much as the earlier

// Lost events.
inline constexpr double kLossMultiple = 3.0;

// One memory curve.
inline constexpr int kMinSamples = 8;
inline constexpr int kCurveBins = 160;
inline constexpr double kFlatShare = 0.05;  // "steady" must exclude growth of 5 % of the level per run length
inline constexpr double kCurveTail = 0.15;
inline constexpr double kCurveGrowth = 0.03;  // less is within what allocators do on their own

// Whole process.
inline constexpr double kProcessMaterial = 0.02;  // a component below 2 % of the peak is not headlined
inline constexpr double kOwnHeapShare =
    0.3;  // a worker whose own heap makes more of its growth copies nothing
inline constexpr size_t kMinOverheadSamples = 4;  // of the ledger, before a trend of it is told
inline constexpr double kStillGrowingShare =
    0.3;                                     // of its rate: what the last third of a growth has at least
inline constexpr double kSlackShare = 0.08;  // held and not live, of the reference: worth a sentence ...
inline constexpr double kSlackRise = 1.5;    // ... when it has risen by half
inline constexpr double kWorthNamingBytes = 64
                                            << 10;  // less kept in all is not mentioned beside an all-clear
inline constexpr double kResidentLeads =
    1.1;  // resident growth this much above the traced one makes the forecast

// Honesty rules.
inline constexpr int kAllClearSteps = 40;  // fewer show no growth that a cache or a warm-up could not make
inline constexpr double kExplainedShare = 0.1;  // of a gap's growth: less, and the sites do not explain it
inline constexpr double kUnexplainedMaterial = 0.01;  // rise of unexplained memory, of the reference
inline constexpr double kPinningShare = 0.5;  // of what stays of the steps: a site with more pins the heap

// Growth without a known pass over data.
inline constexpr int kUnboundedRounds = 40;         // rounds seen ...
inline constexpr double kUnboundedBirths = 30;      // ... and objects that stay, before it is called
inline constexpr double kUnboundedLastThird = 0.8;  // the last third keeps this share of the first at least
inline constexpr double kNoHitDivisor = 6;  // n draws without a hit: more than n^2 / 6 entries, at 95 %
inline constexpr double kMostCacheEntries = 1e15;  // where the search for the size of a cache gives up
inline constexpr int kBisections = 60;             // halvings that bring it to the last digit

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_
