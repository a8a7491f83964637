// A timer signal at 1 kHz whose handler allocates and frees, while the program allocates with the signal
// blocked only around the C library's own locks (small sizes are served without one). Prints 1 when
// the handler ran often enough.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile long handled;

static void OnTimer(int) {
  free(malloc(48));
  handled = handled + 1;
}

int main() {
  // A full per-thread cache, so that neither side needs more memory.
  void* warm[7];
  for (auto& block : warm) block = malloc(48);
  for (auto& block : warm) free(block);
  struct sigaction action = {};
  action.sa_handler = OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  // Signals, not time: a program that is not running gets none. More of them would only make a larger trace.
  while (handled < 100) {
    for (int i = 0; i < 1000; ++i) free(malloc(64));
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  printf("%d\n", handled >= 100);
  return 0;
}
