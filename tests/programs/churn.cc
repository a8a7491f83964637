// argv[1] rounds of allocating and freeing 100 blocks of 1 to 20000 bytes, then keeps 5 blocks of 10001
// bytes.
#include <stdio.h>
#include <stdlib.h>

int main(int, char** argv) {
  void* blocks[100];
  for (long i = 0; i < atol(argv[1]); ++i) {
    for (int j = 0; j < 100; ++j)
      blocks[j] = malloc(static_cast<size_t>((i * 7919 + j * 104729) % 20000 + 1));
    for (int j = 0; j < 100; ++j) free(blocks[j]);
  }
  for (int j = 0; j < 5; ++j) blocks[j] = malloc(10001);
  puts("done");
  return 0;
}
