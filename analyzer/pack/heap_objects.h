// The objects of one allocator in one packed block, as packer and unpacker both know them.
//
// Objects are numbered from 1 in the order of their birth. An object that was freed lies on the list of its
// size class, the one freed last on top; an allocation mostly gets the top of its list. Nothing is known of
// objects that were born before the block.
//
//   lists_[class] -> object freed last -> object freed before it -> ... -> 0
//
// A damaged block may free an object twice, so a list may have a loop: walks are bounded.
// Memory: 16 bytes for each object. Not thread-safe.
#ifndef PLATEAU_ANALYZER_PACK_HEAP_OBJECTS_H_
#define PLATEAU_ANALYZER_PACK_HEAP_OBJECTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/pack/column_layout.h"
#include "preload/trace/varint.h"

namespace plateau {

enum class Allocator : uint8_t { kMalloc, kPymalloc };

class HeapObjects {
 public:
  explicit HeapObjects(Allocator allocator) : allocator_(allocator), objects_(1) {}

  // Units of 16 bytes that an object takes: malloc has 8 bytes of its own and a smallest size.
  uint64_t UnitsOf(uint64_t bytes) const {
    const uint64_t own = allocator_ == Allocator::kMalloc ? 8 : 0;
    const uint64_t smallest = allocator_ == Allocator::kMalloc ? 2 : 1;
    const uint64_t units = bytes / 16 + (bytes % 16 + own + 15) / 16;
    return units < smallest ? smallest : units;
  }
  static size_t ClassOf(uint64_t units) { return units < kClasses ? units : kClasses - 1; }

  uint32_t newest() const { return static_cast<uint32_t>(objects_.size() - 1); }
  uint64_t AddressOf(uint32_t object) const { return objects_[object].address; }

  // The place of `address` on the list of its class, which it leaves; kPlaceListed when it is not near the
  // top.
  unsigned TakeAddress(uint64_t address, uint64_t units) {
    uint32_t* link = &lists_[ClassOf(units)];
    for (unsigned place = 0; *link != 0 && place < kPlaceListed; ++place) {
      Object& object = objects_[*link];
      if (object.address == address) {
        *link = object.next;
        return place;
      }
      link = &object.next;
    }
    return kPlaceListed;
  }
  // The same the other way round; false when the list is shorter.
  bool TakePlace(unsigned place, uint64_t units, uint64_t* address) {
    uint32_t* link = &lists_[ClassOf(units)];
    for (; place > 0 && *link != 0; --place) link = &objects_[*link].next;
    if (*link == 0) return false;
    *address = objects_[*link].address;
    *link = objects_[*link].next;
    return true;
  }

  // An allocation: the new object's number.
  uint32_t Add(uint64_t address, uint64_t units) {
    objects_.push_back({address, 0, static_cast<uint32_t>(ClassOf(units))});
    last_allocated = address;
    fresh = address + 16 * units;
    return newest();
  }
  void Free(uint32_t object) {
    Object& freed = objects_[object];
    freed.next = lists_[freed.size_class];
    lists_[freed.size_class] = object;
    last_freed_object = object;
    last_freed = freed.address;
  }
  void FreeElder(uint64_t address) { last_freed = last_elder = address; }

  uint64_t last_allocated = 0;     // addresses
  uint64_t last_freed = 0;         //
  uint64_t last_elder = 0;         //
  uint64_t fresh = 0;              // behind the object allocated last
  uint32_t last_freed_object = 0;  // but not an elder one

 private:
  static constexpr size_t kClasses = 4096;
  struct Object {
    uint64_t address;
    uint32_t next;
    uint32_t size_class;
  };

  const Allocator allocator_;
  std::vector<Object> objects_;
  std::array<uint32_t, kClasses> lists_ = {};
};

// A distance between addresses, as one number or two: an even one is twice the zig-zag of units of 16; after
// the number 1 the zig-zag of bytes follows.
inline uint8_t* PutDistance(uint8_t* out, uint64_t address, uint64_t from) {
  const auto distance = static_cast<int64_t>(address - from);
  if (distance % 16 == 0) return trace::PutVarint(out, trace::ZigZag(distance / 16) << 1);
  return trace::PutVarint(trace::PutVarint(out, 1), trace::ZigZag(distance));
}
inline const uint8_t* GetDistance(const uint8_t* p, const uint8_t* end, uint64_t from, uint64_t* address) {
  uint64_t number = 0;
  p = trace::GetVarint(p, end, &number);
  if (p == nullptr) return nullptr;
  if (number % 2 == 0) {
    *address = from + (static_cast<uint64_t>(trace::UnZigZag(number >> 1)) << 4);
    return p;
  }
  p = trace::GetVarint(p, end, &number);
  *address = from + static_cast<uint64_t>(trace::UnZigZag(number));
  return p;
}

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_HEAP_OBJECTS_H_
