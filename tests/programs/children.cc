// Makes one child, which allocates 500 blocks of 10005 bytes and ends. argv[1]: fork, clone, vfork, spawn,
// daemon or none. The parent keeps 3 blocks of 10001 bytes, before and after.
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void* kept[500];

static void Allocate() {
  for (auto& block : kept) block = malloc(10005);
}

int main(int argc, char** argv) {
  const char* way = argv[1];
  if (argc > 2) {  // the spawned one
    Allocate();
    return 7;
  }
  void* mine[3];
  mine[0] = malloc(10001);
  int status = 0;
  pid_t child = 0;
  if (!strcmp(way, "fork")) {
    child = fork();
    if (child == 0) {
      Allocate();
      free(mine[0]);
      exit(7);
    }
  } else if (!strcmp(way, "clone")) {
    child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) {
      Allocate();
      free(mine[0]);
      syscall(SYS_exit_group, 7);
    }
  } else if (!strcmp(way, "vfork")) {
    child = vfork();
    if (child == 0) _exit(7);
  } else if (!strcmp(way, "spawn")) {
    char* const arguments[] = {argv[0], argv[1], const_cast<char*>("child"), nullptr};
    posix_spawn(&child, argv[0], nullptr, nullptr, arguments, environ);
  } else if (!strcmp(way, "daemon")) {
    child = fork();
    if (child == 0) {
      if (daemon(1, 1) != 0) return 1;
      Allocate();
      exit(0);
    }
  }
  mine[1] = malloc(10001);
  if (child != 0) waitpid(child, &status, 0);
  mine[2] = malloc(10001);
  printf("%d %d\n", child != 0 ? WEXITSTATUS(status) : -1, mine[2] != nullptr);
  return 0;
}
