// Forks while another thread is inside dl_iterate_phdr(), which leaves the child with a loader that is locked for good. The
// child allocates for argv[1] milliseconds, which needs no loader, and ends with 7. Says how the child ended.
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

static std::atomic<bool> inside, leave;

static int StayInside(dl_phdr_info*, size_t, void*) {
  inside = true;
  while (!leave) usleep(1000);
  return 1;
}
static void* Walk(void*) {
  dl_iterate_phdr(StayInside, nullptr);
  return nullptr;
}
static double Seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int main(int, char** argv) {
  pthread_t thread;
  pthread_create(&thread, nullptr, Walk, nullptr);
  while (!inside) usleep(100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // of a child that waits for ever
    for (const double end = Seconds() + atof(argv[1]) / 1000; Seconds() < end; usleep(500))
      free(malloc(100001));
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  leave = true;
  pthread_join(thread, nullptr);
  if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
  if (WIFEXITED(status)) printf("exit %d\n", WEXITSTATUS(status));
  return 0;
}
