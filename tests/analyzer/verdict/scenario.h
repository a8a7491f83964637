// Simulated training runs for tests: blocks are born and die step by step through the same accumulator a
// trace uses, and the ledger follows from them.
//
//   Scenario run(/*steps=*/200);
//   run.epoch_steps = 50;
//   const size_t site = run.AddSite({.name = "decode (data.py:41)", .frames = {"decode", "__getitem__"}});
//   run.Keep(site, step, bytes);             // born in `step`, never freed
//   run.Churn(site, step, bytes, life);      // freed `life` steps later
//   const Analysis analysis = run.Analyse();
#ifndef PLATEAU_TESTS_ANALYZER_VERDICT_SCENARIO_H_
#define PLATEAU_TESTS_ANALYZER_VERDICT_SCENARIO_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/series/series_accumulator.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::verdict {

inline constexpr double kMiB = 1 << 20;
inline constexpr double kGiB = 1 << 30;

class Scenario {
 public:
  explicit Scenario(int64_t steps) : steps_(steps) {}

  double epoch_steps = 0;
  double examples_per_step = 0;
  std::vector<int64_t> evaluations;
  std::vector<int64_t> checkpoints;
  AnalysisInput input;
  // Bytes at the end of `step` beside the live ones.
  std::function<double(int64_t step)> allocator_slack = [](int64_t) { return 0.0; };
  std::function<double(int64_t step)> file_bytes = [](int64_t) { return 50 * kMiB; };
  std::function<double(int64_t step)> shared_bytes = [](int64_t) { return 0.0; };
  std::function<double(int64_t step)> own_bytes = [](int64_t) { return 4 * kMiB; };

  // Threads or open files at the end of `step`.
  struct Count {
    double series::LedgerSample::*count;
    std::function<double(int64_t step)> at;
  };
  std::vector<Count> counts;

  size_t AddSite(SiteInfo info) {
    input.site_info.push_back(std::move(info));
    return input.site_info.size() - 1;
  }
  void Keep(size_t site, int64_t step, double bytes) { blocks_.push_back({site, step, steps_ + 1, bytes}); }
  void Churn(size_t site, int64_t step, double bytes, int64_t life) {
    blocks_.push_back({site, step, step + life, bytes});
  }
  void Born(size_t site, series::BirthPhase phase, double bytes) { phases_.push_back({site, phase, bytes}); }

  // A model loaded before the first step, and activations that die within their step.
  void AddOrdinaryTraining(double model_bytes = 2 * kGiB, double activation_bytes = 300 * kMiB) {
    const size_t model =
        AddSite({.name = "load_model (train.py:10)", .frames = {"load_model (train.py:10)"}});
    Keep(model, 0, model_bytes);
    const size_t forward =
        AddSite({.name = "forward (model.py:77)", .frames = {"at::empty", "forward (model.py:77)"}});
    for (int64_t step = 1; step <= steps_; ++step) Churn(forward, step, activation_bytes, 0);
  }

  Analysis Analyse() {
    // Events in the order of their steps; a step's frees follow its allocations.
    struct Event {
      int64_t step;
      int order;
      const Block* block;
    };
    std::vector<Event> events;
    for (const Block& block : blocks_) {
      events.push_back({block.birth, 0, &block});
      if (block.death <= steps_) events.push_back({block.death, 1, &block});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.step != b.step ? a.step < b.step : a.order < b.order;
    });
    double live = 0;
    for (const Event& event : events) {
      const Block& b = *event.block;
      live_.resize(static_cast<size_t>(event.step) + 1, {live, live});
      live += event.order == 0 ? b.bytes : -b.bytes;
      live_.back() = {live, std::max(live_.back().peak, live)};
      const auto site = static_cast<uint32_t>(b.site);
      if (event.order == 0) {
        series_.OnAlloc(site, b.bytes, 1, event.step);
      } else {
        series_.OnFree(site, b.birth, b.bytes, 1, event.step);
      }
    }
    for (const Phase& phase : phases_)
      series_.OnSurvivor(static_cast<uint32_t>(phase.site), phase.phase, phase.bytes);
    series_.Finish(steps_);
    live_.resize(static_cast<size_t>(steps_) + 1, {live, live});
    FillInput();
    return RunAnalysis(input);
  }

 private:
  struct Block {
    size_t site;
    int64_t birth;
    int64_t death;
    double bytes;
  };
  struct Live {
    double end;
    double peak;
  };
  struct Phase {
    size_t site;
    series::BirthPhase phase;
    double bytes;
  };

  void FillInput() {
    input.run.steps = steps_;
    if (epoch_steps > 0) input.run.epoch_steps = epoch_steps;
    if (examples_per_step > 0) input.run.examples_per_step = examples_per_step;
    input.run.events = {{"eval", evaluations}, {"checkpoint", checkpoints}};
    input.sites = &series_;
    input.site_bucket_steps = series_.bucket_steps();
    for (size_t i = 0; i < series_.site_count(); ++i) input.site_traits.push_back(series_.Traits(i));
    for (int64_t step = 0; step <= steps_; ++step) {
      series::LedgerSample sample;
      sample.step = static_cast<double>(step);
      sample.live = live_[static_cast<size_t>(step)].end;
      sample.live_peak = live_[static_cast<size_t>(step)].peak;
      sample.allocator_held = sample.live + allocator_slack(step);
      sample.rss_file = file_bytes(step);
      sample.rss_shmem = shared_bytes(step);
      sample.own = own_bytes(step);
      sample.rss_anon = sample.allocator_held + sample.own + 100 * kMiB;
      for (const Count& count : counts) sample.*count.count = count.at(step);
      input.ledger.push_back(sample);
    }
  }

  int64_t steps_;
  std::vector<Block> blocks_;
  std::vector<Phase> phases_;
  std::vector<Live> live_;  // by step
  series::SeriesAccumulator series_;
};

}  // namespace plateau::verdict

#endif  // PLATEAU_TESTS_ANALYZER_VERDICT_SCENARIO_H_
