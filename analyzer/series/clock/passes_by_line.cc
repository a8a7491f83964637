#include "analyzer/series/clock/passes_by_line.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace plateau::series {
namespace {

enum class FetchUse : uint8_t { kUsed, kUnused, kStop };
enum class LoopKind : uint8_t { kUnknown, kTrains, kEvaluates };

class PassFinder {
 public:
  PassFinder(const LoopEvents& events, uint64_t end_time) : events_(events), end_time_(end_time) {}

  DataPasses Find() {
    Classify();
    UseRegularRuns();
    FindLoops();
    passes_.are_stops_known = std::all_of(events_.fetches.begin(), events_.fetches.end(),
                                          [](const FetchEvent& fetch) { return fetch.is_stop_known; });
    if (!passes_.are_stops_known) InferStops();
    for (size_t i = 0; i < events_.fetches.size(); ++i) Take(i);
    EndRun(end_time_, /*is_stop=*/false, /*at_end=*/true);
    passes_.batches_after_last_epoch = batches_;
    return std::move(passes_);
  }

 private:
  void Classify() {
    uses_.resize(events_.fetches.size());
    for (size_t i = 0; i < events_.fetches.size(); ++i) {
      const FetchEvent& fetch = events_.fetches[i];
      const uint64_t next = i + 1 < events_.fetches.size() ? events_.fetches[i + 1].begin : end_time_ + 1;
      uses_[i] = fetch.is_stop                           ? FetchUse::kStop
                 : IsTrainedIn(events_, fetch.end, next) ? FetchUse::kUsed
                                                         : FetchUse::kUnused;
    }
  }

  // zip() of two loaders, or a trainer that fetches all micro-batches of a step at once: most used fetches
  // have the same number of unused ones right before them. Those are used too.
  void UseRegularRuns() {
    std::map<size_t, size_t> runs;
    size_t run = 0;
    size_t used = 0;
    for (FetchUse use : uses_) {
      if (use == FetchUse::kUsed) {
        ++runs[run];
        ++used;
      }
      run = use == FetchUse::kUnused ? run + 1 : 0;
    }
    for (const auto& [length, count] : runs) {
      if (length == 0 || count * 2 <= used) continue;
      run = 0;
      for (size_t i = 0; i < uses_.size(); ++i) {
        if (uses_[i] == FetchUse::kUsed && run >= length) {
          for (size_t back = 1; back <= length; ++back) uses_[i - back] = FetchUse::kUsed;
        }
        run = uses_[i] == FetchUse::kUnused ? run + 1 : 0;
      }
    }
  }

  void FindLoops() {
    for (size_t i = 0; i < uses_.size(); ++i) {
      const uint64_t site = events_.fetches[i].site;
      if (site == 0 || uses_[i] == FetchUse::kStop) continue;
      LoopKind& loop = loops_[site];
      if (uses_[i] == FetchUse::kUsed) {
        loop = LoopKind::kTrains;
      } else if (loop == LoopKind::kUnknown) {
        loop = LoopKind::kEvaluates;
      }
    }
  }

  LoopKind LoopOf(size_t fetch) const {
    const auto found = loops_.find(events_.fetches[fetch].site);
    return found == loops_.end() ? LoopKind::kUnknown : found->second;
  }

  // The recorder saw no exceptions: the last unused fetch of a run is taken for the one that found nothing
  // more. Between two used fetches of one loop, a single unused one is the end of an epoch.
  void InferStops() {
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i] != FetchUse::kUnused) continue;
      const bool is_last_of_run = i + 1 == uses_.size() || uses_[i + 1] != FetchUse::kUnused ||
                                  events_.fetches[i + 1].site != events_.fetches[i].site;
      if (is_last_of_run) uses_[i] = FetchUse::kStop;
    }
  }

  void Take(size_t i) {
    const FetchEvent& fetch = events_.fetches[i];
    switch (uses_[i]) {
      case FetchUse::kUsed:
        EndRun(fetch.begin, /*is_stop=*/false, /*at_end=*/false);
        passes_.used_fetch_begins.push_back(fetch.begin);
        passes_.used_fetch_ends.push_back(fetch.end);
        ++batches_;
        break;
      case FetchUse::kUnused:
        if (!run_.empty() && fetch.site != events_.fetches[run_.back()].site) {
          EndRun(fetch.begin, /*is_stop=*/false, /*at_end=*/false);
        }
        run_.push_back(i);
        break;
      case FetchUse::kStop: {
        LoopKind loop = LoopOf(i);
        if (loop == LoopKind::kUnknown) loop = run_.empty() ? LoopKind::kTrains : LoopKind::kEvaluates;
        if (loop == LoopKind::kEvaluates) {
          EndRun(fetch.end, /*is_stop=*/true, /*at_end=*/false);
        } else {
          EndRun(fetch.begin, /*is_stop=*/false, /*at_end=*/false);
          if (batches_ > 0) passes_.epoch_ends.push_back({fetch.begin, batches_});
          batches_ = 0;
        }
        break;
      }
    }
  }

  // What to make of the unused fetches collected so far.
  void EndRun(uint64_t time, bool is_stop, bool at_end) {
    if (run_.empty()) return;
    const LoopKind loop = LoopOf(run_.front());
    const bool is_evaluation =
        is_stop || loop == LoopKind::kEvaluates || (loop == LoopKind::kUnknown && run_.size() > 1);
    if (is_evaluation) {
      passes_.evaluations.push_back({events_.fetches[run_.front()].begin, time,
                                     static_cast<uint32_t>(run_.size()), is_stop || !at_end});
    } else {
      passes_.skipped_batches += static_cast<uint32_t>(run_.size());
      batches_ += static_cast<uint32_t>(run_.size());
    }
    run_.clear();
  }

  const LoopEvents& events_;
  const uint64_t end_time_;
  DataPasses passes_;
  std::vector<FetchUse> uses_;
  std::unordered_map<uint64_t, LoopKind> loops_;
  std::vector<size_t> run_;  // unused fetches since the last used one or stop
  uint32_t batches_ = 0;     // of the training loop since its last stop
};

}  // namespace

DataPasses FindPassesByLine(const LoopEvents& events, uint64_t end_time) {
  return PassFinder(events, end_time).Find();
}

}  // namespace plateau::series
