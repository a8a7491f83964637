// Writes every usable byte of many blocks: nothing of ours may live inside them.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main() {
  static void* blocks[2000];
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 2000; ++i) {
      blocks[i] = malloc(static_cast<size_t>(i * 13 + round));
      memset(blocks[i], i, malloc_usable_size(blocks[i]));
    }
    for (int i = 0; i < 2000; ++i) {
      const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
      if (malloc_usable_size(blocks[i]) != 0 && bytes[malloc_usable_size(blocks[i]) - 1] != (i & 255))
        return 1;
      free(blocks[i]);
    }
  }
  puts("ok");
  return 0;
}
