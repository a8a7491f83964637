// Frees a large block right in front of the mark of each of argv[1] steps.
#include <cstdio>
#include <cstdlib>

#include "preload/include/plateau/mark.h"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  for (int i = 0; i < steps; ++i) {
    void* p = std::malloc(65536);
    asm volatile("" : : "r"(p) : "memory");
    std::free(p);
    plateau_step();
  }
  std::puts("done");
  return 0;
}
