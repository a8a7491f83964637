// Opens a stand-in for libtorch as Python does and trains with it; exits 0 when nothing was disturbed.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  auto* train = reinterpret_cast<int (*)()>(dlsym(library, "fake_torch_train"));
  return train == nullptr ? 2 : train();
}
