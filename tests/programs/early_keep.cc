// Allocates in .preinit_array, grows and frees those blocks in main: with another allocator behind the shim
// they must still go back to the one they came from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* early[64];

static void BeforeConstructors(int, char**, char**) {
  for (int i = 0; i < 64; ++i) {
    early[i] = static_cast<char*>(malloc(10001));
    memset(early[i], i, 10001);
  }
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char**,
                                                                        char**) = BeforeConstructors;

int main() {
  for (int i = 0; i < 32; ++i) early[i] = static_cast<char*>(realloc(early[i], 20002));
  for (int i = 0; i < 64; ++i) {
    if (early[i][10000] != i) return 1;
    free(early[i]);
  }
  for (int i = 0; i < 1000; ++i) free(malloc(10003));
  puts("ok");
  return 0;
}
