// Allocates before any constructor of the shim can have run: in an IFUNC resolver and in .preinit_array.
// Keeps both.
#include <stdio.h>
#include <stdlib.h>

static void* from_preinit;
static int (*Resolve(void))(void);
int Answer(void) __attribute__((ifunc("_ZL7Resolvev")));

static int FortyTwo(void) { return 42; }
static int (*Resolve(void))(void) { return FortyTwo; }

static void BeforeConstructors(int, char**, char**) {
  free(malloc(10001));
  from_preinit = malloc(10002);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char**,
                                                                        char**) = BeforeConstructors;

int main() {
  void* late = malloc(10003);
  printf("%d %d %d\n", Answer(), from_preinit != nullptr, late != nullptr);
  free(from_preinit);
  from_preinit = malloc(10004);
  return 0;
}
