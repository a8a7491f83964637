// argv[1] steps of 200 blocks of 1 to 4000 bytes each, freed at the step's end, and one of 10001 bytes that
// is kept. With a small limit the trace is full after the first steps and goes on as totals. argv[2]:
//   die   ends by SIGKILL
//   wide  keeps each block from one of 4096 call stacks, more than the table of totals has rows
//   fork  a child made halfway does as many steps again, and the parent waits for it
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/include/plateau/mark.h"

namespace {

constexpr unsigned kForks = 12;  // of the call stack: 4096 ways

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

// Each bit of `way` takes the one or the other call.
__attribute__((noinline)) void* KeepBy(unsigned way, unsigned bits) {
  if (bits == 0) return Keep();
  void* p;
  if ((way & 1) != 0) {
    p = KeepBy(way >> 1, bits - 1);
    asm volatile("# one way" : : "r"(p) : "memory");
  } else {
    p = KeepBy(way >> 1, bits - 1);
    asm volatile("# the other" : : "r"(p) : "memory");
  }
  return p;
}

void Steps(long steps, bool wide) {
  void* blocks[200];
  unsigned random = 1;
  for (long step = 0; step < steps; ++step) {
    for (void*& block : blocks) {
      random = random * 1664525u + 1013904223u;
      block = Use(random % 4000 + 1);
    }
    wide ? KeepBy(static_cast<unsigned>(step) * 2654435761u >> 20, kForks) : Keep();
    for (void* block : blocks) free(block);
    plateau_step();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* how = argc > 2 ? argv[2] : "";
  const long steps = atol(argv[1]);
  if (strcmp(how, "fork") == 0) {
    Steps(steps / 2, false);
    const pid_t child = fork();
    Steps(child == 0 ? steps : steps - steps / 2, false);
    if (child == 0) return 0;
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  } else {
    Steps(steps, strcmp(how, "wide") == 0);
  }
  if (strcmp(how, "die") == 0) raise(SIGKILL);
  puts("done");
  return 0;
}
