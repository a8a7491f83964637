// The live bytes of each call stack at this look and at the one before.
//
//   BeginLook(); Add(stack)->bytes += ... for every block; ForEach(...)
//
// The table grows with the stacks that have live blocks: an `import torch` of which every object is recorded has some
// hundred thousand. Stacks that had nothing at two looks are forgotten when it grows. At kMostSlots the others are left out.
//
// One thread at a time. Allocates: pages of our own.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_STACK_SUMS_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_STACK_SUMS_H_

#include <cstddef>
#include <cstdint>

#include "preload/base/arena.h"

namespace plateau::python::holders {

struct StackSum {
  uint32_t stack;
  uint16_t choice;  // for whoever chooses; 0 after BeginLook()
  bool is_of_device;
  uint64_t bytes;
  uint64_t bytes_before;

  int64_t growth() const { return static_cast<int64_t>(bytes - bytes_before); }
};

class StackSums {
 public:
  static constexpr size_t kFirstSlots = size_t{1} << 12;
  static constexpr size_t kMostSlots = size_t{1} << 19;

  constexpr StackSums() = default;

  // False without memory.
  bool BeginLook() {
    if (slots_ == nullptr && !Rehash(kFirstSlots)) return false;
    has_looked_twice_ = count_ != 0;
    is_full_ = false;
    ForEach([](StackSum& sum) {
      sum.bytes_before = sum.bytes;
      sum.bytes = 0;
      sum.choice = 0;
    });
    return true;
  }

  // Null when there is no room. The others may have moved.
  StackSum* Add(uint32_t stack) {
    StackSum* sum = SlotOf(stack);
    if (sum->stack == stack) return sum;
    if (count_ >= capacity_ / 4 * 3) {
      if (is_full_ || !MakeRoom()) return nullptr;
      sum = SlotOf(stack);
    }
    ++count_;
    sum->stack = stack;
    return sum;
  }

  StackSum* Find(uint32_t stack) {
    StackSum* const sum = slots_ == nullptr ? nullptr : SlotOf(stack);
    return sum != nullptr && sum->stack == stack ? sum : nullptr;
  }

  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].stack != 0) visit(slots_[i]);
    }
  }

  // Whether there was a look before this one.
  bool has_looked_twice() const { return has_looked_twice_; }
  size_t size() const { return count_; }

  void Clear() {
    if (slots_ != nullptr) ArenaUnmap(slots_, capacity_ * sizeof(StackSum));
    slots_ = nullptr;
    capacity_ = count_ = 0;
    has_looked_twice_ = is_full_ = false;
  }

 private:
  // Its own, or the free one in which it would be.
  StackSum* SlotOf(uint32_t stack) {
    size_t at = (stack * 0x9e3779b97f4a7c15u >> 32) & (capacity_ - 1);
    while (slots_[at].stack != stack && slots_[at].stack != 0) at = (at + 1) & (capacity_ - 1);
    return &slots_[at];
  }

  bool MakeRoom() {
    size_t in_use = 0;
    ForEach([&in_use](const StackSum& sum) { in_use += (sum.bytes | sum.bytes_before) != 0; });
    const size_t capacity = in_use < capacity_ / 2 ? capacity_ : 2 * capacity_;
    is_full_ = capacity > kMostSlots || !Rehash(capacity);
    return !is_full_;
  }

  bool Rehash(size_t capacity) {
    auto* const slots = static_cast<StackSum*>(ArenaMap(capacity * sizeof(StackSum)));
    if (slots == nullptr) return false;
    StackSum* const old_slots = slots_;
    const size_t old_capacity = capacity_;
    slots_ = slots;
    capacity_ = capacity;
    count_ = 0;
    for (size_t i = 0; i < old_capacity; ++i) {
      const StackSum& sum = old_slots[i];
      if (sum.stack == 0 || (sum.bytes | sum.bytes_before) == 0) continue;
      *SlotOf(sum.stack) = sum;
      ++count_;
    }
    if (old_slots != nullptr) ArenaUnmap(old_slots, old_capacity * sizeof(StackSum));
    return true;
  }

  StackSum* slots_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
  bool has_looked_twice_ = false;
  bool is_full_ = false;  // until the next look
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_TABLES_STACK_SUMS_H_
