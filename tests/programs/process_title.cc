// Sets its process title as setproctitle() does: over the memory of its arguments and its environment. Then forks
// three children, each of which keeps a block of 20005 bytes. Works in a directory of its own and says how many
// files it finds there at the end.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void* kept;

// The end of the strings that lie one behind the other, from argv[0] on.
static char* EndOfStrings(char** argv) {
  char* end = argv[0];
  for (char** text = argv; *text != nullptr; ++text) {
    if (*text == end) end += strlen(*text) + 1;
  }
  for (char** text = environ; *text != nullptr; ++text) {
    if (*text == end) end += strlen(*text) + 1;
  }
  return end;
}

static void SetTitle(char** argv) {
  char* const begin = argv[0];
  char* const end = EndOfStrings(argv);
  size_t count = 0;
  while (environ[count] != nullptr) ++count;
  char** moved = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  for (size_t i = 0; i < count; ++i) moved[i] = strdup(environ[i]);
  environ = moved;
  memset(begin, 'w', static_cast<size_t>(end - begin) - 1);
  end[-1] = 0;
}

int main(int, char** argv) {
  char directory[] = "/tmp/plateau-title-XXXXXX";
  if (mkdtemp(directory) == nullptr || chdir(directory) != 0) return 2;
  SetTitle(argv);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      kept = malloc(20005);
      exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  int files = 0;
  DIR* here = opendir(".");
  while (dirent* entry = readdir(here)) files += entry->d_name[0] != '.';
  closedir(here);
  printf("%d files in the working directory\n", files);
  if (files == 0) rmdir(directory);
  return 0;
}
