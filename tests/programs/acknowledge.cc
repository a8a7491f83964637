// Four threads keep blocks of 10001 bytes and count each one after malloc returned, in shared memory: argv[1]
// is a file of four 64-bit counters. Runs until it is killed; frees other blocks all the time.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t* acknowledged;

static void* Work(void* number) {
  const long index = reinterpret_cast<long>(number);
  for (;;) {
    void* kept = malloc(10001);
    if (kept == nullptr) pause();
    __atomic_store_n(&acknowledged[index], acknowledged[index] + 1, __ATOMIC_RELEASE);
    for (size_t i = 1; i < 20; ++i) free(malloc(i * 37));
  }
  return nullptr;
}

int main(int, char** argv) {
  const int fd = open(argv[1], O_RDWR);
  acknowledged = static_cast<uint64_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, Work, reinterpret_cast<void*>(i));
  for (auto& thread : threads) pthread_join(thread, nullptr);
  return 0;
}
