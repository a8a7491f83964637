// Allocates COUNT blocks from a few call sites and keeps them all until the end, then frees them: retain [COUNT]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/workloads/own_cost.h"

namespace {

__attribute__((noinline)) void* KeepSmall(size_t i) { return std::malloc(24 + i % 40); }
__attribute__((noinline)) void* KeepMedium(size_t i) { return std::malloc(300 + i % 500); }
__attribute__((noinline)) void* KeepOdd(size_t i) { return std::calloc(1, 10 + i % 90); }

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const auto start = std::chrono::steady_clock::now();
  std::vector<void*> kept(count);
  for (size_t i = 0; i < count; ++i) {
    kept[i] = i % 3 == 0 ? KeepSmall(i) : i % 3 == 1 ? KeepMedium(i) : KeepOdd(i);
  }
  for (void* p : kept) std::free(p);
  PrintOwnCost(start);
  return 0;
}
