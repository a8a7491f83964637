// Four threads allocate while the main thread forks argv[1] children, each of which allocates
// and exits.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

static std::atomic<bool> stop;
static std::atomic<long> rounds;

// A thread that never paused would fill gigabytes of trace on a fast machine: after its first rounds it takes breaths.
static void* Work(void*) {
  for (int round = 0; !stop; ++round) {
    for (int i = 1; i < 200; ++i) free(malloc(static_cast<size_t>(i) * 100));
    ++rounds;
    if (round > 500) usleep(1000);
  }
  return nullptr;
}

int main(int, char** argv) {
  pthread_t threads[4];
  for (auto& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  int bad = 0;
  const int children = atoi(argv[1]);
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int j = 0; j < 100; ++j) free(malloc(static_cast<size_t>(j) * 321));
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bad += status != 0;
  }
  stop = true;
  for (auto& thread : threads) pthread_join(thread, nullptr);
  printf("%d bad children\n", bad);
  return bad != 0;
}
