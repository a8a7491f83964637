// argv[1] steps, each with argv[2] blocks (200 when not given) of 1 to 4000 bytes from 1024 stacks in turn, a short thread every 64
// steps, and one block of argv[3] bytes (10001 when not given, none for 0) kept every 100 steps. Prints how many blocks it took.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/include/plateau/mark.h"

namespace {

constexpr int kPathBits = 10;
unsigned long g_count = 0;

void* Descend(unsigned path, int depth, size_t bytes);
__attribute__((noinline)) void* Left(unsigned path, int depth, size_t bytes) {
  void* p = Descend(path >> 1, depth - 1, bytes);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
__attribute__((noinline)) void* Right(unsigned path, int depth, size_t bytes) {
  void* p = Descend(path >> 1, depth - 1, bytes);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
__attribute__((noinline)) void* Descend(unsigned path, int depth, size_t bytes) {
  if (depth == 0) {
    ++g_count;
    return malloc(bytes);
  }
  return (path & 1) != 0 ? Left(path, depth, bytes) : Right(path, depth, bytes);
}

void* ShortThread(void*) {
  free(malloc(777));
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = atol(argv[1]);
  const long count = argc > 2 ? atol(argv[2]) : 200;
  const auto kept_bytes = static_cast<size_t>(argc > 3 ? atol(argv[3]) : 10001);
  void** const blocks = static_cast<void**>(calloc(static_cast<size_t>(count), sizeof(void*)));
  unsigned random = 1;
  for (long step = 0; step < steps; ++step) {
    for (long i = 0; i < count; ++i) {
      random = random * 1664525u + 1013904223u;
      blocks[i] = Descend(random >> 8, kPathBits, random % 4000 + 1);
    }
    for (long i = 0; i < count; ++i) free(blocks[i]);
    if (step % 100 == 0 && kept_bytes > 0) memset(Descend(0, kPathBits, kept_bytes), 1, kept_bytes);
    if (step % 64 == 0) {
      pthread_t thread;
      pthread_create(&thread, nullptr, ShortThread, nullptr);
      pthread_join(thread, nullptr);
      ++g_count;
    }
    plateau_step();
  }
  printf("%lu\n", g_count);
  return 0;
}
