// The replay of a heap, with few objects alive and with many. Wall time counts: it uses several threads.
#include <benchmark/benchmark.h>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"
#include "bench/analyzer/churn_trace.h"

namespace plateau::bench {
namespace {

void BM_ReplayHeap(benchmark::State& state) {
  const auto reader = reader::TraceReader::Open(ChurnTrace(500'000, static_cast<size_t>(state.range(0))));
  const auto definitions = replay::CollectDefinitions(**reader);
  replay::ReplayOptions options;
  options.site_of = [](replay::Pool, uint32_t node) { return node; };
  int64_t events = 0;
  for (auto _ : state) {
    events += static_cast<int64_t>(replay::ReplayHeap(**reader, *definitions, options).events);
  }
  state.SetItemsProcessed(events);
}
BENCHMARK(BM_ReplayHeap)->ArgName("live")->Arg(100)->Arg(10'000)->Arg(400'000)->UseRealTime();

}  // namespace
}  // namespace plateau::bench
