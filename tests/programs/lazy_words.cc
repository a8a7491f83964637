// Binds its words at the first call: waits for a byte on standard input between the start and the first malloc of its own.
#include <unistd.h>

#include <cstdlib>

int main() {
  char byte;
  if (write(1, "r", 1) != 1) return 1;
  while (read(0, &byte, 1) == 1) {
    void* p = malloc(10001);
    free(p);
    if (write(1, "d", 1) != 1) return 1;
  }
  return 0;
}
