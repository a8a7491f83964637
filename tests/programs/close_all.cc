// Closes every descriptor, as daemons do, opens its own file on all numbers, and goes on allocating. Nothing
// of ours may end up in that file.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int, char** argv) {
  for (int i = 0; i < 20000; ++i) free(malloc(10001));
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  const int mine = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (int fd = 100; fd < 1000; ++fd) dup2(mine, fd);
  for (int i = 0; i < 100000; ++i) free(malloc(10002));
  struct stat info;
  fstat(mine, &info);
  printf("%ld bytes\n", static_cast<long>(info.st_size));
  return info.st_size != 0;
}
