// Native code for the traced programs: loops that allocate without the GIL, and threads that call back into
// Python.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Allocates requests of `bytes` to `bytes` + 499 for so long, 200 of them at least. Called through ctypes, so
// without the GIL.
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

// A thread that allocates without end, and a signal that makes it sleep wherever it is then.
static volatile pthread_t g_allocating;
static volatile int g_is_asleep;

void MallocForever(void) {
  g_allocating = pthread_self();
  for (;;) {
    void* volatile p = malloc(40);
    free(p);
  }
}

static void Sleep(int signal) {
  (void)signal;
  g_is_asleep = 1;
  const struct timespec long_enough = {20, 0};
  nanosleep(&long_enough, NULL);
}

void PutAllocatingThreadToSleep(void) {
  const struct timespec moment = {0, 1000000};
  while (g_allocating == 0) nanosleep(&moment, NULL);
  signal(SIGUSR1, Sleep);
  pthread_kill(g_allocating, SIGUSR1);
  while (!g_is_asleep) nanosleep(&moment, NULL);
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
