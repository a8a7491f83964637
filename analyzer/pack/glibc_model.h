// An imitation of glibc's malloc (as of 2.36) in a program of one thread: the thread's cache, fast bins,
// unsorted, small and large bins, merging, the top of the heap, realloc.
//
// It sees no memory, only calls, and is exact as long as it is told of all of them. It need not be right:
// what it did not foresee is corrected and it goes on from there. Any calls with any numbers are safe, and
// none takes longer than some ten thousand steps.
//
//   if (model.Cached(bytes, false) == address) model.TakeCached(bytes);
//   else if (chunk = model.Take(bytes, false); chunk.address() != address) model.Correct(chunk, ...);
#ifndef PLATEAU_ANALYZER_PACK_GLIBC_MODEL_H_
#define PLATEAU_ANALYZER_PACK_GLIBC_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/pack/free_chunks.h"

namespace plateau {

template <typename Coder>
class GlibcStateCodec;

class GlibcModel {
 public:
  // Where a chunk comes from.
  enum class Source : uint8_t {
    kFast,
    kSmall,
    kUnsorted,
    kRemainder,
    kLarge,
    kLarger,
    kTop,
    kInPlace,
    kNowhere,
  };
  static constexpr size_t kSources = 9;
  struct Chunk {
    uint64_t start = 0;
    uint64_t bytes = 0;  // 0: none
    Source source = Source::kNowhere;

    uint64_t address() const { return start + kHeaderBytes; }
  };

  // Of the chunk for a request.
  static uint64_t ChunkBytes(uint64_t bytes) {
    return std::max((std::min(bytes, kMostBytes) + 8 + 15) / 16 * 16, kLeast);
  }

  // `bytes` are always of the chunk; 0: not known. An object that is freed by realloc() is kept until it is
  // known what for. All others wait for the next allocation too: there may be none.
  void OnFree(uint64_t address, uint64_t bytes, bool is_realloc) {
    if (held_.bytes != 0) waiting_.push_back(std::exchange(held_, {}));
    const Freed freed = {address - kHeaderBytes, bytes};
    if (bytes == 0 || !IsPossible(freed.start)) return;
    if (is_realloc) {
      held_ = freed;
    } else {
      waiting_.push_back(freed);
    }
  }
  // Nothing waits any more but what realloc() freed last.
  void Settle() {
    for (const Freed& freed : waiting_) Free(freed.start, freed.bytes);
    waiting_.clear();
  }

  // The address that the thread's cache would hand out, or 0. realloc() does not ask it.
  uint64_t Cached(uint64_t bytes, bool is_realloc) {
    if (is_realloc) return 0;
    if (held_.bytes != 0) waiting_.push_back(std::exchange(held_, {}));
    Settle();
    return HasCached(bytes) ? NewestCached(bytes) + kHeaderBytes : 0;
  }
  void TakeCached(uint64_t bytes) {
    if (HasCached(bytes)) --caches_[bytes / 16].count;
  }
  // Hands out a chunk without asking the cache.
  Chunk Take(uint64_t bytes, bool is_realloc) {
    Settle();
    const Freed held = std::exchange(held_, {});
    return is_realloc && held.bytes != 0 ? Reallocate(held.start, held.bytes, bytes) : Take(bytes);
  }
  // It was neither `refused`, which Take() returned, nor what the cache had, if it was asked, but this
  // address.
  void Correct(const Chunk& refused, bool was_cached, uint64_t address, uint64_t bytes) {
    Return(refused);
    if (was_cached) TakeCached(bytes);
    Claim(address - kHeaderBytes, bytes);
  }

 private:
  template <typename Coder>
  friend class GlibcStateCodec;

  static constexpr uint64_t kHeaderBytes = 16;  // from a chunk's start to the address
  static constexpr uint64_t kLeast = 32;        // bytes of a chunk
  static constexpr uint64_t kMostBytes = uint64_t{1} << 46;
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kTopPad = 128 << 10;
  static constexpr uint64_t kMostStep = 1 << 20;
  static constexpr uint64_t kMostMapFrom = 32 << 20;
  static constexpr uint64_t kConsolidateFrom = 64 << 10;
  static constexpr uint64_t kMostFast = 128;
  static constexpr uint64_t kMostCacheable = 1040;
  static constexpr size_t kMostCached = 7;
  static constexpr size_t kMostSearched = 64;
  static constexpr int kMostSorted = 10000;

  struct Freed {
    uint64_t start = 0, bytes = 0;
  };
  struct Cache {
    std::array<uint64_t, kMostCached> starts = {};  // newest last
    size_t count = 0;
  };

  Chunk Take(uint64_t bytes) {
    if (bytes <= kMostFast && !fast_[bytes / 16].empty()) return TakeFast(bytes);
    if (bytes < FreeChunks::kLarge) {
      if (const uint32_t id = free_.Back(FreeChunks::BinOf(bytes)); id != FreeChunks::kNone)
        return TakeSmall(id);
    } else {
      Consolidate();
    }
    for (;;) {
      if (const Chunk chunk = TakeUnsorted(bytes); chunk.bytes != 0) return chunk;
      if (const Chunk chunk = TakeFitting(bytes); chunk.bytes != 0) return chunk;
      if (top_end_ - top_ >= bytes + kLeast) return TakeTop(bytes);
      if (!has_fast_) break;
      Consolidate();
    }
    if (top_ == 0 || bytes >= map_from_) return {};
    top_end_ += PageUp(bytes + kTopPad + kLeast - (top_end_ - top_));
    return TakeTop(bytes);
  }

  void Free(uint64_t start, uint64_t bytes) {
    if (IsCacheable(bytes) && caches_[bytes / 16].count < kMostCached) {
      Cache& cache = caches_[bytes / 16];
      cache.starts[cache.count++] = start;
    } else if (bytes <= kMostFast) {
      fast_[bytes / 16].push_back(start);
      has_fast_ = true;
    } else if (IsMapped(start, bytes)) {
      if (bytes > map_from_ && bytes <= kMostMapFrom) {
        map_from_ = bytes;
        trim_from_ = 2 * bytes;
      }
    } else {
      if (Merge(start, bytes) < kConsolidateFrom) return;
      Consolidate();
      if (const uint64_t top_bytes = top_end_ - top_;
          top_bytes >= trim_from_ && top_bytes > kTopPad + kLeast + 1)
        top_end_ -= (top_bytes - kLeast - 1 - kTopPad) / kPage * kPage;
    }
  }

  Chunk Reallocate(uint64_t start, uint64_t old_bytes, uint64_t bytes) {
    const uint64_t end = start + old_bytes;
    uint64_t whole = old_bytes;
    if (IsMapped(start, old_bytes)) return {start, bytes, Source::kInPlace};
    if (old_bytes < bytes) {
      const uint32_t next = free_.NotBefore(end);
      if (end == top_ && top_ != 0 && top_end_ - start >= bytes + kLeast) {
        top_ = start + bytes;
        return {start, bytes, Source::kInPlace};
      }
      if (next != FreeChunks::kNone && free_.Get(next).start == end &&
          old_bytes + free_.Get(next).bytes >= bytes) {
        whole += free_.Get(next).bytes;
        free_.Remove(next);
      } else {
        const Chunk chunk = Take(bytes);
        if (chunk.bytes == 0 || chunk.start != end) {
          Free(start, old_bytes);
          return chunk;
        }
        whole += chunk.bytes;
      }
    }
    if (whole - bytes >= kLeast) {
      Free(start + bytes, whole - bytes);
      whole = bytes;
    }
    return {start, whole, Source::kInPlace};
  }

  // Takes back what Take() handed out last: it was not that.
  void Return(const Chunk& chunk) {
    switch (chunk.source) {
      case Source::kFast:
        fast_[chunk.bytes / 16].push_back(chunk.start);
        has_fast_ = true;
        break;
      case Source::kSmall:
        Carve(chunk.start, chunk.start + chunk.bytes);
        free_.AddBack(FreeChunks::BinOf(chunk.bytes), chunk.start, chunk.bytes);
        break;
      case Source::kTop:
        top_ = chunk.start;
        break;
      case Source::kRemainder:
      case Source::kLarge:
      case Source::kLarger:
        Merge(chunk.start, chunk.bytes);
        if (remainder_ == chunk.start + chunk.bytes) remainder_ = chunk.start;
        break;
      case Source::kUnsorted:
        Merge(chunk.start, chunk.bytes);
        break;
      case Source::kInPlace:
      case Source::kNowhere:
        break;
    }
  }
  // This chunk was handed out, whatever we thought.
  void Claim(uint64_t start, uint64_t bytes) {
    if (!IsPossible(start)) return;
    if (IsCacheable(bytes)) {
      Cache& cache = caches_[bytes / 16];
      const auto end = cache.starts.begin() + cache.count;
      if (const auto it = std::find(cache.starts.begin(), end, start); it != end) {
        std::copy(it + 1, end, it);
        --cache.count;
        return;
      }
    }
    if (bytes <= kMostFast) {
      std::vector<uint64_t>& fast = fast_[bytes / 16];
      const auto begin = fast.end() - static_cast<std::ptrdiff_t>(std::min(fast.size(), kMostSearched));
      if (const auto it = std::find(begin, fast.end(), start); it != fast.end()) {
        fast.erase(it);
        return;
      }
    }
    Carve(start, start + bytes);
    if (top_ == 0 || (start >= top_ && start - top_ < kMostStep)) {
      if (top_ == 0) top_end_ = start / kPage * kPage + PageUp(kTopPad + kLeast);
      top_ = start + bytes;
      if (top_end_ < top_) top_end_ = PageUp(top_ + kTopPad);
    }
  }

  static bool IsPossible(uint64_t start) { return start % 16 == 0 && start < uint64_t{1} << 62; }
  bool HasCached(uint64_t bytes) const { return IsCacheable(bytes) && caches_[bytes / 16].count > 0; }
  uint64_t NewestCached(uint64_t bytes) const {
    const Cache& cache = caches_[bytes / 16];
    return cache.starts[cache.count - 1];
  }
  static bool IsCacheable(uint64_t bytes) { return bytes <= kMostCacheable; }
  static uint64_t PageUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
  bool IsMapped(uint64_t start, uint64_t bytes) const {
    return start % kPage == 0 && bytes >= kTopPad &&
           (start > top_end_ || start < top_end_ - (uint64_t{1} << 36));
  }
  bool CanStash(uint64_t bytes) const {
    return IsCacheable(bytes) && caches_[bytes / 16].count < kMostCached;
  }
  void Stash(uint64_t start, uint64_t bytes) {
    Cache& cache = caches_[bytes / 16];
    cache.starts[cache.count++] = start;
  }

  Chunk TakeFast(uint64_t bytes) {
    std::vector<uint64_t>& fast = fast_[bytes / 16];
    const Chunk chunk = {fast.back(), bytes, Source::kFast};
    fast.pop_back();
    for (; !fast.empty() && CanStash(bytes); fast.pop_back()) Stash(fast.back(), bytes);
    return chunk;
  }
  Chunk TakeSmall(uint32_t id) {
    const uint64_t bytes = free_.Get(id).bytes;
    const uint32_t bin = free_.Get(id).bin;
    const Chunk chunk = {free_.Get(id).start, bytes, Source::kSmall};
    free_.Remove(id);
    while ((id = free_.Back(bin)) != FreeChunks::kNone && CanStash(bytes)) {
      Stash(free_.Get(id).start, bytes);
      free_.Remove(id);
    }
    return chunk;
  }
  Chunk TakeUnsorted(uint64_t bytes) {
    bool is_stashed = false;
    for (int i = 0; i < kMostSorted; ++i) {
      const uint32_t id = free_.Back(FreeChunks::kUnsorted);
      if (id == FreeChunks::kNone) break;
      const FreeChunks::Chunk& chunk = free_.Get(id);
      if (bytes < FreeChunks::kLarge && free_.IsAlone(id) && chunk.start == remainder_ &&
          chunk.bytes > bytes + kLeast) {
        const Chunk taken = {chunk.start, bytes, Source::kRemainder};
        remainder_ = chunk.start + bytes;
        free_.SetStart(id, remainder_);
        return taken;
      }
      if (chunk.bytes != bytes) {
        free_.Sort(id);
        continue;
      }
      const uint64_t start = chunk.start;
      free_.Remove(id);
      if (!CanStash(bytes)) return {start, bytes, Source::kUnsorted};
      Stash(start, bytes);
      is_stashed = true;
    }
    if (!is_stashed) return {};
    const uint64_t start = NewestCached(bytes);
    TakeCached(bytes);
    return {start, bytes, Source::kUnsorted};
  }
  // From a larger chunk, the smallest that will do.
  Chunk TakeFitting(uint64_t bytes) {
    uint32_t bin = FreeChunks::BinOf(bytes);
    uint32_t id = bytes >= FreeChunks::kLarge ? free_.BestFit(bin, bytes) : FreeChunks::kNone;
    const Source source = id == FreeChunks::kNone ? Source::kLarger : Source::kLarge;
    if (id == FreeChunks::kNone) {
      bin = free_.NextBin(bin);
      if (bin == FreeChunks::kBins) return {};
      id = free_.Back(bin);
    }
    Chunk chunk = {free_.Get(id).start, free_.Get(id).bytes, source};
    if (chunk.bytes - bytes < kLeast) {
      free_.Remove(id);
      return chunk;
    }
    chunk.bytes = bytes;
    free_.SetStart(id, chunk.start + bytes);
    free_.MoveToUnsorted(id);
    if (source == Source::kLarger && bytes < FreeChunks::kLarge) remainder_ = chunk.start + bytes;
    return chunk;
  }
  Chunk TakeTop(uint64_t bytes) {
    const Chunk chunk = {top_, bytes, Source::kTop};
    top_ += bytes;
    return chunk;
  }

  // Joins what was freed with its neighbours; returns the bytes of all.
  uint64_t Merge(uint64_t start, uint64_t bytes) {
    const uint64_t end = start + bytes;
    if (start >= top_ && start < top_end_) return 0;
    if (end == top_) {
      Carve(start, end);
      top_ = free_.TakeEndingAt(start);
      return top_end_ - top_;
    }
    if (const uint64_t merged = free_.Merge(start, end); merged != 0) return merged;
    Carve(start, end);
    return free_.Merge(start, end);
  }
  void Consolidate() {
    if (!has_fast_) return;
    has_fast_ = false;
    for (size_t i = 0; i < fast_.size(); ++i) {
      for (; !fast_[i].empty();) {
        const uint64_t start = fast_[i].back();
        fast_[i].pop_back();
        Merge(start, i * 16);
      }
    }
  }
  // Nothing between is free.
  void Carve(uint64_t start, uint64_t end) {
    for (uint32_t id; (id = free_.NotBefore(start)) != FreeChunks::kNone && free_.Get(id).start < end;) {
      const FreeChunks::Chunk chunk = free_.Get(id);
      const uint64_t chunk_end = chunk.start + chunk.bytes;
      free_.Remove(id);
      if (chunk_end >= end + kLeast) free_.AddFront(FreeChunks::kUnsorted, end, chunk_end - end);
      if (chunk.start + kLeast <= start)
        free_.AddFront(FreeChunks::kUnsorted, chunk.start, start - chunk.start);
    }
  }

  std::array<Cache, kMostCacheable / 16 + 1> caches_;
  std::array<std::vector<uint64_t>, kMostFast / 16 + 1> fast_;  // newest last
  bool has_fast_ = false;
  FreeChunks free_;
  uint64_t top_ = 0, top_end_ = 0;
  uint64_t remainder_ = 0;      // of the last small chunk that was cut from a larger one
  Freed held_;                  // by realloc(); 0 bytes: nothing
  std::vector<Freed> waiting_;  // the oldest first
  uint64_t map_from_ = kTopPad, trim_from_ = kTopPad;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_GLIBC_MODEL_H_
