#include "analyzer/series/clock/passes_by_loader.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace plateau::series {
namespace {

struct Pass {
  std::vector<size_t> fetches;  // that brought a batch
  uint64_t begin = 0;           // of its first fetch
  uint64_t last_end = 0;        // of its last fetch
  uint64_t site = 0;            // line of its last fetch
  bool is_stopped = false;      // the loader ran out
  uint64_t stop_begin = 0;
  bool are_gradients_off = false;
  bool trains = false;
  LoaderEvent loader{};

  // All batches of the loader were fetched.
  bool IsOver() const { return is_stopped || (loader.batches > 0 && fetches.size() == loader.batches); }
  uint64_t end() const { return is_stopped ? stop_begin : last_end; }
};

class LoaderPasses {
 public:
  LoaderPasses(const LoopEvents& events, uint64_t end_time) : events_(events), end_time_(end_time) {
    // A backward pass that did not end before the run did has trained nothing.
    if (!events.backwards.empty()) {
      for (const BackwardEvent& one : events.backwards) {
        if (one.end < end_time) trainings_.push_back(one.begin);
      }
    } else {
      for (const OptimizerEvent& one : events.optimizer_steps) trainings_.push_back(one.begin);
    }
  }

  DataPasses Find() {
    Collect();
    ChooseTraining();
    TakeFetches();
    FindEpochs();
    FindEvaluations();
    return std::move(found_);
  }

 private:
  size_t TrainingsIn(uint64_t from, uint64_t to) const {
    const auto first = std::lower_bound(trainings_.begin(), trainings_.end(), from);
    const auto last = std::lower_bound(first, trainings_.end(), to);
    return static_cast<size_t>(last - first);
  }

  // The end of the first optimizer step after the training number `index`, or the training itself.
  uint64_t EndOfTraining(size_t index) const {
    const size_t step = CountBefore(events_.optimizer_steps, trainings_[index],
                                    [](const OptimizerEvent& one) { return one.begin; });
    const uint64_t next = index + 1 < trainings_.size() ? trainings_[index + 1] : end_time_;
    if (step < events_.optimizer_steps.size() && events_.optimizer_steps[step].begin < next) {
      return events_.optimizer_steps[step].end;
    }
    return trainings_[index] + 1;
  }

  // The last description that an iterator gave of itself in (after, until]; null when there is none.
  const LoaderEvent* DescriptionOf(uint64_t iterator, uint64_t after, uint64_t until) const {
    const size_t end =
        CountBefore(events_.loaders, until + 1, [](const LoaderEvent& loader) { return loader.time; });
    for (size_t i = end; i-- > 0 && events_.loaders[i].time > after;) {
      if (events_.loaders[i].iterator == iterator) return &events_.loaders[i];
    }
    return nullptr;
  }

  void Collect() {
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
    std::erase_if(passes_, [](const Pass& pass) { return pass.fetches.empty(); });
  }

  void Add(size_t index, Pass* pass) {
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
    if (!fetch.are_gradients_off && TrainingsIn(fetch.end, NextFetch(index)) > 0) pass->trains = true;
  }

  uint64_t NextFetch(size_t index) const {
    return index + 1 < events_.fetches.size() ? events_.fetches[index + 1].begin : end_time_ + 1;
  }

  void ChooseTraining() {
    std::vector<uint64_t> training;  // fetches of passes that train, ascending
    for (const Pass& pass : passes_) {
      if (!pass.trains) continue;
      for (size_t i : pass.fetches) training.push_back(events_.fetches[i].begin);
    }
    std::sort(training.begin(), training.end());
    // A loader that is fetched in step with one that trains, zip() for instance.
    for (Pass& pass : passes_) {
      if (pass.trains || pass.are_gradients_off || pass.fetches.size() < 2) continue;
      const auto first = std::upper_bound(training.begin(), training.end(), pass.begin);
      const auto partners =
          static_cast<size_t>(std::lower_bound(first, training.end(), pass.last_end) - first);
      if (partners + 1 >= pass.fetches.size() && partners <= pass.fetches.size()) pass.trains = true;
    }
    // The pass in which the run ended, before its first batch was trained.
    if (passes_.empty()) return;
    Pass& last = passes_.back();
    if (last.trains || last.are_gradients_off || last.is_stopped) return;
    if (TrainingsIn(last.begin, end_time_ + 1) > 0) return;
    const bool is_like_training = std::any_of(passes_.begin(), passes_.end(), [&](const Pass& pass) {
      return pass.trains && KeyOf(pass) == KeyOf(last);
    });
    const bool has_evaluated = std::any_of(passes_.begin(), passes_.end() - 1, [&](const Pass& pass) {
      return !pass.trains && KeyOf(pass) == KeyOf(last);
    });
    const bool is_eval_mode = !events_.modes.empty() && !events_.modes.back().is_train;
    last.trains = is_like_training || (!has_evaluated && !is_eval_mode);
  }

  // What passes over one loader have in common, also where program and data set are made anew for each: the
  // line, and the size of the data and of a batch.
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
  static Key KeyOf(const Pass& pass) { return {pass.site, pass.loader.examples, pass.loader.batch_size}; }

  void TakeFetches() {
    std::vector<size_t> used;
    for (const Pass& pass : passes_) {
      if (pass.trains) used.insert(used.end(), pass.fetches.begin(), pass.fetches.end());
    }
    std::sort(used.begin(), used.end());
    for (size_t i : used) {
      found_.used_fetch_begins.push_back(events_.fetches[i].begin);
      found_.used_fetch_ends.push_back(events_.fetches[i].end);
    }
    found_.are_stops_known = std::all_of(events_.fetches.begin(), events_.fetches.end(),
                                         [](const FetchEvent& fetch) { return fetch.is_stop_known; });
  }

  // The rest of a pass that an earlier run began has a loader of its own, often at a line of its own: its series is that of
  // the passes over the same data that come after it.
  Key SeriesKeyOf(const Pass& pass) const {
    if (pass.loader.skipped == 0) return KeyOf(pass);
    for (const Pass& other : passes_) {
      const bool is_same_data =
          other.loader.dataset == pass.loader.dataset && other.loader.examples == pass.loader.examples;
      if (other.trains && other.loader.skipped == 0 && is_same_data && other.begin >= pass.end())
        return KeyOf(other);
    }
    return KeyOf(pass);
  }

  using Series = std::vector<const Pass*>;  // over one loader, in order

  // The training passes that make the epochs.
  Series Primary() const {
    std::map<Key, Series> all;
    for (const Pass& pass : passes_) {
      if (!pass.trains) continue;
      Series& series = all[SeriesKeyOf(pass)];
      // Another loader of the same size, fetched in step with this one, adds no epochs.
      if (series.empty() || pass.begin >= series.back()->end()) series.push_back(&pass);
    }
    const auto rank = [](const Series& series) {
      const auto over =
          std::count_if(series.begin(), series.end(), [](const Pass* p) { return p->IsOver(); });
      size_t batches = 0;
      for (const Pass* pass : series) batches += pass->fetches.size();
      // Fewest ends come first, none at all last; then most batches.
      return std::tuple(over == 0, over, ~batches);
    };
    std::vector<Series> ranked;
    for (auto& [key, series] : all) ranked.push_back(std::move(series));
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](const Series& a, const Series& b) { return rank(a) < rank(b); });
    if (ranked.empty()) return {};
    // A loader that is done before another one begins, or the other way round, is another phase of the training.
    std::vector<Series> phases = {ranked.front()};
    for (size_t i = 1; i < ranked.size(); ++i) {
      const bool has_ended =
          std::any_of(ranked[i].begin(), ranked[i].end(), [](const Pass* p) { return p->IsOver(); });
      const bool is_beside = std::any_of(phases.begin(), phases.end(), [&](const Series& other) {
        return ranked[i].front()->begin < other.back()->end() &&
               other.front()->begin < ranked[i].back()->end();
      });
      if (has_ended && !is_beside) phases.push_back(ranked[i]);
    }
    std::sort(phases.begin(), phases.end(),
              [](const Series& a, const Series& b) { return a.front()->begin < b.front()->begin; });
    Series primary;
    for (const Series& phase : phases) primary.insert(primary.end(), phase.begin(), phase.end());
    return primary;
  }

  // How many batches the loop fetches before it trains the one before: 0 for a plain loop.
  size_t LeadOf(const Pass& pass) const {
    const auto first = std::lower_bound(trainings_.begin(), trainings_.end(), pass.begin);
    if (first == trainings_.end()) return pass.fetches.size();
    size_t fetched = 0;
    uint64_t next = pass.is_stopped && pass.stop_begin > *first ? pass.stop_begin : end_time_ + 1;
    for (size_t i : pass.fetches) {
      if (events_.fetches[i].begin < *first) {
        ++fetched;
      } else {
        next = events_.fetches[i].begin;
        break;
      }
    }
    const size_t trained = TrainingsIn(*first, next);
    return fetched > trained ? fetched - trained : 0;
  }

  // When the next pass that trains begins, of whatever loader.
  uint64_t NextTrainingPass(uint64_t after) const {
    uint64_t next = end_time_ + 1;
    for (const Pass& pass : passes_) {
      if (pass.trains && pass.begin > after) next = std::min(next, pass.begin);
    }
    return next;
  }

  // True when the run trained everything that its last pass fetched, as far as can be told.
  bool IsTrainedToTheEnd(const Series& series) const {
    const Pass& last = *series.back();
    const size_t after = TrainingsIn(last.end(), end_time_ + 1);
    size_t needed = SIZE_MAX;
    for (size_t k = 0; k + 1 < series.size(); ++k) {
      if (series[k]->is_stopped != last.is_stopped || !series[k]->IsOver()) continue;
      needed = std::min(needed, TrainingsIn(series[k]->end(), NextTrainingPass(series[k]->end())));
    }
    if (needed == SIZE_MAX) {
      const size_t lead = LeadOf(last);
      const size_t before = TrainingsIn(last.begin, last.end());
      const size_t missing = last.fetches.size() > before ? last.fetches.size() - before : 0;
      if (last.is_stopped) {
        needed = missing == lead ? lead : 0;
      } else {
        needed = missing >= 1 && missing <= lead + 1 ? missing : 1;
      }
    }
    return after >= needed;
  }

  // Where the epoch of a pass ends that is followed by another.
  uint64_t EndBefore(const Pass& pass, const Pass& next) const {
    const size_t lead = LeadOf(pass);
    const size_t trained = TrainingsIn(pass.begin, next.begin);
    const auto after = static_cast<size_t>(
        std::lower_bound(trainings_.begin(), trainings_.end(), next.begin) - trainings_.begin());
    // The loop goes on fetching from the next pass before it trains the last batches of this one.
    const bool runs_over = lead > 0 && trained + lead == pass.fetches.size() &&
                           after + lead <= trainings_.size() && TrainingsIn(pass.end(), next.begin) == 0;
    return runs_over ? EndOfTraining(after + lead - 1) : next.begin;
  }

  void FindEpochs() {
    const Series series = Primary();
    if (series.empty()) return;
    for (const Pass* pass : series) {
      for (const size_t i : pass->fetches) found_.epoch_fetch_ends.push_back(events_.fetches[i].end);
    }
    const Pass* full = nullptr;  // the loader that says most: of a whole pass where there is one
    for (size_t k = 0; k < series.size(); ++k) {
      const Pass& pass = *series[k];
      const auto length = [](const Pass& one) { return one.loader.batches + one.loader.skipped; };
      if (full == nullptr || length(pass) > length(*full)) full = &pass;
      if (!pass.IsOver()) continue;
      const bool is_last = k + 1 == series.size();
      if (is_last && !IsTrainedToTheEnd(series)) continue;
      const uint64_t end = is_last ? EndOfLast(pass) : EndBefore(pass, *series[k + 1]);
      found_.epoch_ends.push_back(
          {end, static_cast<uint32_t>(pass.fetches.size()), static_cast<uint32_t>(pass.loader.skipped)});
    }
    found_.loader = full->loader;
    found_.loader.batches += full->loader.skipped;
    found_.is_loader_known = full->loader.time != 0;
    found_.batches_before_run = static_cast<uint32_t>(series.front()->loader.skipped);
    const Pass& last = *series.back();
    const bool is_last_over =
        !found_.epoch_ends.empty() && last.IsOver() && found_.epoch_ends.back().time >= last.begin;
    if (is_last_over) {
      FindReplays(series);
    } else {
      found_.batches_after_last_epoch = static_cast<uint32_t>(last.fetches.size());
      found_.batches_ahead = static_cast<uint32_t>(LeadOf(last));
    }
    CountSkipped(series);
  }

  // With the last pass over, what is trained later is of no pass: a replay, or another part of the program.
  uint64_t EndOfLast(const Pass& pass) const {
    const size_t batches = pass.fetches.size();
    const auto first = static_cast<size_t>(
        std::lower_bound(trainings_.begin(), trainings_.end(), pass.begin) - trainings_.begin());
    const size_t before = TrainingsIn(pass.begin, pass.end());
    const size_t missing = batches > before ? batches - before : 0;
    // At most the batches that were fetched ahead.
    const size_t lead = pass.is_stopped ? LeadOf(pass) : LeadOf(pass) + 1;
    const size_t ahead = missing <= lead ? missing : 0;
    if (ahead == 0 || first + before + ahead > trainings_.size()) return pass.end();
    return std::max(pass.end(), EndOfTraining(first + before + ahead - 1));
  }

  // itertools.cycle keeps the batches of its only pass and hands them out again.
  void FindReplays(const Series& series) {
    const Pass& pass = *series.back();
    const size_t batches = pass.fetches.size();
    if (series.size() != 1 || !pass.is_stopped || batches < 2) return;
    const uint64_t end = found_.epoch_ends.back().time;
    if (!IsSameOptimizerAfter(end)) return;
    const auto first =
        static_cast<size_t>(std::lower_bound(trainings_.begin(), trainings_.end(), end) - trainings_.begin());
    const size_t per_pass = std::max<size_t>(1, TrainingsIn(pass.begin, end));
    for (size_t last = first + per_pass; last <= trainings_.size(); last += per_pass) {
      found_.epoch_ends.push_back({EndOfTraining(last - 1), static_cast<uint32_t>(batches), 0, true});
    }
    found_.batches_after_last_epoch =
        static_cast<uint32_t>((trainings_.size() - first) % per_pass * batches / per_pass);
  }

  bool IsSameOptimizerAfter(uint64_t time) const {
    const size_t next =
        CountBefore(events_.optimizer_steps, time, [](const OptimizerEvent& one) { return one.begin; });
    if (next == 0 || next >= events_.optimizer_steps.size()) return false;
    const OptimizerEvent& before = events_.optimizer_steps[next - 1];
    const OptimizerEvent& after = events_.optimizer_steps[next];
    return before.site == after.site && before.name == after.name;
  }

  // Batches of a plain loop that nothing was trained on.
  void CountSkipped(const Series& series) {
    for (const Pass* pass : series) {
      if (LeadOf(*pass) > 0) continue;
      std::map<size_t, size_t> groups;  // fetches in a row -> how often
      size_t row = 0;
      for (size_t k = 0; k < pass->fetches.size(); ++k) {
        ++row;
        const uint64_t next = k + 1 < pass->fetches.size() ? events_.fetches[pass->fetches[k + 1]].begin
                              : pass->is_stopped           ? pass->stop_begin
                                                           : end_time_ + 1;
        if (TrainingsIn(events_.fetches[pass->fetches[k]].end, next) == 0) continue;
        ++groups[row];
        row = 0;
      }
      const auto usual = std::max_element(groups.begin(), groups.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
      if (usual == groups.end() || usual->first != 1) continue;  // the loop takes several at a time
      for (const auto& [fetches, count] : groups) {
        found_.skipped_batches += static_cast<uint32_t>((fetches - 1) * count);
      }
      if (pass->is_stopped) found_.skipped_batches += static_cast<uint32_t>(row);
    }
  }

  void FindEvaluations() {
    const uint64_t first_training = trainings_.empty() ? end_time_ : trainings_.front();
    for (const Pass& pass : passes_) {
      if (pass.trains) continue;
      // A few batches tried before the training begins are a check, no evaluation.
      const bool is_part = !pass.IsOver() && pass.loader.batches > 0;
      if (is_part && pass.begin < first_training) continue;
      AddEvaluations(pass);
    }
  }

  // An iterator that is asked now and then while the training goes on makes an evaluation each time.
  void AddEvaluations(const Pass& pass) {
    const uint64_t dataset =
        pass.loader.dataset == 0 ? 0 : pass.loader.dataset * 0x9E3779B97F4A7C15u + pass.loader.examples;
    for (size_t first = 0; first < pass.fetches.size();) {
      size_t last = first;
      while (last + 1 < pass.fetches.size() &&
             TrainingsIn(BeginOf(pass, first), BeginOf(pass, last + 1)) == 0) {
        ++last;
      }
      const bool is_last = last + 1 == pass.fetches.size();
      const uint64_t end = events_.fetches[pass.fetches[last]].end;
      const bool stops_here = is_last && pass.is_stopped && TrainingsIn(end, pass.stop_begin) == 0;
      const bool at_end = is_last && !pass.IsOver() && &pass == &passes_.back();
      found_.evaluations.push_back({BeginOf(pass, first), stops_here ? pass.stop_begin : end,
                                    static_cast<uint32_t>(last - first + 1), !at_end, dataset});
      first = last + 1;
    }
  }

  uint64_t BeginOf(const Pass& pass, size_t fetch) const {
    return events_.fetches[pass.fetches[fetch]].begin;
  }

  const LoopEvents& events_;
  const uint64_t end_time_;
  std::vector<uint64_t> trainings_;  // begins, ascending
  std::vector<Pass> passes_;         // in the order of their first fetches
  DataPasses found_;
};

}  // namespace

DataPasses FindPassesByLoader(const LoopEvents& events, uint64_t end_time) {
  return LoaderPasses(events, end_time).Find();
}

}  // namespace plateau::series
