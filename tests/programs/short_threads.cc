// argv[1] threads in batches of argv[2] (8 when not given), which live at the same time; each keeps one block of 10001 bytes and has a
// thread_local object and a key destructor that free a block of 10002 bytes as late as they can.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static pthread_key_t key;
static pthread_barrier_t all_there;

struct Late {
  void* block = nullptr;
  ~Late() { free(block); }
};
static thread_local Late late;

static void OnEnd(void* block) { free(block); }

static void* Work(void*) {
  late.block = malloc(10002);
  pthread_setspecific(key, malloc(10002));
  void* kept = malloc(10001);
  pthread_barrier_wait(&all_there);
  return kept;
}

int main(int argc, char** argv) {
  pthread_key_create(&key, OnEnd);
  const int count = atoi(argv[1]);
  const int batch = argc > 2 ? atoi(argv[2]) : 8;
  pthread_t* const threads =
      static_cast<pthread_t*>(mmap(nullptr, sizeof(pthread_t) * static_cast<size_t>(batch),
                                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  pthread_barrier_init(&all_there, nullptr, static_cast<unsigned>(batch));
  for (int done = 0; done < count; done += batch) {
    for (int i = 0; i < batch; ++i) {
      if (pthread_create(&threads[i], nullptr, Work, nullptr) != 0) return 1;
    }
    for (int i = 0; i < batch; ++i) pthread_join(threads[i], nullptr);
  }
  puts("done");
  return 0;
}
