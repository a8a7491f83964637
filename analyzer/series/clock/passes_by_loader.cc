#include "analyzer/series/clock/passes_by_loader.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/series/clock/loader_pass.h"

namespace plateau::series {
namespace {

class LoaderPasses {
 public:
  LoaderPasses(const LoopEvents& events, uint64_t end_time)
      : events_(events),
        end_time_(end_time),
        trainings_(events, end_time),
        passes_(CollectLoaderPasses(events, trainings_, end_time)) {}

  DataPasses Find() {
    TakeFetches();
    FindEpochs();
    FindEvaluations();
    return std::move(found_);
  }

 private:
  void TakeFetches() {
    std::vector<size_t> used;
    for (const LoaderPass& pass : passes_) {
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
  LoaderPass::Key SeriesKeyOf(const LoaderPass& pass) const {
    if (pass.loader.skipped == 0) return pass.key();
    for (const LoaderPass& other : passes_) {
      const bool is_same_data =
          other.loader.dataset == pass.loader.dataset && other.loader.examples == pass.loader.examples;
      if (other.trains && other.loader.skipped == 0 && is_same_data && other.begin >= pass.end())
        return other.key();
    }
    return pass.key();
  }

  using Series = std::vector<const LoaderPass*>;  // over one loader, in order

  // The training passes that make the epochs.
  Series Primary() const {
    std::map<LoaderPass::Key, Series> all;
    for (const LoaderPass& pass : passes_) {
      if (!pass.trains) continue;
      Series& series = all[SeriesKeyOf(pass)];
      // Another loader of the same size, fetched in step with this one, adds no epochs.
      if (series.empty() || pass.begin >= series.back()->end()) series.push_back(&pass);
    }
    const auto rank = [](const Series& series) {
      const auto over =
          std::count_if(series.begin(), series.end(), [](const LoaderPass* p) { return p->IsOver(); });
      size_t batches = 0;
      for (const LoaderPass* pass : series) batches += pass->fetches.size();
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
          std::any_of(ranked[i].begin(), ranked[i].end(), [](const LoaderPass* p) { return p->IsOver(); });
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
  size_t LeadOf(const LoaderPass& pass) const {
    const size_t first = trainings_.Before(pass.begin);
    if (first == trainings_.size()) return pass.fetches.size();
    const uint64_t first_begin = trainings_.begins()[first];
    size_t fetched = 0;
    uint64_t next = pass.is_stopped && pass.stop_begin > first_begin ? pass.stop_begin : end_time_ + 1;
    for (size_t i : pass.fetches) {
      if (events_.fetches[i].begin < first_begin) {
        ++fetched;
      } else {
        next = events_.fetches[i].begin;
        break;
      }
    }
    const size_t trained = trainings_.In(first_begin, next);
    return fetched > trained ? fetched - trained : 0;
  }

  // When the next pass that trains begins, of whatever loader.
  uint64_t NextTrainingPass(uint64_t after) const {
    uint64_t next = end_time_ + 1;
    for (const LoaderPass& pass : passes_) {
      if (pass.trains && pass.begin > after) next = std::min(next, pass.begin);
    }
    return next;
  }

  // True when the run trained everything that its last pass fetched, as far as can be told.
  bool IsTrainedToTheEnd(const Series& series) const {
    const LoaderPass& last = *series.back();
    const size_t after = trainings_.In(last.end(), end_time_ + 1);
    size_t needed = SIZE_MAX;
    for (size_t k = 0; k + 1 < series.size(); ++k) {
      if (series[k]->is_stopped != last.is_stopped || !series[k]->IsOver()) continue;
      needed = std::min(needed, trainings_.In(series[k]->end(), NextTrainingPass(series[k]->end())));
    }
    if (needed == SIZE_MAX) {
      const size_t lead = LeadOf(last);
      const size_t before = trainings_.In(last.begin, last.end());
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
  uint64_t EndBefore(const LoaderPass& pass, const LoaderPass& next) const {
    const size_t lead = LeadOf(pass);
    const size_t trained = trainings_.In(pass.begin, next.begin);
    const auto after = trainings_.Before(next.begin);
    // The loop goes on fetching from the next pass before it trains the last batches of this one.
    const bool runs_over = lead > 0 && trained + lead == pass.fetches.size() &&
                           after + lead <= trainings_.size() && trainings_.In(pass.end(), next.begin) == 0;
    return runs_over ? trainings_.EndOf(after + lead - 1) : next.begin;
  }

  void FindEpochs() {
    const Series series = Primary();
    if (series.empty()) return;
    for (const LoaderPass* pass : series) {
      for (const size_t i : pass->fetches) found_.epoch_fetch_ends.push_back(events_.fetches[i].end);
    }
    const LoaderPass* full = nullptr;  // the loader that says most: of a whole pass where there is one
    for (size_t k = 0; k < series.size(); ++k) {
      const LoaderPass& pass = *series[k];
      const auto length = [](const LoaderPass& one) { return one.loader.batches + one.loader.skipped; };
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
    const LoaderPass& last = *series.back();
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
  uint64_t EndOfLast(const LoaderPass& pass) const {
    const size_t batches = pass.fetches.size();
    const auto first = trainings_.Before(pass.begin);
    const size_t before = trainings_.In(pass.begin, pass.end());
    const size_t missing = batches > before ? batches - before : 0;
    // At most the batches that were fetched ahead.
    const size_t lead = pass.is_stopped ? LeadOf(pass) : LeadOf(pass) + 1;
    const size_t ahead = missing <= lead ? missing : 0;
    if (ahead == 0 || first + before + ahead > trainings_.size()) return pass.end();
    return std::max(pass.end(), trainings_.EndOf(first + before + ahead - 1));
  }

  // itertools.cycle keeps the batches of its only pass and hands them out again.
  void FindReplays(const Series& series) {
    const LoaderPass& pass = *series.back();
    const size_t batches = pass.fetches.size();
    if (series.size() != 1 || !pass.is_stopped || batches < 2) return;
    const uint64_t end = found_.epoch_ends.back().time;
    if (!IsSameOptimizerAfter(end)) return;
    const auto first = trainings_.Before(end);
    const size_t per_pass = std::max<size_t>(1, trainings_.In(pass.begin, end));
    for (size_t last = first + per_pass; last <= trainings_.size(); last += per_pass) {
      found_.epoch_ends.push_back({trainings_.EndOf(last - 1), static_cast<uint32_t>(batches), 0, true});
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
    for (const LoaderPass* pass : series) {
      if (LeadOf(*pass) > 0) continue;
      std::map<size_t, size_t> groups;  // fetches in a row -> how often
      size_t row = 0;
      for (size_t k = 0; k < pass->fetches.size(); ++k) {
        ++row;
        const uint64_t next = k + 1 < pass->fetches.size() ? events_.fetches[pass->fetches[k + 1]].begin
                              : pass->is_stopped           ? pass->stop_begin
                                                           : end_time_ + 1;
        if (trainings_.In(events_.fetches[pass->fetches[k]].end, next) == 0) continue;
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
    const uint64_t first_training = trainings_.size() == 0 ? end_time_ : trainings_.begins().front();
    for (const LoaderPass& pass : passes_) {
      if (pass.trains) continue;
      // A few batches tried before the training begins are a check, no evaluation.
      const bool is_part = !pass.IsOver() && pass.loader.batches > 0;
      if (is_part && pass.begin < first_training) continue;
      AddEvaluations(pass);
    }
  }

  // An iterator that is asked now and then while the training goes on makes an evaluation each time.
  void AddEvaluations(const LoaderPass& pass) {
    const uint64_t dataset =
        pass.loader.dataset == 0 ? 0 : pass.loader.dataset * 0x9E3779B97F4A7C15u + pass.loader.examples;
    for (size_t first = 0; first < pass.fetches.size();) {
      size_t last = first;
      while (last + 1 < pass.fetches.size() &&
             trainings_.In(BeginOf(pass, first), BeginOf(pass, last + 1)) == 0) {
        ++last;
      }
      const bool is_last = last + 1 == pass.fetches.size();
      const uint64_t end = events_.fetches[pass.fetches[last]].end;
      const bool stops_here = is_last && pass.is_stopped && trainings_.In(end, pass.stop_begin) == 0;
      const bool at_end = is_last && !pass.IsOver() && &pass == &passes_.back();
      found_.evaluations.push_back({BeginOf(pass, first), stops_here ? pass.stop_begin : end,
                                    static_cast<uint32_t>(last - first + 1), !at_end, dataset});
      first = last + 1;
    }
  }

  uint64_t BeginOf(const LoaderPass& pass, size_t fetch) const {
    return events_.fetches[pass.fetches[fetch]].begin;
  }

  const LoopEvents& events_;
  const uint64_t end_time_;
  const Trainings trainings_;
  const std::vector<LoaderPass> passes_;
  DataPasses found_;
};

}  // namespace

DataPasses FindPassesByLoader(const LoopEvents& events, uint64_t end_time) {
  return LoaderPasses(events, end_time).Find();
}

}  // namespace plateau::series
