// Becomes itself argv[1] more times by exec, allocating a block of 10001 bytes each time.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int, char** argv) {
  void* kept = malloc(10001);
  const int left = atoi(argv[1]);
  if (left == 0) {
    printf("end %d\n", kept != nullptr);
    return 0;
  }
  char next[16];
  snprintf(next, sizeof(next), "%d", left - 1);
  execl(argv[0], argv[0], next, nullptr);
  return 1;
}
