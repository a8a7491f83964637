// The honesty rules: what may stand at the top of a report. They are stated for readers in docs/verdicts.md and
// checked on random mixes by tests/analyzer/verdict/honesty_test.cc. Whoever makes a headline asks here.
//
//   1  All-clear. "Steady", "no retention" and "a leak above X would have been seen" need a run that was long
//      enough and recorded as a whole, in which no undecided site, no unexplained memory and not the process
//      itself grows by more than X. X is the largest of what each of them could hide.
//   2  Ranking. HeadlineRank() is the whole order. "No call site retains it" needs proof.
//   3  Hypotheses. While the headline is undecided, nothing that could explain it is ruled out.
//   4  Causes before symptoms. Where blocks that stay explain the holes of a heap, their line is the headline and
//      fragmentation is how it works.
//
// Pure functions of plain values.
#ifndef PLATEAU_ANALYZER_VERDICT_HONESTY_H_
#define PLATEAU_ANALYZER_VERDICT_HONESTY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/verdict/method/curves/curve_reading.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

// What is known about one site when the process is judged.
struct SiteFinding {
  Verdict verdict;
  double retained_bytes = 0;                // survivors old enough to count
  Estimate growth_bytes_per_step;           // what it keeps lately, whatever its verdict
  Estimate growth_over_run_bytes_per_step;  // the same over all of its mature steps
  double kept_in_steps_bytes = 0;           // all survivors born in the steps, young ones too
  double hole_bytes = 0;  // of the heap's holes: what its blocks hold; 0 where nobody looked
};

// A part of the process that is no site: how it moves, and how much it is now.
struct OverheadFact {
  Growth growth = Growth::kFlat;
  Slope slope;           // over the last two thirds
  double bytes = 0;      // at the end
  double rise = 0;       // from the begin to the end
  double late_gain = 0;  // of the last two thirds, by the slope
  bool known = false;
};

// What is asked beside the sites before a process gets its headline.
struct ProcessFacts {
  int64_t steps = 0;
  double reference_bytes = 0;
  double anonymous_peak_bytes = 0;  // of it without files; the reference where that is not known
  bool counts_steps = true;  // false: parts of bytes or slices of time, on which nothing small is headlined
  OverheadFact gap;          // held by the allocator beyond what was ever live at once
  OverheadFact outside;      // resident beyond what the allocator holds: files, shared memory, drivers
  OverheadFact unexplained;  // of it: anonymous, and explained by nothing
  OverheadFact anonymous;    // resident and anonymous: heap, maps and stacks, whoever explains them
  OverheadFact resident;     // all of it
  bool gap_rises = false;    // the gap grows to the end, though by less than is called fragmentation
  // What was not recorded, one sentence each: "blocks of the trace are missing", "process 17 was not traced".
  std::vector<std::string> not_covered;
};

inline double LowOf(const Estimate& estimate) {
  return estimate.interval ? estimate.interval->low : estimate.value;
}
inline double HighOf(const Estimate& estimate) {
  return estimate.interval ? estimate.interval->high : estimate.value;
}

// Rule 2, the table. Smaller comes first; equals are ordered by their size.
//
//   0  leak, slow_leak, staircase
//   1  unbounded_growth
//   2  inconclusive, about something that grows
//   3  fragmentation, untraced_growth
//   4  inconclusive, about something that does not grow now
//   5  worker_duplication
//   6  warmup_in_progress
//   7  cache_fill, warmup_complete, spike_retained
//   8  spike_recovered
//   9  allocator_retention
//  10  steady
int HeadlineRank(VerdictKind kind, bool grows);
int HeadlineRank(const Verdict& verdict);

// True when an undecided verdict is about something that still grows: its rate is known and above zero.
bool IsUndecidedGrowth(const Verdict& verdict);

// True of what reads as "nothing is wrong": steady, spike_recovered, allocator_retention.
bool IsAllClear(VerdictKind kind);

// The leak that the sites that were decided would have shown: the largest of theirs. 0: none says.
double DetectableAtSites(std::span<const SiteFinding> sites);

// True when a site without an end of its growth in sight deserves the headline. It must surely grow, by more than
// its floor. Growth that was seen in 40 rounds needs no more, as little as a leak does, nor does undecided growth
// that goes on: few records, lost events or a recent end are no reason of it. Where they are, it needs a material
// share of the peak, or more than an all-clear could promise, or a run that is too short for one. By a clock that
// counts no steps only a material share counts.
bool GrowsMaterially(const SiteFinding& site, double detectable_bytes_per_step, const ProcessFacts& facts);

// Rule 1. `instead` is what must be said when an all-clear may not be given.
struct AllClear {
  double detectable_bytes_per_step = 0;  // X
  std::optional<Verdict> instead;
};
AllClear JudgeAllClear(std::span<const SiteFinding> sites, const ProcessFacts& facts);

// The rate at which a site surely grows, lately or, when few were seen lately, over the run; else that of lately.
const Estimate& SurestGrowth(const SiteFinding& site);

// The undecided site that may grow fastest, which an all-clear names.
std::optional<size_t> FastestUndecided(std::span<const SiteFinding> sites);

// Unexplained resident memory that grows by more than `detectable_bytes_per_step`: an undecided headline.
std::optional<Verdict> JudgeUnexplained(const OverheadFact& unexplained, double detectable_bytes_per_step,
                                        double reference_bytes);

// Rule 2: the sum of what all sites keep per step. words/sentence.cc says whether it explains a gap that grows.
double GrowthOfSites(std::span<const SiteFinding> sites);

// Rule 4: the site whose blocks explain why holes stay in the heap, if there is one. Sites of which nothing says that
// they have stopped must have most of what was born in the steps and is kept; of them it is the one whose blocks hold
// the largest holes, or, where nobody looked at the heap's pages, that keeps most.
std::optional<size_t> WhoPinsTheHeap(std::span<const SiteFinding> sites);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_HONESTY_H_
