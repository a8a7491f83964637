#include "analyzer/series/clock/step_finder.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plateau::series {
namespace {

// True while an optimizer step runs: its closure may call zero_grad and backward as often as it likes.
bool IsInOptimizerStep(const LoopEvents& events, uint64_t time) {
  const size_t begun =
      CountBefore(events.optimizer_steps, time, [](const OptimizerEvent& step) { return step.begin; });
  return begun > 0 && time < events.optimizer_steps[begun - 1].end;
}

bool AnyIn(const std::vector<uint64_t>& times, uint64_t from, uint64_t to) {
  const auto first = std::lower_bound(times.begin(), times.end(), from);
  return first != times.end() && *first < to;
}

// Optimizer steps that act on one set of gradients.
struct Group {
  uint64_t begin;
  uint64_t end;
  uint64_t identity;  // of the optimizers in it: classes and lines
  uint32_t optimizer_steps;
};

uint64_t Mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); }

uint64_t IdentityOf(const OptimizerEvent& step) { return Mix(Mix(1, step.name), step.site); }

std::vector<Group> GroupByGradients(const LoopEvents& events, const DataPasses& passes) {
  std::vector<Group> groups;
  for (const OptimizerEvent& step : events.optimizer_steps) {
    bool is_new = groups.empty();
    if (!is_new) {
      const Group& last = groups.back();
      if (!events.backwards.empty()) {
        is_new = AnyBeginsIn(events.backwards, last.end, step.end);
      } else {
        // Backward passes are not seen: a fetch, a zero_grad or the same optimizer again is a new step.
        is_new = AnyIn(passes.used_fetch_ends, last.end, step.end) ||
                 AnyIn(events.zero_grads, last.end, step.end) || last.identity == IdentityOf(step);
      }
    }
    if (is_new) {
      groups.push_back({step.begin, step.end, IdentityOf(step), 1});
    } else {
      Group& last = groups.back();
      last.end = step.end;
      last.identity = Mix(last.identity, IdentityOf(step));
      ++last.optimizer_steps;
    }
  }
  return groups;
}

// Groups that belong to one iteration of the loop although each had its own backward pass.
class Alternation {
 public:
  Alternation(const std::vector<Group>& groups, const LoopEvents& events, const DataPasses& passes)
      : groups_(groups), passes_(passes) {
    are_sites_known_ = std::any_of(events.optimizer_steps.begin(), events.optimizer_steps.end(),
                                   [](const OptimizerEvent& step) { return step.site != 0; });
    size_t in_fetch = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
      ++counts_[groups[i].identity];
      if (i == 0) continue;
      if (HasFetchBetween(i)) {
        ++per_fetch_[in_fetch];
        in_fetch = 1;
      } else {
        ++in_fetch;
        ++turns_[{groups[i - 1].identity, groups[i].identity}];
      }
    }
    ++per_fetch_[in_fetch];
  }

  // True if group i goes on with the iteration that began with group `first`.
  bool Continues(size_t first, size_t i) const {
    if (HasFetchBetween(i)) return false;
    if (UsesFetchesOnly()) return UsualPerFetch() <= 3 && i - first < UsualPerFetch();
    for (size_t k = first; k < i; ++k) {
      if (groups_[k].identity == groups_[i].identity) return false;
    }
    const auto turn = turns_.find({groups_[i - 1].identity, groups_[i].identity});
    const size_t usual = std::min(counts_.at(groups_[i - 1].identity), counts_.at(groups_[i].identity));
    return turn != turns_.end() && turn->second * 2 >= usual && (turn->second > 1 || groups_.size() <= 3);
  }

 private:
  bool HasFetchBetween(size_t i) const {
    return AnyIn(passes_.used_fetch_ends, groups_[i - 1].end, groups_[i].begin);
  }

  // Without lines, optimizers of one class cannot be told apart; the loader's batches then delimit the
  // iterations.
  bool UsesFetchesOnly() const {
    return !are_sites_known_ && counts_.size() == 1 && !passes_.used_fetch_ends.empty();
  }

  size_t UsualPerFetch() const {
    size_t usual = 1;
    size_t most = 0;
    for (const auto& [groups, count] : per_fetch_) {
      if (count > most) {
        most = count;
        usual = groups;
      }
    }
    return usual;
  }

  const std::vector<Group>& groups_;
  const DataPasses& passes_;
  bool are_sites_known_ = false;
  std::map<uint64_t, size_t> counts_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> turns_;
  std::map<size_t, size_t> per_fetch_;  // how many groups one fetch feeds -> how often
};

// Ends of steps whose gradients were dropped: zero_grad between two backward passes with no optimizer step
// between them, and a new batch too where batches are seen. If this is the rule rather than the exception, it
// is how the loop is written.
std::vector<StepEnd> SkippedSteps(const LoopEvents& events, const DataPasses& passes, size_t steps) {
  std::vector<StepEnd> skipped;
  for (size_t i = 0; i + 1 < events.backwards.size(); ++i) {
    const uint64_t from = events.backwards[i].end;
    const uint64_t to = events.backwards[i + 1].begin;
    const auto zero = std::lower_bound(events.zero_grads.begin(), events.zero_grads.end(), from);
    if (zero == events.zero_grads.end() || *zero >= to) continue;
    if (AnyBeginsIn(events.optimizer_steps, from, to) || IsInOptimizerStep(events, *zero)) continue;
    uint64_t end = *zero;
    if (!passes.used_fetch_begins.empty()) {
      const auto fetch =
          std::lower_bound(passes.used_fetch_begins.begin(), passes.used_fetch_begins.end(), from);
      if (fetch == passes.used_fetch_begins.end() || *fetch >= to) continue;
      end = std::min(end, *fetch);
    }
    skipped.push_back({end, 0, true});
  }
  if (skipped.size() * 2 > steps) skipped.clear();
  return skipped;
}

}  // namespace

std::vector<StepEnd> StepsOfOptimizers(const LoopEvents& events, const DataPasses& passes) {
  const std::vector<Group> groups = GroupByGradients(events, passes);
  std::vector<StepEnd> steps;
  if (groups.empty()) return steps;
  const Alternation alternation(groups, events, passes);
  size_t first = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0 && alternation.Continues(first, i)) {
      steps.back().time = groups[i].end;
      steps.back().optimizer_steps += groups[i].optimizer_steps;
    } else {
      first = i;
      steps.push_back({groups[i].end, groups[i].optimizer_steps, false});
    }
  }
  const std::vector<StepEnd> skipped = SkippedSteps(events, passes, steps.size());
  steps.insert(steps.end(), skipped.begin(), skipped.end());
  std::sort(steps.begin(), steps.end(), [](const StepEnd& a, const StepEnd& b) { return a.time < b.time; });
  return steps;
}

std::vector<StepEnd> StepsOfBackwards(const LoopEvents& events, const DataPasses& passes) {
  std::vector<StepEnd> steps;
  const std::vector<uint64_t>* borders = nullptr;
  if (!events.zero_grads.empty()) {
    borders = &events.zero_grads;
  } else if (!passes.used_fetch_begins.empty()) {
    borders = &passes.used_fetch_begins;
  }
  for (size_t i = 0; i < events.backwards.size(); ++i) {
    const bool is_last = i + 1 == events.backwards.size();
    const bool is_border = is_last || borders == nullptr ||
                           AnyIn(*borders, events.backwards[i].end, events.backwards[i + 1].begin);
    if (is_border) steps.push_back({events.backwards[i].end, 0, false});
  }
  return steps;
}

}  // namespace plateau::series
