// Starts argv[2] with the arguments "a" and "b" in every way that the C library has; argv[1] names it.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

extern char** environ;

static int Start(const std::string& way, const char* path, const char* name) {
  char* arguments[] = {const_cast<char*>(name), const_cast<char*>("a"), const_cast<char*>("b"), nullptr};
  if (way == "execve") return execve(path, arguments, environ);
  if (way == "execv") return execv(path, arguments);
  if (way == "execvp") return execvp(name, arguments);
  if (way == "execvpe") return execvpe(name, arguments, environ);
  if (way == "execl") return execl(path, name, "a", "b", nullptr);
  if (way == "execlp") return execlp(name, name, "a", "b", nullptr);
  if (way == "execle") return execle(path, name, "a", "b", nullptr, environ);
  if (way == "fexecve") return fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
  pid_t child = 0;
  const int error = way == "spawn" ? posix_spawn(&child, path, nullptr, nullptr, arguments, environ)
                                   : posix_spawnp(&child, name, nullptr, nullptr, arguments, environ);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

int main(int, char** argv) {
  const char* name = strrchr(argv[2], '/') + 1;
  Start(argv[1], argv[2], name);
  printf("errno %d\n", errno);
  return 1;
}
