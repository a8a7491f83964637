// Logs what it does: four threads allocate, pass on, grow and free blocks whose size names their call site
// and keep some: AllocateAt<0> to AllocateAt<7> ask for 10001 to 10008 bytes, GrowAt<0> to GrowAt<7> for
// 10009 to 10016. At the end prints per size "size live_count live_bytes allocs" and then per site "NAME
// live_count live_bytes": a block that grew stays one object of the site that made it, what it grew by
// belongs to the site that made it grow. argv[1]: operations per thread, argv[2]: seed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>

constexpr int kSitesPerCall = 8;
constexpr int kSites = 2 * kSitesPerCall;  // of malloc, then of realloc
static std::atomic<long> allocs[kSites];
static std::atomic<long> live[kSites];
static long operations;
static unsigned seed;

struct Block {
  int site;   // of its last request, which names its size
  int birth;  // of its first one
};
static std::atomic<long> site_count[kSites];
static std::atomic<long> site_bytes[kSites];

static void Book(const Block& block, int sign) {
  site_count[block.birth] += sign;
  site_bytes[block.birth] += sign * (10001 + block.birth);
  if (block.site != block.birth) site_bytes[block.site] += sign * (block.site - block.birth);
}
// Blocks travel between threads here.
static std::atomic<Block*> exchange_slots[64];

template <int kSite>
[[gnu::noinline]] static Block* AllocateAt() {
  auto* block = static_cast<Block*>(malloc(10001 + kSite));
  block->site = block->birth = kSite;
  Book(*block, 1);
  ++allocs[kSite];
  ++live[kSite];
  return block;
}

template <int kSite>
[[gnu::noinline]] static Block* GrowAt(Block* block) {
  constexpr int kOwn = kSitesPerCall + kSite;
  --live[block->site];
  Book(*block, -1);
  block = static_cast<Block*>(realloc(block, 10001 + kOwn));
  block->site = kOwn;
  Book(*block, 1);
  ++allocs[kOwn];
  ++live[kOwn];
  return block;
}

static Block* Allocate(unsigned choice) {
  static constexpr Block* (*kCalls[])() = {AllocateAt<0>, AllocateAt<1>, AllocateAt<2>, AllocateAt<3>,
                                           AllocateAt<4>, AllocateAt<5>, AllocateAt<6>, AllocateAt<7>};
  return kCalls[choice % kSitesPerCall]();
}

static Block* Grow(Block* block, unsigned choice) {
  static constexpr Block* (*kCalls[])(Block*) = {GrowAt<0>, GrowAt<1>, GrowAt<2>, GrowAt<3>,
                                                 GrowAt<4>, GrowAt<5>, GrowAt<6>, GrowAt<7>};
  return kCalls[choice % kSitesPerCall](block);
}

static void Free(Block* block) {
  if (block == nullptr) return;
  --live[block->site];
  Book(*block, -1);
  free(block);
}

static void* Work(void* number) {
  unsigned state = seed + static_cast<unsigned>(reinterpret_cast<long>(number));
  for (long i = 0; i < operations; ++i) {
    state = state * 1664525 + 1013904223;
    Block* block = Allocate(state >> 24);
    if ((state >> 20) % 5 == 0) block = Grow(block, state >> 16);
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
  for (int i = 0; i < kSites; ++i) {
    printf("%s<%d> %ld %ld\n", i < kSitesPerCall ? "AllocateAt" : "GrowAt", i % kSitesPerCall,
           site_count[i].load(), site_bytes[i].load());
  }
  return 0;
}
