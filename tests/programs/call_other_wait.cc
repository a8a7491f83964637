// Calls a library's own wait(), which takes a number.
#include <stdio.h>

int OtherWait(int seconds) __asm__("wait");

int main() {
  printf("%d %d\n", OtherWait(0), OtherWait(41));
  return 0;
}
