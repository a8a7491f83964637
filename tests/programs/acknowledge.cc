// Threads keep blocks of 10001 bytes and count each one after malloc returned, in shared memory: argv[1] is a file that begins with four
// 64-bit counters. Runs until it is killed; frees other blocks all the time. argv[2]:
//   (none)    four threads that live on
//   threads   threads that end after 20 blocks, four at a time
//   forks     two threads that live on, and children, one after the other, which keep 20 blocks each. From the eighth number of the file on
//             each child has two: its process id and its counter
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t* acknowledged;
static constexpr uint64_t kBlocksOfShortLife = 20;

static void Keep(volatile uint64_t* counter) {
  void* kept = malloc(10001);
  if (kept == nullptr) pause();
  __atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
  for (size_t i = 1; i < 20; ++i) free(malloc(i * 37));
}

static void* Work(void* number) {
  for (;;) Keep(&acknowledged[reinterpret_cast<long>(number)]);
}

static void* WorkShortly(void* number) {
  for (uint64_t i = 0; i < kBlocksOfShortLife; ++i) Keep(&acknowledged[reinterpret_cast<long>(number)]);
  return nullptr;
}

static void StartThreads(long count, void* (*work)(void*), pthread_t* threads) {
  for (long i = 0; i < count; ++i) pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
}

static void Fork(volatile uint64_t* child_numbers) {
  const pid_t child = fork();
  if (child == 0) {
    __atomic_store_n(&child_numbers[0], static_cast<uint64_t>(getpid()), __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < kBlocksOfShortLife; ++i) Keep(&child_numbers[1]);
    exit(0);
  }
  waitpid(child, nullptr, 0);
}

int main(int argc, char** argv) {
  const char* way = argc > 2 ? argv[2] : "";
  const int fd = open(argv[1], O_RDWR);
  struct stat file;
  fstat(fd, &file);
  const auto bytes = static_cast<size_t>(file.st_size);
  acknowledged = static_cast<uint64_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  pthread_t threads[4];
  if (strcmp(way, "forks") == 0) {
    StartThreads(2, Work, threads);
    for (size_t next = 8; next + 2 <= bytes / sizeof(uint64_t); next += 2) Fork(&acknowledged[next]);
    pause();
  }
  const bool is_short = strcmp(way, "threads") == 0;
  do {
    StartThreads(4, is_short ? WorkShortly : Work, threads);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  } while (is_short);
  return 0;
}
