// Native code for the traced programs: loops that allocate without the GIL, and threads that call back into Python.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Allocates requests of `bytes` to `bytes` + 499 for so long, 200 of them at least. Called through ctypes, so without the GIL.
long SpinMalloc(double seconds, size_t bytes) {
  const double end = Now() + seconds;
  long count = 0;
  while (Now() < end || count < 200) {
    for (int i = 0; i < 50; ++i) {
      void* volatile p = malloc(bytes + (size_t)(count % 500));
      free(p);
      ++count;
    }
  }
  return count;
}

typedef void (*Callback)(int);
struct Job {
  Callback callback;
  int rounds;
  int id;
};

static void* Run(void* argument) {
  const struct Job* job = argument;
  for (int i = 0; i < job->rounds; ++i) {
    void* volatile p = malloc(1000 + (size_t)i);
    free(p);
    job->callback(job->id);
    p = malloc(2000 + (size_t)i);
    free(p);
  }
  return NULL;
}

void CallBackFromThreads(Callback callback, int threads, int rounds) {
  pthread_t ids[64];
  struct Job jobs[64];
  for (int i = 0; i < threads; ++i) {
    jobs[i] = (struct Job){callback, rounds, i};
    pthread_create(&ids[i], NULL, Run, &jobs[i]);
  }
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
}
