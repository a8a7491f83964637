// Whether an event costs more when more blocks are alive: malloc_live [LIVE] [PAIRS]
// Replaces one of LIVE blocks, at random, PAIRS times. Prints the clock of the replacing alone.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "bench/workloads/own_cost.h"

namespace {

__attribute__((noinline)) void* Make(uint64_t random) {
  void* p = std::malloc(16 + random % 7 * 16);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}

uint64_t Next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 32;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t live = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const uint64_t pairs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2'000'000;
  uint64_t state = 1;
  std::vector<void*> kept(live);
  for (void*& p : kept) p = Make(Next(&state));
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < pairs; ++i) {
    const uint64_t random = Next(&state);
    void*& p = kept[random * live >> 32];
    std::free(p);
    p = Make(random);
  }
  PrintOwnCost(start);
  for (void* p : kept) std::free(p);
  return 0;
}
