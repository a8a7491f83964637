// Looks like a program of musl: its loader's name says so, though it is glibc's under a link. Prints the LD_PRELOAD that it
// was given, and its arguments.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const char* preload = getenv("LD_PRELOAD");
  printf("preload=%s", preload == NULL ? "(none)" : preload);
  for (int i = 1; i < argc; ++i) printf(" %s", argv[i]);
  puts("");
  return 0;
}
