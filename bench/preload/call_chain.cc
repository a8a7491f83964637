#include "bench/preload/call_chain.h"

namespace plateau::bench {
namespace {

// Distinct code for each kVariant, and a frame of its own size. The asm keeps the compiler from merging or
// tail calls.
template <unsigned kVariant>
[[gnu::noinline]] void Level(unsigned depth, Callback callback, void* argument) {
  volatile char frame[16 + 16 * (kVariant % 5)];
  frame[0] = static_cast<char>(kVariant);
  if (depth == 0) {
    callback(argument);
  } else {
    Level<(kVariant + 1) % 16>(depth - 1, callback, argument);
  }
  asm volatile("" : : "r"(frame), "i"(kVariant) : "memory");
}

template <unsigned kVariant>
[[gnu::noinline]] void Leaf(uint64_t path, Callback callback, void* argument) {
  volatile char frame[24 + 8 * (kVariant % 3)];
  frame[0] = 1;
  const unsigned kind = path & 3;
  if constexpr (kVariant >= 2) {
    callback(argument);
  } else if (kind == 0) {
    callback(argument);
  } else if (kind == 1) {
    Leaf<kVariant + 1>(path >> 2, callback, argument);
  } else if (kind == 2) {
    Leaf<kVariant + 1>((path >> 2) ^ 1, callback, argument);
  } else {
    Leaf<2>(path >> 2, callback, argument);
  }
  asm volatile("" : : "r"(frame), "i"(kVariant) : "memory");
}

}  // namespace

void CallDeep(unsigned depth, Callback callback, void* argument) {
  Level<0>(depth, callback, argument);
  asm volatile("" : : : "memory");
}

[[gnu::noinline]] void CallThroughLeaf(uint64_t path, Callback callback, void* argument) {
  Leaf<0>(path, callback, argument);
  asm volatile("" : : : "memory");
}

[[gnu::noinline]] void CallFromSite(bool second_site, unsigned depth, Callback callback, void* argument) {
  if (second_site) {
    Level<3>(depth, callback, argument);
    asm volatile("nop" : : : "memory");
  } else {
    Level<3>(depth, callback, argument);
    asm volatile("" : : : "memory");
  }
}

}  // namespace plateau::bench
