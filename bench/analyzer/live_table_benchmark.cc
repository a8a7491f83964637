// What one allocation or free costs in the table of live objects, by how many there are.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "analyzer/replay/live_table.h"

namespace plateau::bench {
namespace {

uint64_t HeapAddress(uint64_t i) { return 0x5555'5000'0000 + i * 96; }

// Frees one object and allocates another, at random, with `live` alive. Each is announced before, as the
// replay does.
void BM_LiveTable_FreeAndAlloc(benchmark::State& state) {
  constexpr size_t kPageAhead = 24, kGroupAhead = 14, kObjectAhead = 6;
  const uint64_t live = static_cast<uint64_t>(state.range(0));
  replay::LiveTable table;
  for (uint64_t i = 0; i < live; ++i) table.FindOrAdd(HeapAddress(i));
  std::mt19937_64 random(1);
  std::vector<uint64_t> order(1 << 20);
  for (uint64_t& address : order) address = HeapAddress(random() % live);
  size_t at = 0;
  for (auto _ : state) {
    table.PrefetchPage(order[(at + kPageAhead) % order.size()]);
    table.PrefetchGroup(order[(at + kGroupAhead) % order.size()]);
    table.PrefetchObject(order[(at + kObjectAhead) % order.size()]);
    const uint64_t address = order[at];
    if (replay::LiveObject* object = table.Find(address)) table.Erase(object);
    benchmark::DoNotOptimize(table.FindOrAdd(address));
    at = (at + 1) % order.size();
  }
  state.SetItemsProcessed(2 * static_cast<int64_t>(state.iterations()));
  state.counters["bytes_per_object"] =
      static_cast<double>(table.capacity_bytes()) / static_cast<double>(live);
}
BENCHMARK(BM_LiveTable_FreeAndAlloc)->ArgName("live")->RangeMultiplier(10)->Range(10'000, 10'000'000);

}  // namespace
}  // namespace plateau::bench
