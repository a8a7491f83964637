// Makes a child every 10 ms until its standard input ends. The children allocate, open a library and end with 7; the parent
// allocates nothing after its first line. Ends with the number of children that ended otherwise.
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  printf("pid %d\n", getpid());
  fflush(stdout);
  int bad = 0;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 10) == 0) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // of a child that waits for ever
      for (int i = 0; i < 1000; ++i) free(malloc(20002));
      _exit(dlopen("libz.so.1", RTLD_NOW) != nullptr ? 7 : 8);
    }
    int status = 0;
    bad += waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
  }
  return bad;
}
