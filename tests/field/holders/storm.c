/* Asks for a walk for holders at every thousandth pending call, and makes pending calls without an end: as many as the
 * interpreter's queue takes each millisecond, so that a busy machine sees walks too.
 *
 *   ctypes.CDLL("storm.so").start()      with plateau in the process; tests/field/holders/cpython_tests.py
 *
 * At the end the number of walks is added as a line to the file that STORM_COUNT names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int (*add_pending_call)(int (*)(void*), void*);
static int (*holders)(void);
static int (*ensure)(void);
static void (*release)(int);
static void* (*let_go)(void);
static void (*take)(void*);
static unsigned calls, walks;
static pthread_t thread;
static volatile int is_over;

static int on_call(void* unused) {
  (void)unused;
  if (++calls % 1000 == 0 && holders() >= 0) ++walks;
  return 0;
}

static void* ask(void* unused) {
  const struct timespec pause = {0, 1000000};
  const int state = ensure ? ensure() : 0;
  void* own = ensure ? let_go() : 0;
  (void)unused;
  while (!is_over) {
    for (int i = 0; i < 31 && add_pending_call(on_call, 0) == 0; ++i) continue;
    /* Up to 3.11 the main thread looks for calls of other threads when one of them waits for the interpreter's lock. */
    if (ensure) take(own), own = let_go();
    nanosleep(&pause, 0);
  }
  if (ensure) take(own), release(state);
  return 0;
}

static void write_count(void) {
  const char* const path = getenv("STORM_COUNT");
  char line[16];
  const int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (file < 0) return;
  if (write(file, line, (size_t)snprintf(line, sizeof(line), "%u\n", walks)) < 0) walks = 0;
  close(file);
}

/* Before the interpreter ends. */
void stop(void) {
  is_over = 1;
  if (thread) {
    pthread_join(thread, 0);
    write_count();
  }
  thread = 0;
}

static void forget(void) { thread = 0; }

/* Whether it has started now: an interpreter inside of this one finds it running. */
int start(void) {
  if (add_pending_call) return 0;
  add_pending_call = (int (*)(int (*)(void*), void*))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
  holders = (int (*)(void))dlsym(RTLD_DEFAULT, "plateau_mark_holders");
  release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
  let_go = (void* (*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
  take = (void (*)(void*))dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
  const unsigned long* const version = (const unsigned long*)dlsym(RTLD_DEFAULT, "Py_Version");
  if (!version || *version < 0x030c0000) ensure = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  pthread_atfork(0, 0, forget);
  if (add_pending_call && holders && pthread_create(&thread, 0, ask, 0) != 0) thread = 0;
  return thread != 0;
}
