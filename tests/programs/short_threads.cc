// argv[1] threads, one after the other in batches of 8; each keeps one block of 10001 bytes and has a
// thread_local object and a key destructor that free a block of 10002 bytes as late as they can.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;

struct Late {
  void* block = nullptr;
  ~Late() { free(block); }
};
static thread_local Late late;

static void OnEnd(void* block) { free(block); }

static void* Work(void*) {
  late.block = malloc(10002);
  pthread_setspecific(key, malloc(10002));
  return malloc(10001);
}

int main(int, char** argv) {
  pthread_key_create(&key, OnEnd);
  const int count = atoi(argv[1]);
  for (int done = 0; done < count; done += 8) {
    pthread_t threads[8];
    for (auto& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
    for (auto& thread : threads) pthread_join(thread, nullptr);
  }
  puts("done");
  return 0;
}
