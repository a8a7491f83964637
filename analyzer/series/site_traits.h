// What is known about a site beside its series: totals, the sizes it asks for, how its blocks replace one
// another, and in which phase of a step its survivors were born. Patterns and hypotheses are matched on
// these.
//
// A plain value; shares are between 0 and 1.
#ifndef PLATEAU_ANALYZER_SERIES_SITE_TRAITS_H_
#define PLATEAU_ANALYZER_SERIES_SITE_TRAITS_H_

#include <array>
#include <cstddef>

namespace plateau::series {

// What a training program was doing when bytes were born.
enum class BirthPhase { kStartup, kFetch, kForward, kBackward, kOptimizer, kEvaluation, kCheckpoint, kOther };
inline constexpr size_t kBirthPhases = static_cast<size_t>(BirthPhase::kOther) + 1;
const char* BirthPhaseName(BirthPhase phase);  // "start-up", "data loading", ...

struct SiteTraits {
  double alloc_bytes = 0;
  double alloc_count = 0;
  double retained_bytes = 0;
  double retained_count = 0;
  double peak_bytes = 0;
  double temporary_bytes = 0;     // freed in the step they were born in
  double distinct_sizes = 0;      // estimated number of different request sizes
  double new_size_share = 0;      // of the bytes: the first request of its size
  double power_of_two_share = 0;  // of the requests
  double eviction_share =
      0;  // of the requests since old blocks began to die: came with the death of an old one
  double burst_free_share = 0;   // of the freed bytes: freed in the busiest twentieth of the steps
  double sampling_variance = 0;  // of retained_bytes
  std::array<double, kBirthPhases> retained_by_phase{};  // bytes; all zero when phases are unknown

  // Share of the retained bytes born in `phase`, 0 when unknown.
  double PhaseShare(BirthPhase phase) const {
    double sum = 0;
    for (double bytes : retained_by_phase) sum += bytes;
    return sum > 0 ? retained_by_phase[static_cast<size_t>(phase)] / sum : 0;
  }
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_SITE_TRAITS_H_
