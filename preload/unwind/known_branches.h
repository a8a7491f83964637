// Native stacks above a frame that is known otherwise (an eval loop of Python's), found by their leaf, each
// with what proves it again.
//
//   parent node ... frame that holds the stop address | ... checks ... | leaf       -> node
//
// An entry says: if the leaf has this pc, rsp and (where a rule uses it) rbp, and each of these words of the
// thread's own stack holds its value, then the callers are those of the walk that made it, up to the frame
// that holds the stop address. That is the proof of stack_walker.h, from the leaf on and without a look at
// any rule. Unlike an entry of known_stacks.h it hangs on nothing: a program that comes by in many places
// between two visits of one finds all of them again.
//
// An object belongs to one thread. Allocates: never. Locks: never. Memory: 89 KiB reserved, touched where
// entries are.
#ifndef PLATEAU_PRELOAD_UNWIND_KNOWN_BRANCHES_H_
#define PLATEAU_PRELOAD_UNWIND_KNOWN_BRANCHES_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plateau::unwind {

class KnownBranches {
 public:
  static constexpr uint32_t kMaxChecks = 64;
  static constexpr uint32_t kChecksPerTurn = 4;     // lists are padded to a multiple of it
  static constexpr uintptr_t kBytesBelowRsp = 128;  // where a word to check may be: the red zone

  // Without initialisers: an entry costs memory when it is used.
  struct alignas(64) Entry {
    uintptr_t pc;  // of the leaf
    uintptr_t rsp;
    uintptr_t rbp;  // only the bits of rbp_mask count
    uintptr_t rbp_mask;
    uintptr_t stop_address;
    uint64_t walk;  // that made it
    uint32_t parent;
    uint32_t node;
    // Words of the stack, in words from rsp - kBytesBelowRsp, and what they hold.
    uint16_t check_count;
    uint16_t slots[kMaxChecks - 1];
    uintptr_t values[kMaxChecks - 1];
  };
  static_assert(sizeof(Entry) == 704 && std::is_trivially_default_constructible_v<Entry>);

  void Clear() {
    for (uint16_t& tag : tags_) tag = 0;
  }

  // The next entry for this leaf, stop address and parent, from `*way` on, which starts at 0; null after the
  // last one.
  const Entry* Next(uintptr_t pc, uintptr_t rsp, uint32_t parent, uintptr_t stop_address, size_t* way) const {
    const uint64_t hash = HashOf(pc, rsp, parent);
    for (; *way < kWays; ++*way) {
      const size_t place = PlaceOf(hash) ^ *way;
      if (tags_[place] != TagOf(hash)) continue;
      const Entry& entry = entries_[place];
      __builtin_prefetch(&entry);
#pragma GCC unroll 8
      for (size_t i = 0; i < 8; ++i) __builtin_prefetch(reinterpret_cast<const char*>(&entry) + 64 * (i + 1));
      if (entry.pc != pc || entry.rsp != rsp || entry.parent != parent || entry.stop_address != stop_address)
        continue;
      ++*way;
      return &entry;
    }
    return nullptr;
  }

  // A place for such an entry, the four of them named, the rest for the caller to fill in.
  Entry* Make(uintptr_t pc, uintptr_t rsp, uint32_t parent, uintptr_t stop_address) {
    const uint64_t hash = HashOf(pc, rsp, parent);
    size_t place = PlaceOf(hash) ^ (turn_++ % kWays);
    for (size_t way = 0; way < kWays; ++way) {
      if (tags_[PlaceOf(hash) ^ way] != 0) continue;
      place = PlaceOf(hash) ^ way;
      break;
    }
    tags_[place] = TagOf(hash);
    Entry& entry = entries_[place];
    entry.pc = pc;
    entry.rsp = rsp;
    entry.parent = parent;
    entry.stop_address = stop_address;
    return &entry;
  }

 private:
  static constexpr unsigned kLog2Entries = 7;
  static constexpr size_t kEntries = size_t{1} << kLog2Entries;
  static constexpr size_t kWays = 4;

  static uint64_t HashOf(uintptr_t pc, uintptr_t rsp, uint32_t parent) {
    return (pc ^ rsp << 20 ^ uint64_t{parent} * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
  }
  static size_t PlaceOf(uint64_t hash) { return static_cast<size_t>(hash >> (64 - kLog2Entries)); }
  // Other bits of it, never 0.
  static uint16_t TagOf(uint64_t hash) { return static_cast<uint16_t>(hash >> 40 | 1); }

  size_t turn_ = 0;
  uint16_t tags_[kEntries];  // 0: no entry
  Entry entries_[kEntries];
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_KNOWN_BRANCHES_H_
