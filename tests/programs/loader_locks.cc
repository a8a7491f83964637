// For argv[1] milliseconds: one thread loads and unloads an object whose constructor allocates, one walks the
// loaded objects and allocates in the callback, two allocate. Nobody may wait for ever.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <string>

static std::atomic<bool> stop;
static std::string plugin;

static void* Load(void*) {
  while (!stop) dlclose(dlopen(plugin.c_str(), RTLD_NOW));
  return nullptr;
}
static int OnObject(dl_phdr_info*, size_t, void*) {
  free(malloc(10001));
  return 0;
}
static void* Walk(void*) {
  while (!stop) dl_iterate_phdr(OnObject, nullptr);
  return nullptr;
}
static void* Allocate(void*) {
  while (!stop) free(malloc(10002));
  return nullptr;
}

int main(int, char** argv) {
  plugin = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/')) + "/plugin.so";
  pthread_t threads[4];
  void* (*const work[4])(void*) = {Load, Walk, Allocate, Allocate};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, work[i], nullptr);
  usleep(static_cast<useconds_t>(atoi(argv[1])) * 1000);
  stop = true;
  for (auto& thread : threads) pthread_join(thread, nullptr);
  puts("done");
  return 0;
}
