// malloc/free pairs under a 24-frame stack whose last frames change: malloc_churn [THREADS] [PAIRS_PER_THREAD]
// Prints its own clock, so that start-up is not counted.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/workloads/own_cost.h"

namespace {

constexpr int kDepth = 20;

struct Work {
  unsigned long long pairs;
  unsigned random;
};

__attribute__((noinline)) void* LeafA(size_t size) {
  void* p = std::malloc(size);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
__attribute__((noinline)) void* LeafB(size_t size) {
  void* p = std::malloc(size + 16);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
__attribute__((noinline)) void* LeafC(size_t size) {
  void* p = LeafA(size + 8);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}

__attribute__((noinline)) void Churn(Work* work) {
  void* kept[64] = {};
  for (unsigned long long i = 0; i < work->pairs; ++i) {
    work->random = work->random * 1664525u + 1013904223u;
    const unsigned r = work->random >> 16;
    const size_t size = 16 + (r % 61) * 16;
    void*& slot = kept[r % 64];
    std::free(slot);
    slot = r % 3 == 0 ? LeafA(size) : r % 3 == 1 ? LeafB(size) : LeafC(size);
  }
  for (void* p : kept) std::free(p);
}

__attribute__((noinline)) void Descend(Work* work, int depth) {
  if (depth == 0) {
    Churn(work);
  } else {
    Descend(work, depth - 1);
  }
  asm volatile("" : : : "memory");  // no tail call
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const unsigned long long pairs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5'000'000;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (int t = 1; t < threads; ++t) {
    pool.emplace_back([=] {
      Work work{pairs, static_cast<unsigned>(t) * 7919u};
      Descend(&work, kDepth);
    });
  }
  Work work{pairs, 1};
  Descend(&work, kDepth);
  for (std::thread& t : pool) t.join();
  PrintOwnCost(start);
  return 0;
}
