// What one allocation or free costs in the table of live objects, by how many there are.
#include <benchmark/benchmark.h>

#include <array>
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
  constexpr size_t kTogether = 32;
  const uint64_t live = static_cast<uint64_t>(state.range(0));
  replay::LiveTable table;
  const auto put = [&](uint64_t address, const replay::LiveTable::Hint& hint) {
    *table.FindOrAdd(address, hint).object = replay::PackedObject::Plain(0, 1, 0);
  };
  for (uint64_t i = 0; i < live; ++i) put(HeapAddress(i), {});
  std::mt19937_64 random(1);
  std::vector<uint64_t> order(1 << 20);
  for (uint64_t& address : order) address = HeapAddress(random() % live);
  size_t at = 0;
  std::array<replay::LiveTable::Hint, kTogether> hints;
  for (auto _ : state) {
    if (at % kTogether == 0) {
      for (size_t i = 0; i < kTogether; ++i) table.PrefetchRegion(order[at + i]);
      for (size_t i = 0; i < kTogether; ++i) hints[i] = table.PrefetchPage(order[at + i]);
      for (size_t i = 0; i < kTogether; ++i) table.PrefetchObject(order[at + i], hints[i]);
    }
    const replay::LiveTable::Hint& hint = hints[at % kTogether];
    if (const replay::LiveTable::Spot spot = table.Look(order[at], hint); spot.object != nullptr)
      table.Erase(spot);
    put(order[at], hint);
    at = (at + 1) % order.size();
  }
  state.SetItemsProcessed(2 * static_cast<int64_t>(state.iterations()));
  state.counters["bytes_per_object"] =
      static_cast<double>(table.capacity_bytes()) / static_cast<double>(live);
}
BENCHMARK(BM_LiveTable_FreeAndAlloc)->ArgName("live")->RangeMultiplier(10)->Range(10'000, 10'000'000);

}  // namespace
}  // namespace plateau::bench
