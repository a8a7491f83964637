// argv[1] steps that fill what was reserved at the start, a part of it in each step, and argv[2] says what:
//   zeros  an array of calloc's of 100001 KiB, 256 KiB a step
//   arena  a map of 64 MiB that nobody may touch, opened by mprotect as an allocator does, 256 KiB a step
//   fork   as zeros, with a child that goes on and a parent that waits for it
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/include/plateau/mark.h"

namespace {

constexpr size_t kZerosBytes = 100001 * 1024;
constexpr size_t kArenaBytes = 64 << 20;
constexpr size_t kStepBytes = 256 << 10;

__attribute__((noinline)) char* MakeZeros() { return static_cast<char*>(calloc(1, kZerosBytes)); }

__attribute__((noinline)) char* MakeArena() {
  void* p = mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return static_cast<char*>(p);
}

void Fill(char* memory, bool is_arena, int first, int last) {
  for (int step = first; step < last; ++step) {
    char* const part = memory + static_cast<size_t>(step) * kStepBytes;
    if (is_arena) mprotect(part, kStepBytes, PROT_READ | PROT_WRITE);
    memset(part, 1, kStepBytes);
    void* used = malloc(20001);  // so that a step is seen to allocate
    memset(used, 1, 20001);
    free(used);
    usleep(20000);
    plateau_mark_step("touch");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int steps = atoi(argv[1]);
  const bool is_arena = strcmp(argv[2], "arena") == 0;
  char* const memory = is_arena ? MakeArena() : MakeZeros();
  if (strcmp(argv[2], "fork") == 0) {
    Fill(memory, false, 0, steps / 2);
    const pid_t child = fork();
    if (child == 0) {
      Fill(memory, false, steps / 2, steps);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
  }
  Fill(memory, is_arena, 0, steps);
  printf("%zu\n", static_cast<size_t>(steps) * kStepBytes);
  return 0;
}
