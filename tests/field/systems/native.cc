// Without an argument: keeps a block in each of 150 steps, which are three passes over the data. With one: opens that library
// and lets four threads work in it, 50 blocks each.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

void* volatile kept[150];

static void Keep(int step) {
  void* block = std::malloc(70001);  // THE LINE
  std::memset(block, 1, 70001);
  kept[step] = block;
}

static void (*work)(int);

extern "C" void* ThreadMain(void*) {
  for (int i = 0; i < 50; ++i) work(i);
  return nullptr;
}

int main(int count, char** arguments) {
  if (count == 1) {
    using Mark = void (*)(const char*);
    const auto step_ends = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "plateau_mark_step"));
    const auto epoch_ends = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "plateau_mark_epoch"));
    for (int step = 0; step < 150; ++step) {
      Keep(step);
      if (step_ends != nullptr) step_ends(nullptr);
      if (epoch_ends != nullptr && step % 50 == 49) epoch_ends(nullptr);
    }
    return 0;
  }
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  work = reinterpret_cast<void (*)(int)>(dlsym(library, "PluginWork"));
  pthread_t threads[4];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, ThreadMain, nullptr);
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  return 0;
}
