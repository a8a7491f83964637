// argv[1] steps of 200 blocks of 1 to 4000 bytes each, freed at the step's end, and one of 10001 bytes that
// is kept. With a small limit the trace is full after the first steps and goes on as totals. argv[2]: dies by
// SIGKILL in the end instead of returning.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload/include/plateau/mark.h"

namespace {

__attribute__((noinline)) void* Keep() {
  void* p = malloc(10001);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}

__attribute__((noinline)) void* Use(size_t bytes) {
  void* p = malloc(bytes);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  void* blocks[200];
  unsigned random = 1;
  for (long step = 0; step < atol(argv[1]); ++step) {
    for (void*& block : blocks) {
      random = random * 1664525u + 1013904223u;
      block = Use(random % 4000 + 1);
    }
    Keep();
    for (void* block : blocks) free(block);
    plateau_step();
  }
  if (argc > 2) raise(SIGKILL);
  puts("done");
  return 0;
}
