// Embeds an interpreter it opens by hand: host LIBPYTHON local|global CYCLES SCRIPT
//
// Each cycle initialises, runs SCRIPT and finalises. With "local" the library's symbols are not in the global scope.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int scope = strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
  void* python = dlopen(argv[1], RTLD_NOW | scope);
  if (python == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  void (*notice)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "probe_notice_modules");
  if (notice != NULL) notice();
  void (*initialize)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
  int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
  int (*run)(const char*) = (int (*)(const char*))dlsym(python, "PyRun_SimpleString");

  FILE* file = fopen(argv[4], "r");
  if (file == NULL) return 2;
  static char script[1 << 16];
  script[fread(script, 1, sizeof(script) - 1, file)] = '\0';
  fclose(file);
  for (int cycle = 0; cycle < atoi(argv[3]); ++cycle) {
    initialize();
    if (run(script) != 0) return 1;
    if (finalize() != 0) return 1;
  }
  return 0;
}
