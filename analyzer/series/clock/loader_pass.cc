#include "analyzer/series/clock/loader_pass.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace plateau::series {

Trainings::Trainings(const LoopEvents& events, uint64_t end_time) : events_(events), end_time_(end_time) {
  // A backward pass that did not end before the run did has trained nothing.
  for (const BackwardEvent& one : events.backwards) {
    if (one.end < end_time) begins_.push_back(one.begin);
  }
  if (!events.backwards.empty()) return;
  for (const OptimizerEvent& one : events.optimizer_steps) begins_.push_back(one.begin);
}

size_t Trainings::Before(uint64_t time) const {
  return static_cast<size_t>(std::lower_bound(begins_.begin(), begins_.end(), time) - begins_.begin());
}

size_t Trainings::In(uint64_t from, uint64_t to) const {
  const auto first = std::lower_bound(begins_.begin(), begins_.end(), from);
  return static_cast<size_t>(std::lower_bound(first, begins_.end(), to) - first);
}

uint64_t Trainings::EndOf(size_t index) const {
  const size_t step = CountBefore(events_.optimizer_steps, begins_[index],
                                  [](const OptimizerEvent& one) { return one.begin; });
  const uint64_t next = index + 1 < begins_.size() ? begins_[index + 1] : end_time_;
  if (step < events_.optimizer_steps.size() && events_.optimizer_steps[step].begin < next) {
    return events_.optimizer_steps[step].end;
  }
  return begins_[index] + 1;
}

namespace {

class Collector {
 public:
  Collector(const LoopEvents& events, const Trainings& trainings, uint64_t end_time)
      : events_(events), trainings_(trainings), end_time_(end_time) {}

  std::vector<LoaderPass> Collect() {
    SortFetches();
    ChooseTraining();
    return std::move(passes_);
  }

 private:
  // The last description that an iterator gave of itself in (after, until]; null when there is none.
  const LoaderEvent* DescriptionOf(uint64_t iterator, uint64_t after, uint64_t until) const {
    const size_t end =
        CountBefore(events_.loaders, until + 1, [](const LoaderEvent& loader) { return loader.time; });
    for (size_t i = end; i-- > 0 && events_.loaders[i].time > after;) {
      if (events_.loaders[i].iterator == iterator) return &events_.loaders[i];
    }
    return nullptr;
  }

  void SortFetches() {
    struct Open {
      size_t pass;
      uint64_t last_begin;
    };
    std::unordered_map<uint64_t, Open> by_iterator;
    std::unordered_map<uint64_t, size_t> by_site;  // the last pass fetched at a line
    for (size_t i = 0; i < events_.fetches.size(); ++i) {
      const FetchEvent& fetch = events_.fetches[i];
      const auto open = by_iterator.find(fetch.iterator);
      const bool is_known = open != by_iterator.end();
      const LoaderEvent* described =
          DescriptionOf(fetch.iterator, is_known ? open->second.last_begin : 0, fetch.begin);
      size_t pass = passes_.size();
      if (is_known && described == nullptr && !passes_[open->second.pass].is_stopped) {
        pass = open->second.pass;
      } else if (const auto at_line = by_site.find(fetch.site);
                 (fetch.iterator == 0 || (fetch.is_stop && !is_known)) && at_line != by_site.end() &&
                 !passes_[at_line->second].is_stopped) {
        pass = at_line->second;  // marks were left out: the line has to do
      } else {
        passes_.emplace_back();
        passes_.back().begin = fetch.begin;
        if (described != nullptr) passes_.back().loader = *described;
      }
      by_iterator[fetch.iterator] = {pass, fetch.begin};
      by_site[fetch.site] = pass;
      Add(i, &passes_[pass]);
    }
    // A pass without a batch is an empty loader.
    std::erase_if(passes_, [](const LoaderPass& pass) { return pass.fetches.empty(); });
  }

  void Add(size_t index, LoaderPass* pass) {
    const FetchEvent& fetch = events_.fetches[index];
    if (fetch.site != 0) pass->site = fetch.site;
    pass->are_gradients_off |= fetch.are_gradients_off;
    if (fetch.is_stop) {
      pass->is_stopped = true;
      pass->stop_begin = fetch.begin;
    } else {
      pass->fetches.push_back(index);
      pass->last_end = fetch.end;
    }
    if (!fetch.are_gradients_off && trainings_.In(fetch.end, NextFetch(index)) > 0) pass->trains = true;
  }

  uint64_t NextFetch(size_t index) const {
    return index + 1 < events_.fetches.size() ? events_.fetches[index + 1].begin : end_time_ + 1;
  }

  void ChooseTraining() {
    std::vector<uint64_t> training;  // fetches of passes that train, ascending
    for (const LoaderPass& pass : passes_) {
      if (!pass.trains) continue;
      for (size_t i : pass.fetches) training.push_back(events_.fetches[i].begin);
    }
    std::sort(training.begin(), training.end());
    // A loader that is fetched in step with one that trains, zip() for instance.
    for (LoaderPass& pass : passes_) {
      if (pass.trains || pass.are_gradients_off || pass.fetches.size() < 2) continue;
      const auto first = std::upper_bound(training.begin(), training.end(), pass.begin);
      const auto partners =
          static_cast<size_t>(std::lower_bound(first, training.end(), pass.last_end) - first);
      if (partners + 1 >= pass.fetches.size() && partners <= pass.fetches.size()) pass.trains = true;
    }
    // The pass in which the run ended, before its first batch was trained.
    if (passes_.empty()) return;
    LoaderPass& last = passes_.back();
    if (last.trains || last.are_gradients_off || last.is_stopped) return;
    if (trainings_.In(last.begin, end_time_ + 1) > 0) return;
    const bool is_like_training = std::any_of(passes_.begin(), passes_.end(), [&](const LoaderPass& pass) {
      return pass.trains && pass.key() == last.key();
    });
    const bool has_evaluated = std::any_of(passes_.begin(), passes_.end() - 1, [&](const LoaderPass& pass) {
      return !pass.trains && pass.key() == last.key();
    });
    const bool is_eval_mode = !events_.modes.empty() && !events_.modes.back().is_train;
    last.trains = is_like_training || (!has_evaluated && !is_eval_mode);
  }

  const LoopEvents& events_;
  const Trainings& trainings_;
  const uint64_t end_time_;
  std::vector<LoaderPass> passes_;
};

}  // namespace

std::vector<LoaderPass> CollectLoaderPasses(const LoopEvents& events, const Trainings& trainings,
                                            uint64_t end_time) {
  return Collector(events, trainings, end_time).Collect();
}

}  // namespace plateau::series
