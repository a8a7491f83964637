// A library that is opened while the program runs. Every block it keeps has one stack.
#include <cstdlib>
#include <cstring>

static void* kept[4 * 50];
static int next_one = 0;

extern "C" void Innermost(int i) {
  void* block = std::malloc(30001 + i);
  std::memset(block, 1, 30001);
  kept[__atomic_fetch_add(&next_one, 1, __ATOMIC_RELAXED)] = block;
}
extern "C" void Middle(int i) {
  Innermost(i);
  __asm__ volatile("");
}
extern "C" void PluginWork(int i) {
  Middle(i);
  __asm__ volatile("");
}
