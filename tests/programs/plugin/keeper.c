/* Opened by attach_target after the recording has begun: keeps 20 blocks of 40004 bytes and frees ten of them. */
#include <stdlib.h>
#include <string.h>

static char* kept[20];

void keep(void) {
  for (int i = 0; i < 20; ++i) {
    kept[i] = malloc(40004);
    memset(kept[i], 1, 40004);
  }
  for (int i = 0; i < 10; ++i) free(kept[i]);
}
