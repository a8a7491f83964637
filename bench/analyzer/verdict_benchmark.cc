// How long the verdicts of a large run take once its series are there: 10,000 sites, 10,000 steps.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "analyzer/series/series_accumulator.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::verdict {
namespace {

// Sites of every kind: churn, warm-up, leaks, caches of the first pass, stairs at evaluations, long lives.
void Fill(uint32_t sites, int64_t steps, series::SeriesAccumulator* series) {
  const int64_t epoch = steps / 4;
  for (int64_t step = 1; step <= steps; ++step) {
    for (uint32_t site = static_cast<uint32_t>(step % 8); site < sites; site += 8) {
      const double bytes = 1000 + site % 97;
      switch (site % 16 / 2) {
        case 0:  // leaks
          series->OnAlloc(site, bytes, 1, step);
          break;
        case 1:  // first-pass cache
          if (step <= epoch) series->OnAlloc(site, bytes, 1, step);
          break;
        case 2:  // warm-up
          if (step <= steps / 50) series->OnAlloc(site, bytes, 1, step);
          break;
        case 3:  // stairs
          if (step % 500 < 8) series->OnAlloc(site, 50 * bytes, 1, step);
          break;
        default:
          series->OnAlloc(site, bytes, 1, step);
          series->OnFree(site, step, bytes, 1, step);
      }
    }
  }
  series->Finish(steps);
}

void BM_Verdict_Sites(benchmark::State& state) {
  const auto sites = static_cast<uint32_t>(state.range(0));
  const int64_t steps = state.range(1);
  series::SeriesAccumulator series;
  Fill(sites, steps, &series);
  AnalysisInput input;
  input.run.steps = steps;
  input.run.epoch_steps = static_cast<double>(steps) / 4;
  input.sites = &series;
  input.site_bucket_steps = series.bucket_steps();
  for (size_t i = 0; i < series.site_count(); ++i) input.site_traits.push_back(series.Traits(i));
  for (auto _ : state) {
    const Analysis analysis = RunAnalysis(input);
    benchmark::DoNotOptimize(analysis.sites.data());
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  state.counters["bucket_steps"] = static_cast<double>(series.bucket_steps());
  state.counters["peak_rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1000;
}
BENCHMARK(BM_Verdict_Sites)->Args({10000, 10000})->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace plateau::verdict
