// Loads memory into the cache before it is used.
//
// Harmless for any address, even one that is not mapped. Never blocks.
#ifndef PLATEAU_ANALYZER_BASE_PREFETCH_H_
#define PLATEAU_ANALYZER_BASE_PREFETCH_H_

namespace plateau {

// GCC takes a function that does nothing but __builtin_prefetch() for one without effect and drops the calls
// to it, and with them the prefetches. The empty assembly is the effect that keeps them.
[[gnu::always_inline]] inline void PrefetchForWriting(const void* memory) {
  __builtin_prefetch(memory, 1);
  asm volatile("" : : "r"(memory));
}

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_PREFETCH_H_
