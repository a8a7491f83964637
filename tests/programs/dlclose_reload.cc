// Loads, uses and unloads plugin.so argv[1] times.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

int main(int, char** argv) {
  const std::string path = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/')) + "/plugin.so";
  for (int i = 0; i < atoi(argv[1]); ++i) {
    void* handle = dlopen(path.c_str(), RTLD_NOW);
    if (handle == nullptr) return 1;
    auto* allocate = reinterpret_cast<void* (*)(size_t)>(dlsym(handle, "plugin_alloc"));
    void* p = allocate(10202);
    dlclose(handle);
    free(p);
  }
  puts("done");
  return 0;
}
