/* Asks for a walk for holders at every thousandth pending call, and makes pending calls without an end.
 *
 *   ctypes.CDLL("storm.so").start()      with plateau in the process; tests/field/holders/cpython_tests.sh
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

static int (*add_pending_call)(int (*)(void*), void*);
static int (*holders)(void);
static unsigned calls;
static pthread_t thread;
static volatile int is_over;

static int on_call(void* unused) {
  (void)unused;
  if (++calls % 1000 == 0) holders();
  return 0;
}

static void* ask(void* unused) {
  const struct timespec pause = {0, 20000};
  (void)unused;
  while (!is_over) {
    add_pending_call(on_call, 0);
    nanosleep(&pause, 0);
  }
  return 0;
}

/* Before the interpreter ends. */
void stop(void) {
  is_over = 1;
  if (thread) pthread_join(thread, 0);
  thread = 0;
}

void start(void) {
  add_pending_call = (int (*)(int (*)(void*), void*))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
  holders = (int (*)(void))dlsym(RTLD_DEFAULT, "plateau_mark_holders");
  if (add_pending_call && holders && pthread_create(&thread, 0, ask, 0) != 0) thread = 0;
}
