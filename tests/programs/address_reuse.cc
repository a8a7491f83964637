// Eight threads pass few addresses around: a block freed by one is at once another's. argv[1]: rounds per
// thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

static std::atomic<void*> mailbox[4];
static long rounds;

static void* Work(void*) {
  for (long i = 0; i < rounds; ++i) {
    void* mine = malloc(10001);
    void* old = mailbox[i % 4].exchange(mine);
    if (i % 3 == 0) {
      old = realloc(old, 10002);  // null is fine: then it is a malloc
    }
    free(old);
  }
  return nullptr;
}

int main(int, char** argv) {
  rounds = atol(argv[1]);
  pthread_t threads[8];
  for (auto& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  for (auto& thread : threads) pthread_join(thread, nullptr);
  for (auto& slot : mailbox) free(slot.exchange(nullptr));
  puts("done");
  return 0;
}
