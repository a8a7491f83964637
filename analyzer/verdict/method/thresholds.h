// The constants of the method, in one place. docs/verdicts.md gives the reason for each; change one only
// together with a run of all vectors.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_

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

// Retention-rate models.
inline constexpr int kRateBuckets = 40;
inline constexpr double kSilentTailShare =
    0.15;                                   // "stopped" needs an empty tail of this share of the window ...
inline constexpr double kSilentGaps = 5.0;  // ... and of this many mean inter-event gaps
inline constexpr int kFewEvents = 8;        // with fewer retention events no shape is fitted

// First pass over the data.
inline constexpr int kPostPassSteps = 5;
inline constexpr double kPostPassShare = 0.04;
inline constexpr double kEpochTolerance = 0.05;
inline constexpr double kEpochToleranceSteps = 3.0;
inline constexpr double kLoaderLeadSteps = 4;  // loaders run ahead of the step counter

// Events.
inline constexpr double kEventShare = 0.8;   // of the retained bytes born at events
inline constexpr double kEventCover = 0.34;  // share of the steps that events may cover

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

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_THRESHOLDS_H_
