// argv[1] steps, each with 200 blocks of 1 to 4000 bytes from 1024 stacks in turn, a short thread every 64
// steps, and one block of 10001 bytes kept every 100 steps. Prints how many blocks it took.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int, char** argv) {
  void* blocks[200];
  unsigned random = 1;
  for (long step = 0; step < atol(argv[1]); ++step) {
    for (void*& block : blocks) {
      random = random * 1664525u + 1013904223u;
      block = Descend(random >> 8, kPathBits, random % 4000 + 1);
    }
    for (void* block : blocks) free(block);
    if (step % 100 == 0) Descend(0, kPathBits, 10001);
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
