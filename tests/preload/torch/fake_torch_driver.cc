// Opens a stand-in for libtorch as Python does and trains with it; exits 0 when nothing was disturbed. With a second argument
// it runs until its standard input has a line, and prints how many callbacks torch has then.
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>

static bool HasLine() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 1) != 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (argc > 2) {
    auto* run = reinterpret_cast<size_t (*)(bool (*)())>(dlsym(library, "fake_torch_run"));
    if (run == nullptr) return 2;
    printf("pid %d\n", getpid());
    fflush(stdout);
    printf("%zu callbacks\n", run(&HasLine));
    return 0;
  }
  auto* train = reinterpret_cast<int (*)()>(dlsym(library, "fake_torch_train"));
  return train == nullptr ? 2 : train();
}
