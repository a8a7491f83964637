// The constants of the method, all of them, each with its reason; known patterns have pattern_thresholds.h.
// docs/verdicts.md explains the main ones. Change one only together with a run of all vectors.
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

inline constexpr double kMinMatureSteps = 6;  // steps that must be old enough at any horizon
inline constexpr double kWantedDeaths = 12;  // of old objects, pooled until their hazard is known to 30 % ...
inline constexpr double kMinDeaths = 5;      // ... and with fewer it is not known at all
inline constexpr double kLevelError = 0.08;  // a level from Little's law or a decay is not known better
inline constexpr double kLeastHazardShare = 0.15;  // keeps the upper bound of a lifetime finite
inline constexpr double kNowShare = 0.1;           // the last tenth of a run is "now"
inline constexpr double kReachedShare = 0.85;      // of the expected level: it is reached ...
inline constexpr double kLevelThirds = 1.15;    // ... when the last third is not above the middle one by more
inline constexpr double kUsefulInterval = 3.5;  // an expected level is told when its bounds differ by less

// Nothing is retained: is the level really level?
inline constexpr double kEarlyShare = 0.6;         // the highest level of this first part ...
inline constexpr double kLateBegin = 0.85;         // ... is compared with the part from here on ...
inline constexpr double kShortLivedShare = 0.125;  // ... with its lowest level where objects die soon
inline constexpr double kNewHigh = 1.1;            // a new high is above the old one by this factor
inline constexpr double kNewHighLongLived = 1.3;   // the same of objects that live long: their level wanders
inline constexpr double kNewHighCoarse = 0.25;     // more, where a bucket is several steps
inline constexpr int kEdgeSteps = 2;       // around the end of an epoch, where what it piled up is freed
inline constexpr double kSeenObjects = 5;  // objects that a leak would have left before it is sure to be seen

// Containers that grow by a factor.
inline constexpr int kContainerSteps = 20;          // shorter runs show no three jumps
inline constexpr double kLeastGrowthFactor = 1.15;  // between two jumps, of the level and of the distance ...
inline constexpr double kMostStepFactor = 3.2;      // ... up to doubling with some room for a changing pace
inline constexpr double kMostLevelFactor = 3.0;
inline constexpr int kMedianFromSteps = 4;      // levels between jumps farther apart are medians
inline constexpr int kYoungSteps = 8;           // births of the last steps prove nothing yet
inline constexpr double kOldBlockShare = 0.35;  // of the level: what a jump must free, the old block
inline constexpr double kContainerJump = 0.18;  // of the level: less is no jump of a container ...
inline constexpr int kContainerJumps = 3;       // ... and fewer jumps show no factor
inline constexpr double kOverdueJump = 1.5;     // the next jump is overdue: it is no container

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
inline constexpr double kDecayRest = 0.02;   // of all: a decay that leaves less to come has ended
inline constexpr double kLeastDecayDivisor = 0.9;  // decay constants tried: from 1.1 windows ...
inline constexpr double kMostTauDivisor = 40.0;    // ... to a fortieth of one
inline constexpr int kDecayConstants = 36;     // in so many steps, each a tenth shorter than the one before
inline constexpr double kShortestPart = 0.1;   // of the window: parts of a broken shape are no shorter
inline constexpr double kMostDecayedTaus = 3;  // after three decay constants 95 % are over
// Power laws that are tried, c (k + offset)^-alpha. Several caches that fill side by side fall like one with an offset of
// dozens of steps, and a decay with a constant below it would explain that better than a law whose offset is wrong.
inline constexpr double kPowerOffsets[] = {0.0, 3.0, 10.0, 20.0, 40.0, 80.0, 160.0};
inline constexpr double kPowers[] = {0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0, 3.0};
inline constexpr double kLeastFall = 1.5;  // a power law that falls by less over the window is a constant
inline constexpr double kLeastEffectiveBuckets = 5.0;  // whatever the correlation of residuals
inline constexpr double kWeightFloor = 0.05;           // of the highest rate, in the variance of a bucket
inline constexpr double kFasterBefore = 1.5;           // before the end of the pass: a fill beside the leak
inline constexpr double kLateOnset = 0.15;  // of the window: what begins later is no first-pass fill
inline constexpr double kOnsetMissed =
    7;  // events missing before a late onset: by chance in one of a thousand
inline constexpr double kForecastErrors = 2.2;  // standard errors, 95 % with few batches

// First pass over the data.
inline constexpr int kPostPassSteps = 5;
inline constexpr double kPostPassShare = 0.04;
inline constexpr double kEpochTolerance = 0.05;
inline constexpr double kEpochToleranceSteps = 3.0;
inline constexpr double kLoaderLeadSteps = 4;  // loaders run ahead of the step counter
inline constexpr double kBeyondPass = 1.2;     // passes: enough of the second is seen
inline constexpr double kAlmostAll = 0.985;    // of the bytes: the step of the last of them ends the growth
inline constexpr double kLeastQuarter = 0.45;  // of the mean: quarters of an even pass, in bytes ...
inline constexpr double kLeastLastQuarter = 0.35;  // ... of which the last may be cut short ...
inline constexpr double kMostQuarter = 2.2;
inline constexpr double kLeastQuarterObjects = 0.5;  // ... and in objects, whose number varies less
inline constexpr double kMostQuarterObjects = 1.9;
inline constexpr double kCentreTolerance =
    0.06;                                        // of the pass: the mean birth step is so near its middle ...
inline constexpr double kCentreErrors = 2.5;     // ... or within so many errors of a uniform ...
inline constexpr double kUniformVariance = 12;   // ... distribution, whose variance is a twelfth
inline constexpr double kRetainingSteps = 0.35;  // of the steps of a pass retain, at least
inline constexpr double kExampleError = 0.05;    // of the sum: bytes follow the count of examples
inline constexpr double kAllSeen = 0.98;         // of the examples
inline constexpr double kAbruptShare = 0.4;  // the rate before an abrupt end and the early one differ less

// Events.
inline constexpr double kEventShare = 0.8;       // of the retained bytes born at events
inline constexpr double kEventCover = 0.34;      // share of the steps that events may cover
inline constexpr double kEventExcess = 2.5;      // events keep so much more than their share of the steps
inline constexpr double kMinEpochSteps = 8;      // shorter epochs are no events
inline constexpr double kKeepingShare = 0.1;     // of the most that an event kept: this one keeps too
inline constexpr int kMinStairs = 3;             // events that keep: the first is often a one-off
inline constexpr double kYoungEventShare = 0.3;  // of the usual stair: a young event holds one as well
inline constexpr double kRetainingShare = 0.6;   // of the events of a staircase keep
inline constexpr double kLaterStairs = 0.45;     // of the earlier stairs: what later ones keep at least
inline constexpr double kUnmarkedCover = 0.12;   // of the steps, jumps that nobody marked
inline constexpr size_t kMinJumps = 4;           // of them, at distances of ...
inline constexpr double kMinJumpGap = 5;         // ... so many steps at least, which vary ...
inline constexpr double kJumpSpread = 0.2;       // ... by so much at most
inline constexpr double kOverdueGaps = 1.8;      // without a jump: it has ended
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
inline constexpr double kCurveGrowth = 0.03;       // less is within what allocators do on their own
inline constexpr double kSeenErrors = 5;           // errors of the slope that a growth would have shown
inline constexpr double kSeenGrowth = 1.9;         // times the growth that allocators make
inline constexpr double kPassMargin = 1.08;        // passes: the end of the first one lies behind
inline constexpr double kLatestBegin = 0.65;       // of the span: tails begin no later
inline constexpr size_t kShapesRead = 5;           // best shapes whose readings are compared
inline constexpr double kTailSamples = 5;          // distances between samples that a tail is long at least
inline constexpr double kRecentShare = 0.35;       // of the span is recent ...
inline constexpr double kRecentRate = 0.4;         // ... and has this share of a growth's rate at least
inline constexpr double kKneeTolerances = 2.5;     // a knee farther from the epoch than these is another one
inline constexpr double kMostAtEvents = 0.4;       // of the samples: more are not cut out
inline constexpr size_t kMinForGlitches = 9;       // samples, before a single one may be called a glitch
inline constexpr double kMadToDeviation = 1.4826;  // median absolute deviation of a normal distribution
inline constexpr double kGlitchFloor = 1e-4;       // of the level, noise that every curve has
inline constexpr double kGlitchScales = 8;         // deviations from the neighbours' median
inline constexpr double kLeastKept = 0.85;     // of the samples: else what looked like glitches is the curve
inline constexpr double kFlatNoise = 0.01;     // of the level: no rise
inline constexpr double kLeastRise = 0.02;     // of the level: a rise that has stopped
inline constexpr double kNoiseErrors = 3;      // standard deviations of the residuals
inline constexpr size_t kMinBeforeKnee = 6;    // samples that a slope before the knee needs
inline constexpr double kGrewBefore = 0.25;    // of the slope after a kink: it grew before, too
inline constexpr double kFlatOfRise = 0.1;     // of the slope before a knee: flat behind it
inline constexpr double kProfileDrop = 5.0;    // of twice the log likelihood, 95 % with two parameters
inline constexpr double kLevelNoise = 0.003;   // of the level, in an expected plateau
inline constexpr double kSettledTaus = 5;      // decay constants after which nothing is left of a decay
inline constexpr double kRestOfLevel = 0.005;  // of the level: nothing more will come
inline constexpr double kStairFloors = 5;      // floors that one stair is high
inline constexpr size_t kManySamples = 80;     // from here on knees are looked for on a grid ...
inline constexpr int kKneeGrid = 90;           // ... of so many steps
inline constexpr size_t kMinSegment = 3;       // samples on each side of a knee
inline constexpr double kLeastTauDivisor = 0.5;  // saturations tried: from two spans ...
inline constexpr int kTauGrid = 48;              // ... to a fortieth, in so many steps
inline constexpr double kLogOffsets[] = {1.0, 3.0, 10.0, 30.0};
inline constexpr int kFewestLevels = 3;  // of a curve that is constant in parts
inline constexpr int kMostLevels = 6;
inline constexpr int kSamplesPerLevel = 6;
inline constexpr double kLeastEffective = 6.0;  // samples, whatever their correlation
inline constexpr double kFitNoise = 3e-4;       // of the level: residuals below it are equal
inline constexpr double kChiSquare95 = 3.84;    // one degree of freedom

// Whole process.
inline constexpr double kProcessMaterial = 0.02;  // a component below 2 % of the peak is not headlined
inline constexpr double kOwnHeapShare =
    0.3;  // a worker whose own heap makes more of its growth copies nothing
inline constexpr size_t kMinOverheadSamples = 4;  // of the ledger, before a trend of it is told
inline constexpr size_t kMinRiseSamples = 12;  // of the ledger, before a slow rise of the process is believed
inline constexpr double kStillGrowingShare =
    0.3;                                      // of its rate: what the last third of a growth has at least
inline constexpr double kSilentGrowth = 0.1;  // of its rate: a growth that has less in the end has ended
inline constexpr double kSlackShare = 0.08;   // held and not live, of the reference: worth a sentence ...
inline constexpr double kSlackRise = 1.5;     // ... when it has risen by half
inline constexpr double kWorthNamingBytes = 64
                                            << 10;  // less kept in all is not mentioned beside an all-clear
inline constexpr double kResidentLeads =
    1.1;  // resident growth this much above the traced one makes the forecast

inline constexpr size_t kMinCountSamples =
    9;                                   // of the ledger, three for each third, before a count has a trend
inline constexpr double kPileRise = 12;  // threads, open files: pools are smaller, or filled once ...
inline constexpr double kPileRiseMappings = 100;  // allocators and loaded libraries have dozens of them ...
inline constexpr double kPileLastThird =
    0.5;  // ... so that the last third of the run has not this share of the rate
inline constexpr double kLikePredecessor =
    0.8;  // of what a worker keeps: with so much the one before it ended, and the system has it back
inline constexpr double kLargeProcess = 0.1;   // of the largest process: it may have the headline
inline constexpr double kLivedToTheEnd = 0.9;  // of the recording's time ...
inline constexpr double kLivedLong = 0.5;  // ... of which a process that has ended before counts with so much

inline constexpr double kSureShare = 0.1;  // of the rate: the lower bound of growth outside the allocator

// Pages of what was reserved at once, filled in a straight line.
inline constexpr double kStraightSteps = 40;   // as for an all-clear
inline constexpr double kStraightShare = 0.8;  // of the mean rate: what it grows by lately

// Containers, as walks over the living objects found them.
inline constexpr double kSpeaksForShare =
    0.5;  // of a site's objects: a container that holds as many speaks for it
inline constexpr double kEndsGrowthShare = 0.8;  // the same before it may say that a growth ends
inline constexpr double kItemSizeSpread = 0.25;  // bytes per item at two looks, relative to the larger
inline constexpr double kHeldStandsStill = 0.1;  // growth of what is live since a look, of what was live then
inline constexpr double kAsManyAsExamples = 0.005;  // items and examples of the data set: as many
inline constexpr size_t kLongerLooks = 3;           // at each of which it was longer ...
inline constexpr double kItemsBetweenLooks = 2;     // ... by this, as one item may be in flight
inline constexpr double kLateLook = 0.4;            // of the run: the last look is not earlier
inline constexpr double kStillHeld = 0.95;          // of what was live then

// Honesty rules.
inline constexpr int kAllClearSteps = 40;  // fewer show no growth that a cache or a warm-up could not make
inline constexpr double kExplainedShare = 0.1;  // of a gap's growth: less, and the sites do not explain it
inline constexpr double kUnexplainedMaterial = 0.01;  // rise of unexplained memory, of the reference
inline constexpr double kPinningShare = 0.5;  // of what stays of the steps: a site with more pins the heap

// Growth without a known pass over data.
inline constexpr double kLevelRise =
    0.3;  // of the rate of what stays: a level that surely rises by less is reached
inline constexpr int kUnboundedRounds = 40;          // rounds seen ...
inline constexpr double kUnboundedBirths = 30;       // ... and objects that stay, before it is called
inline constexpr double kUnboundedStairs = 12;       // jumps at equal distances, each of them seen
inline constexpr double kUnboundedMaterial = 0.005;  // of the reference, by a clock that counts no steps
inline constexpr double kHolesSeconds = 10;    // of work, before holes of the heap are growth by such a clock
inline constexpr double kLooplessSeconds = 1;  // of work without a loop, before any growth is
inline constexpr double kUnboundedLastThird = 0.8;  // the last third keeps this share of the first at least
inline constexpr size_t kOneOffRounds = 50;         // in the first of so many parts of the rounds ...
inline constexpr double kOneOffTimes = 10;          // ... so many times what is usual is kept once
inline constexpr double kReplacedFalls = 0.1;  // steps in which the level of a replaced object falls, at most
inline constexpr double kReplacedThird =
    0.45;  // of an even rise: what each third of the run rises by at least
inline constexpr double kReplacedShare = 0.5;  // of its level: what such an object grew by in the steps
inline constexpr double kNoHitDivisor = 6;     // n draws without a hit: more than n^2 / 6 entries, at 95 %
inline constexpr double kMostCacheEntries = 1e15;  // where the search for the size of a cache gives up
inline constexpr int kBisections = 60;             // halvings that bring it to the last digit

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_
