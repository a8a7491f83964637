// Logs what it does: four threads allocate, pass on, grow and free blocks whose size names their call site
// (10001 to 10008) and keep some. At the end prints per site "size live_count live_bytes allocs". argv[1]:
// operations per thread, argv[2]: seed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

constexpr int kSites = 8;
static std::atomic<long> allocs[kSites];
static std::atomic<long> live[kSites];
static long operations;
static unsigned seed;

struct Block {
  int site;
};
// Blocks travel between threads here.
static std::atomic<Block*> exchange_slots[64];

template <int kSite>
[[gnu::noinline]] static Block* AllocateAt() {
  auto* block = static_cast<Block*>(malloc(10001 + kSite));
  block->site = kSite;
  ++allocs[kSite];
  ++live[kSite];
  return block;
}

static Block* Allocate(unsigned site) {
  switch (site % kSites) {
    case 0:
      return AllocateAt<0>();
    case 1:
      return AllocateAt<1>();
    case 2:
      return AllocateAt<2>();
    case 3:
      return AllocateAt<3>();
    case 4:
      return AllocateAt<4>();
    case 5:
      return AllocateAt<5>();
    case 6:
      return AllocateAt<6>();
    default:
      return AllocateAt<7>();
  }
}

static void Free(Block* block) {
  if (block == nullptr) return;
  --live[block->site];
  free(block);
}

// Becomes a block of the next site.
static Block* Grow(Block* block) {
  const int next = (block->site + 1) % kSites;
  --live[block->site];
  block = static_cast<Block*>(realloc(block, static_cast<size_t>(10001 + next)));
  block->site = next;
  ++allocs[next];
  ++live[next];
  return block;
}

static void* Work(void* number) {
  unsigned state = seed + static_cast<unsigned>(reinterpret_cast<long>(number));
  for (long i = 0; i < operations; ++i) {
    state = state * 1664525 + 1013904223;
    Block* block = Allocate(state >> 24);
    if ((state >> 20) % 5 == 0) block = Grow(block);
    Free(exchange_slots[(state >> 10) % 64].exchange(block));
    for (int j = 0; j < 3; ++j) free(malloc((state >> j) % 3000));
  }
  return nullptr;
}

int main(int, char** argv) {
  operations = atol(argv[1]);
  seed = static_cast<unsigned>(atoi(argv[2]));
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, Work, reinterpret_cast<void*>(i));
  for (auto& thread : threads) pthread_join(thread, nullptr);
  for (int i = 0; i < kSites; ++i) {
    printf("%d %ld %ld %ld\n", 10001 + i, live[i].load(), live[i].load() * (10001 + i), allocs[i].load());
  }
  return 0;
}
