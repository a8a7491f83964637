// The blocks whose holders are asked for, and what a walk has found out about each.
//
//   Find(address)   one look into 8 KiB of bits, which stay in the first cache; then a small table
//
// One thread. Allocates: never (about 50 KiB, part of the walk's memory).
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TARGET_TABLE_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TARGET_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "preload/trace/format.h"

namespace plateau::python::holders {

struct Target {
  uintptr_t address;
  uint64_t bytes;
  uint32_t stack;
  uint32_t node;             // of the walk: what holds it; 0: not found
  trace::HolderEnd end;      // kPath, kOpaque or kGraph once it is found
  const char* native_class;  // kGraph: name of the node's class; kModuleData: the module; else null
  uint32_t native_stack;     // kNativeBlock: where the block was made that has the address
  bool is_gradient;          // it is the gradient of the tensor that was found
  bool is_of_device;         // device or pinned memory
};

class TargetTable {
 public:
  static constexpr size_t kMaxTargets = 512;

  // False when it is full or the address is known.
  bool Add(uintptr_t address, uint64_t bytes, uint32_t stack, bool is_of_device = false) {
    if (count_ == kMaxTargets || Find(address) != nullptr) return false;
    targets_[count_] = {address, bytes, stack, 0,           trace::HolderEnd::kNotFound,
                        nullptr, 0,     false, is_of_device};
    const uint64_t hash = Hash(address);
    bits_[BitOf(hash) / 64] |= uint64_t{1} << (BitOf(hash) & 63);
    size_t at = SlotOf(hash);
    while (slots_[at] != 0) at = (at + 1) & (kSlots - 1);
    slots_[at] = static_cast<uint16_t>(++count_);
    return true;
  }

  [[gnu::always_inline]] Target* Find(uintptr_t address) {
    const uint64_t hash = Hash(address);
    if ((bits_[BitOf(hash) / 64] >> (BitOf(hash) & 63) & 1) == 0) [[likely]]
      return nullptr;
    return FindSlow(address, hash);
  }

  void Found(Target* target, uint32_t node, trace::HolderEnd end) {
    // An object of which only its type is known gives way to one that is known to own the block.
    if (target->node != 0 && (target->end != trace::HolderEnd::kOpaque || end == trace::HolderEnd::kOpaque))
      return;
    target->node = node;
    target->end = end;
    if (end != trace::HolderEnd::kOpaque) ++found_;
  }

  size_t count() const { return count_; }
  // Without those that only an opaque object was found for.
  size_t found() const { return found_; }
  // There are always some small blocks that belong to no object. Looking for them in native memory is worth it from one
  // part in a hundred of the bytes on, of the host's or of the devices'.
  bool AreMissingMuch() const {
    uint64_t all[2] = {}, missing[2] = {};
    for (size_t i = 0; i < count_; ++i) {
      const Target& target = targets_[i];
      all[target.is_of_device] += target.bytes;
      if (target.end == trace::HolderEnd::kNotFound) missing[target.is_of_device] += target.bytes;
    }
    return (all[0] != 0 && missing[0] >= all[0] / 100) || (all[1] != 0 && missing[1] >= all[1] / 100);
  }
  Target& operator[](size_t i) { return targets_[i]; }
  const Target& operator[](size_t i) const { return targets_[i]; }

 private:
  static constexpr size_t kSlots = 2048;
  static constexpr unsigned kLog2Bits = 16;

  static uint64_t Hash(uintptr_t address) { return (address >> 4) * 0x9e3779b97f4a7c15u; }
  static size_t BitOf(uint64_t hash) { return hash >> (64 - kLog2Bits); }
  static size_t SlotOf(uint64_t hash) { return hash >> 32 & (kSlots - 1); }

  [[gnu::noinline]] Target* FindSlow(uintptr_t address, uint64_t hash) {
    for (size_t at = SlotOf(hash); slots_[at] != 0; at = (at + 1) & (kSlots - 1)) {
      if (targets_[slots_[at] - 1].address == address) return &targets_[slots_[at] - 1];
    }
    return nullptr;
  }

  uint64_t bits_[(size_t{1} << kLog2Bits) / 64];
  uint16_t slots_[kSlots];
  size_t count_;
  size_t found_;
  Target targets_[kMaxTargets];
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_TARGET_TABLE_H_
