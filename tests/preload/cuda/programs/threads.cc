// Four threads, each 200 allocations of its own size with their frees, half of them stream-ordered, on two
// devices.
#include <pthread.h>

#include "tests/preload/cuda/programs/program.h"

extern "C" {
int cudaSetDevice(int device);
int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaMallocAsync(void** pointer, size_t bytes, void* stream);
int cudaFreeAsync(void* pointer, void* stream);
}

namespace {

void* Run(void* argument) {
  const auto number = reinterpret_cast<uintptr_t>(argument);
  REQUIRE(cudaSetDevice(static_cast<int>(number % 2)) == 0);
  for (int i = 0; i < 100; ++i) {
    void* p = nullptr;
    void* q = nullptr;
    REQUIRE(cudaMalloc(&p, 20000 + number) == 0);
    REQUIRE(cudaMallocAsync(&q, 20000 + number, nullptr) == 0);
    REQUIRE(cudaFree(p) == 0);
    REQUIRE(cudaFreeAsync(q, nullptr) == 0);
  }
  return nullptr;
}

}  // namespace

int main() {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    REQUIRE(pthread_create(&threads[i], nullptr, Run, reinterpret_cast<void*>(i)) == 0);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
