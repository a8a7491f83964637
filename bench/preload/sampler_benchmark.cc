// Default mode's cost when nothing is recorded: the countdown of malloc, the filter of free, and what a
// sample costs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "preload/sampler/sample_set.h"
#include "preload/sampler/sampler.h"

namespace plateau::bench {
namespace {

uintptr_t HeapAddress(uint64_t i) { return 0x5555'5000'0000 + i * 96; }

// Pointers of a heap with a million live objects, in the order they are freed.
std::vector<uintptr_t> FreedPointers(bool shuffled) {
  std::vector<uintptr_t> pointers(1'000'000);
  for (uint64_t i = 0; i < pointers.size(); ++i) pointers[i] = HeapAddress(i);
  if (shuffled) std::shuffle(pointers.begin(), pointers.end(), std::mt19937_64(1));
  return pointers;
}

// free(): is this pointer sampled? With range(1) samples live, in order or at random.
void BM_SampleSet_MayContain(benchmark::State& state) {
  const std::vector<uintptr_t> pointers = FreedPointers(state.range(0) != 0);
  g_sample_set.Clear();
  for (int64_t i = 0; i < state.range(1); ++i) {
    g_sample_set.Insert(HeapAddress(2'000'000 + static_cast<uint64_t>(i) * 7), {1, 0, 0});
  }
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(g_sample_set.MayContain(pointers[at]));
    if (++at == pointers.size()) at = 0;
  }
  g_sample_set.Clear();
}

void BM_SampleSet_InsertErase(benchmark::State& state) {
  g_sample_set.Clear();
  const auto live = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 0; i < live; ++i) g_sample_set.Insert(HeapAddress(i), {1, 0, 0});
  uint64_t next = live;
  for (auto _ : state) {
    SampledBlock sample = {};
    g_sample_set.Insert(HeapAddress(next), {1, 0, 0});
    benchmark::DoNotOptimize(g_sample_set.Erase(HeapAddress(next - live), &sample));
    ++next;
  }
  g_sample_set.Clear();
}

void BM_Gap(benchmark::State& state) {
  GapRandom random;
  random.Seed(1);
  for (auto _ : state) benchmark::DoNotOptimize(random.Gap(512 * 1024));
}

void BM_Countdown(benchmark::State& state) {
  GapRandom random;
  random.Seed(1);
  auto left = static_cast<int64_t>(random.Gap(512 * 1024));
  int64_t size = 64;
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    left -= size;
    if (left < 0) [[unlikely]]
      left = static_cast<int64_t>(random.Gap(512 * 1024));
    benchmark::DoNotOptimize(left);
  }
}

BENCHMARK(BM_SampleSet_MayContain)
    ->ArgNames({"random", "live"})
    ->Args({0, 1000})
    ->Args({1, 1000})
    ->Args({1, 100'000});
BENCHMARK(BM_SampleSet_InsertErase)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(BM_Gap);
BENCHMARK(BM_Countdown);

}  // namespace
}  // namespace plateau::bench
