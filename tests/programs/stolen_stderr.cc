// Closes stderr and gets a file of its own under that number, then allocates until any disk is full.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int, char** argv) {
  close(2);
  if (open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) != 2) return 1;
  for (int i = 0; i < 300000; ++i) free(malloc(static_cast<size_t>(i % 5000)));
  return 0;
}
