// What Plateau says about a call site, a pool or a process, and the numbers that made it say so.
//
// Every verdict carries its evidence: a rate or a level with an interval, the smallest leak this run could
// have shown, and for `inconclusive` the reason and how many more steps would decide it. docs/verdicts.md has
// the rule behind each name.
//
// Plain values. Bytes are doubles because they are estimates; steps are counted from 1.
#ifndef PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_H_
#define PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/interval.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::verdict {

// Why a verdict is inconclusive. The names are fixed; `why` in Verdict has the sentence.
enum class Reason {
  kNone,
  kFirstPass,           // first_pass: a leak and a first-pass fill look the same until the pass ends
  kEpochUnknown,        // epoch_unknown: the same, and nobody said where the pass ends
  kTooShort,            // too_short
  kRecentStop,          // recent_stop: growth seems to have ended, but not long enough ago
  kTwoEvents,           // two_events: one more evaluation decides
  kShapesNotSeparable,  // shapes_not_separable: two shapes explain the data equally well
  kNothingOldEnough,    // nothing_old_enough: lifetimes are as long as the run
  kFewSamples,          // few_samples
  kLossLimited,         // loss_limited: explained by lost events
  kNoSteps,             // no_steps: no training step was seen, there is nothing to compare
  kUnexplainedGrowth,   // unexplained_growth: resident memory grows that no site, pool or file explains
  kNotCovered,          // not_covered: a part of the run was not recorded, and nothing grew in the rest
  kContainerGrows,      // container_grows: a container that holds it was longer at every look, to the last
  kWaitsForCollector,   // waits_for_collector: most of it is garbage in cycles that will be collected
};
std::string_view ReasonName(Reason reason);

// What will happen to the memory limit, which is often decidable when the mechanism is not.
enum class Outcome { kUnknown, kOomEitherWay, kOomOnlyIfLeak, kOomPossibleEitherWay, kSafeInThisRun };
std::string_view OutcomeName(Outcome outcome);

// A value with its 95 % interval, when the data gives one.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};

// What happens under each explanation of a growth that cannot be told apart yet. Steps are absolute, bytes
// totals.
struct Forecast {
  struct IfCache {
    double ends_at_step = 0;
    double plateau_bytes = 0;
    Interval plateau_interval;
  };
  struct IfLeak {
    std::optional<double> oom_step;
    std::optional<double> earliest_step;
    std::optional<double> latest_step;
  };
  std::optional<IfCache> if_cache;
  std::optional<IfLeak> if_leak;
  std::optional<double> dataset_factor_that_fits;  // data sets this many times as large would reach the limit
  Outcome outcome = Outcome::kUnknown;

  bool empty() const { return !if_cache && !if_leak; }
};

// One shape that was fitted, and how much worse than the best it explains the data (0 = best).
struct ModelScore {
  std::string name;
  double delta_bic = 0;
};

struct Evidence {
  double floor_bytes_per_step = 0;  // growth below this is not a finding
  std::optional<double> maturity_steps;
  std::optional<double> mature_steps;
  std::optional<double> retained_bytes;
  std::optional<double> objects_per_step;
  std::optional<double> per_example_bytes;
  std::optional<double> objects_per_example;
  std::optional<double> examples_that_fit;
  std::optional<double> double_data_bytes;  // what twice the data would need, of a cache fill
  std::optional<double> entries;            // objects that stay: what a cache would hold at least
  std::optional<double> replaced_bytes;     // size by now of an object that larger ones replace
  std::optional<double> cache_entries;      // size of a cache of random draws, from its hits
  std::optional<Interval> cache_entries_interval;
  std::optional<double> remaining_bytes;
  std::optional<double> fill_bytes_per_step;
  std::optional<double> rise_bytes;
  std::optional<double> spike_bytes;
  std::optional<double> per_event_bytes;
  std::optional<double> period_steps;
  std::optional<double> cycle_amplitude_bytes;
  std::optional<double> mean_life_steps;
  std::optional<double> live_bytes;
  std::optional<double> next_jump_step;
  std::optional<double> next_jump_bytes;
  std::optional<double> level_bytes;
  std::optional<double> noise_bytes;
  std::optional<double> slack_bytes;
  std::optional<double> sites_growth_bytes_per_step;     // of all sites together
  std::optional<double> resident_growth_bytes_per_step;  // of the process, when a forecast is made from it
  std::optional<double> reserved_bytes;                  // the size of what is being filled, allocated before
  std::optional<double> worker_private_growth_bytes;
  std::optional<double> worker_heap_growth_bytes;
  std::optional<double> worker_bound_bytes;
  std::optional<double> effective_samples;
  std::optional<double> silent_steps;  // since the last retained birth
  // Of growth to the end by a clock that counts no steps.
  std::optional<double> rate_bytes_per_second;
  std::optional<double> rate_bytes_per_gib;  // for each GiB that was allocated
  std::optional<double> seconds_to_limit;
  std::optional<int> event_count;
  std::optional<int> events_retaining;
  std::string event;           // "eval", "checkpoint", "epoch", "periodic (unmarked)"
  std::string untraced_kind;   // "file", "shared" or "anonymous", of growth outside the allocator
  std::string component;       // what else grew before
  std::string copied_site;     // whose pages workers copied most
  std::string largest_kept;    // of an all-clear: the site that keeps most of what stayed, with its verdict
  std::string undecided_site;  // of an all-clear: the undecided site that may grow fastest, and by how much
  std::optional<double> undecided_bytes_per_step;
  std::optional<double> copied_site_bytes;
  std::string held_by;                    // the container that keeps most of it, with its length
  std::optional<double> container_items;  // of it, at the last look
  std::optional<double> container_bound;  // how many it can hold
  std::optional<double> container_items_per_step;
  std::optional<double> garbage_share;  // that waited for the collector at the last look
  bool is_collector_off = false;
  std::optional<bool> fill_like;        // linear and abrupt, though no epoch length is known
  std::optional<bool> complete;         // a cache fill that has seen all of the data
  bool loss_limited = false;            // survivors are explained by lost free events
  bool is_by_caller = false;            // of a library's allocator: the site calls it while it grows
  bool from_log_only = false;           // judged from one memory curve, no call sites
  std::vector<ModelScore> models;       // best first
  std::vector<ModelScore> post_models;  // the same, on births after the first pass
};

struct Verdict {
  VerdictKind kind = VerdictKind::kInconclusive;
  Reason reason = Reason::kNone;
  std::string why;       // what decided, in a few words
  std::string sentence;  // what to show to a person; filled by Explain() in words/sentence.h

  std::optional<Estimate> rate_bytes_per_step;
  std::optional<Estimate> plateau_bytes;
  std::optional<Estimate> knee_step;
  std::optional<double> onset_step;
  std::optional<double> by_step;                    // growth had ended by this step
  std::optional<double> detectable_bytes_per_step;  // the smallest leak this run would have shown
  std::optional<double> needs_steps;                // more steps that would decide an inconclusive
  std::optional<double> needs_events;
  std::optional<double> needs_samples;
  Forecast forecast;
  Evidence evidence;
};

// The same verdict measured in steps, for one reached on buckets of `width` steps.
Verdict FromBuckets(Verdict verdict, double width);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_VOCABULARY_VERDICT_H_
