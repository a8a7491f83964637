// Calls a library's own wait(), which takes seven arguments of several kinds and returns a pointer.
#include <stdio.h>

const char* OtherWait(long a, const char* text, double half, int c, long d, long e, long f) __asm__("wait");

int main() {
  static const char kText[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  printf("%s %s\n", OtherWait(0, kText, 0, 30, 1, 2, 0), OtherWait(1, kText, 1.5, 3, 4, 20, 2));
  return 0;
}
