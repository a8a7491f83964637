// Where malloc and pymalloc will put the next object: small imitations of both, fed with what was allocated
// and freed. They need not be right, only often; what they miss is written out and they go on from there.
#ifndef PLATEAU_ANALYZER_PACK_ALLOCATOR_MODEL_H_
#define PLATEAU_ANALYZER_PACK_ALLOCATOR_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace plateau {

// malloc hands out the last block freed in a size bin, an older one of that bin, or the space behind the last
// block it cut.
class MallocModel {
 public:
  static constexpr size_t kDeepest = 255;  // blocks of a bin that are looked at
  static constexpr size_t kUnsized = 4;    // freed blocks of unknown size that are remembered
  static constexpr size_t kBins = 1024;

  MallocModel() : bins_(kBins) {}

  static size_t BinOf(uint64_t bytes) { return Bin(bytes); }
  // What lies behind the block handed out last.
  uint64_t Bump() const { return bump_; }
  size_t Depth(uint64_t bytes) const { return std::min(bins_[Bin(bytes)].size(), kDeepest + 1); }
  // The block freed `rank` before the last one of the bin; rank < Depth().
  uint64_t At(uint64_t bytes, size_t rank) const {
    const std::vector<uint64_t>& bin = bins_[Bin(bytes)];
    return bin[bin.size() - 1 - rank];
  }
  // -1 when it is not there.
  int Find(uint64_t bytes, uint64_t address) const {
    const size_t depth = Depth(bytes);
    for (size_t rank = 0; rank < depth; ++rank) {
      if (At(bytes, rank) == address) return static_cast<int>(rank);
    }
    return -1;
  }
  // Freed blocks whose size is not known here.
  uint64_t Unsized(size_t rank) const { return unsized_[(unsized_next_ - 1 - rank) % kUnsized]; }

  // `rank`: where it was found, or -1.
  void OnAlloc(uint64_t bytes, uint64_t address, int rank) {
    if (rank >= 0) {
      std::vector<uint64_t>& bin = bins_[Bin(bytes)];
      bin.erase(bin.end() - 1 - rank);
    }
    bump_ = address + std::max<uint64_t>(Units(bytes), 2) * 16;
  }
  void OnFree(uint64_t bytes, uint64_t address) {
    std::vector<uint64_t>& bin = bins_[Bin(bytes)];
    if (bin.size() >= 4 * kDeepest) bin.erase(bin.begin(), bin.begin() + 3 * kDeepest);
    bin.push_back(address);
  }
  void OnUnknownFree(uint64_t address) { unsized_[unsized_next_++ % kUnsized] = address; }

 private:
  static uint64_t Units(uint64_t bytes) { return (bytes + 8 + 15) / 16; }
  static size_t Bin(uint64_t bytes) {
    const uint64_t units = Units(bytes);
    return static_cast<size_t>(units < kBins / 2 ? units
                                                 : kBins / 2 + units * 0x9e3779b97f4a7c15u % (kBins / 2));
  }

  std::vector<std::vector<uint64_t>> bins_;  // newest last
  std::array<uint64_t, kUnsized> unsized_ = {};
  size_t unsized_next_ = 0;
  uint64_t bump_ = 0;
};

// pymalloc has pools of one size class each. A class uses the pool at the front of its list: the block freed
// last there, or the next one never used. A full pool leaves the list and comes to its front when one of its
// blocks is freed; an empty pool may be given to another class.
class PymallocModel {
 public:
  static constexpr size_t kClasses = 34;  // of 16 bytes; the last takes what pymalloc would not

  static size_t ClassOf(uint64_t bytes) { return Class(bytes); }

  // 0 when nothing is known.
  uint64_t Guess(uint64_t bytes) const {
    const size_t c = Class(bytes);
    if (!used_[c].empty()) return Next(pools_[used_[c].back()]);
    if (!empty_.empty()) {
      const Pool& pool = pools_[empty_.back()];
      return pool.size_class == c ? Next(pool) : pool.base + kHeaderBytes;
    }
    return last_new_pool_ == 0 ? 0 : last_new_pool_ + kPoolBytes + kHeaderBytes;
  }
  void OnAlloc(uint64_t bytes, uint64_t address) {
    const size_t c = Class(bytes);
    const uint32_t id = PoolAt(address);
    Pool& pool = pools_[id];
    if (pool.state == State::kEmpty || pool.size_class != c) {
      Leave(id);
      if (pool.size_class != c) {
        pool.freed.clear();
        pool.next = pool.base + kHeaderBytes;
        pool.live = 0;
        pool.size_class = c;
      }
    }
    if (pool.state != State::kUsed || used_[c].back() != id) {  // its turn, whatever we thought
      Leave(id);
      Join(&used_[c], id, State::kUsed);
    }
    ++pool.live;
    if (!pool.freed.empty() && pool.freed.back() == address) {
      pool.freed.pop_back();
    } else if (address >= pool.next) {
      pool.next = address + c * 16;
    } else {
      const auto it = std::find(pool.freed.rbegin(), pool.freed.rend(), address);
      if (it != pool.freed.rend()) pool.freed.erase(std::next(it).base());
    }
    if (IsFull(pool)) {
      Leave(id);
      pool.state = State::kFull;
    }
  }
  // `bytes` 0: not known.
  void OnFree(uint64_t bytes, uint64_t address) {
    const uint32_t id = PoolAt(address);
    Pool& pool = pools_[id];
    if (pool.freed.size() >= kPoolBytes / 16)
      pool.freed.clear();  // more than it holds: not a pool of pymalloc
    pool.freed.push_back(address);
    if (pool.size_class == 0) {  // from before this block began
      pool.size_class = bytes == 0 ? 0 : Class(bytes);
      pool.next = pool.base + kPoolBytes;
      pool.live = UINT32_MAX / 2;  // how many is not known: it does not get empty
    }
    if (pool.live > 0) --pool.live;
    if (pool.state == State::kFull && pool.size_class != 0) {
      Join(&used_[pool.size_class], id, State::kUsed);
    }
    if (pool.live == 0 && pool.state == State::kUsed) {
      Leave(id);
      Join(&empty_, id, State::kEmpty);
    }
  }

 private:
  static constexpr uint64_t kPoolBytes = 16384;
  static constexpr uint64_t kHeaderBytes = 48;
  static constexpr uint32_t kNoPool = UINT32_MAX;

  enum class State : uint8_t { kFull, kUsed, kEmpty };
  struct Pool {
    uint64_t base = 0;
    uint64_t next = 0;  // first byte never handed out
    uint32_t live = 0;
    size_t size_class = 0;
    State state = State::kFull;
    size_t position = 0;          // in the list of its state
    std::vector<uint64_t> freed;  // newest last
  };

  static size_t Class(uint64_t bytes) {
    return static_cast<size_t>(std::clamp<uint64_t>((bytes + 15) / 16, 1, kClasses - 1));
  }
  static uint64_t Next(const Pool& pool) { return pool.freed.empty() ? pool.next : pool.freed.back(); }
  static bool IsFull(const Pool& pool) {
    return pool.freed.empty() && pool.next + pool.size_class * 16 > pool.base + kPoolBytes;
  }
  uint32_t PoolAt(uint64_t address) {
    const uint64_t base = address & ~(kPoolBytes - 1);
    if (last_pool_ != kNoPool && pools_[last_pool_].base == base) return last_pool_;
    const auto [it, is_new] = ids_.try_emplace(base, static_cast<uint32_t>(pools_.size()));
    if (is_new) {
      pools_.emplace_back().base = base;
      pools_.back().next = base + kHeaderBytes;
      last_new_pool_ = base;
    }
    return last_pool_ = it->second;
  }
  void Leave(uint32_t id) {
    Pool& pool = pools_[id];
    if (pool.state == State::kUsed) Remove(&used_[pool.size_class], id);
    if (pool.state == State::kEmpty) Remove(&empty_, id);
    pool.state = State::kFull;
  }
  // Lists have holes where a pool left; the last entry is never one. So joining and leaving take no search.
  void Join(std::vector<uint32_t>* list, uint32_t id, State state) {
    pools_[id].state = state;
    pools_[id].position = list->size();
    list->push_back(id);
  }
  void Remove(std::vector<uint32_t>* list, uint32_t id) {
    (*list)[pools_[id].position] = kNoPool;
    while (!list->empty() && list->back() == kNoPool) list->pop_back();
  }

  std::vector<Pool> pools_;
  absl::flat_hash_map<uint64_t, uint32_t> ids_;
  std::array<std::vector<uint32_t>, kClasses> used_;  // front last
  std::vector<uint32_t> empty_;
  uint32_t last_pool_ = kNoPool;
  uint64_t last_new_pool_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_ALLOCATOR_MODEL_H_
