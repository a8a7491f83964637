// The objects of one allocator in one packed block, as packer and unpacker both know them.
//
// Objects are numbered from 1 in the order of their birth. An object that was freed lies on the list of its
// size class, the one freed last on top; an allocation mostly gets the top of its list. Nothing is known of
// objects that were born before the block.
//
//   lists_[class] -> object freed last -> object freed before it -> ... -> 0
//
// An allocator that finds nothing on its lists cuts a piece off a larger free one, and goes on cutting there. So
// the ends of the last objects that came from no list are remembered: the cursors.
//
// A damaged block may free an object twice, so a list may have a loop: walks are bounded.
// Memory: 16 bytes for each object and 8 for each free, given by the caller, who may use it again. Not thread-safe.
#ifndef PLATEAU_ANALYZER_PACK_HEAP_OBJECTS_H_
#define PLATEAU_ANALYZER_PACK_HEAP_OBJECTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/base/kept_array.h"
#include "analyzer/base/prefetch.h"
#include "analyzer/pack/column_layout.h"
#include "preload/trace/varint.h"

namespace plateau {

enum class Allocator : uint8_t { kMalloc, kPymalloc };

class HeapObjects {
 public:
  struct Object {
    uint64_t address;
    uint32_t next;
    uint32_t size_class : 12;
    uint32_t height : 20;  // length of the list when it got there, modulo 2^20
  };
  static_assert(sizeof(Object) == 16);
  struct Memory {
    KeptArray<Object> objects;
    KeptArray<uint64_t> freed;
  };

  // For at most so many births and frees. The memory may have served other objects, not at the same time.
  HeapObjects(Allocator allocator, size_t births, size_t frees, Memory* memory)
      : allocator_(allocator),
        objects_(memory->objects.Room(births + 1)),
        freed_(memory->freed.Room(frees + 1)) {}

  // Units of 16 bytes that an object takes: malloc has 8 bytes of its own and a smallest size.
  uint64_t UnitsOf(uint64_t bytes) const {
    const uint64_t own = allocator_ == Allocator::kMalloc ? 8 : 0;
    const uint64_t smallest = allocator_ == Allocator::kMalloc ? 2 : 1;
    const uint64_t units = bytes / 16 + (bytes % 16 + own + 15) / 16;
    return units < smallest ? smallest : units;
  }
  static size_t ClassOf(uint64_t units) { return units < kClasses ? units : kClasses - 1; }

  uint32_t newest() const { return newest_; }
  uint64_t AddressOf(uint32_t object) const { return objects_[object].address; }

  void Prefetch(uint32_t object) const { PrefetchForWriting(&objects_[object]); }

  // The place of a freed object on the list of this class, which it leaves; kPlaceListed when it is not on it, or
  // not near the top.
  unsigned TakeObject(uint32_t object, uint64_t units) {
    const size_t size_class = ClassOf(units);
    if (objects_[object].size_class != size_class) return kPlaceListed;
    // At least so many lie above it: all that came since, less what has left, which may have been below.
    const int32_t above = static_cast<int32_t>((lengths_[size_class] - objects_[object].height) << 12) >> 12;
    if (above >= static_cast<int32_t>(kPlaceListed)) return kPlaceListed;
    uint32_t* link = &lists_[size_class];
    for (unsigned place = 0; *link != 0 && place < kPlaceListed; ++place) {
      if (*link == object) {
        *link = objects_[object].next;
        --lengths_[size_class];
        return place;
      }
      link = &objects_[*link].next;
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
    --lengths_[ClassOf(units)];
    return true;
  }

  // The cursor that is at `address`; kCursors when none is.
  unsigned CursorAt(uint64_t address) const {
    unsigned i = 0;
    while (i < kCursors && cursors_[i] != address) ++i;
    return i;
  }
  uint64_t Cursor(unsigned i) const { return cursors_[i]; }
  // The number of the free whose address was named last by an allocation of this class.
  uint64_t* LastReused(uint64_t units) { return &last_reused_[ClassOf(units)]; }

  // The address of the free of that number, from 1 on in order; 0 when there was none.
  uint64_t AddressOfFree(uint64_t number) const { return number - 1 < frees_ ? freed_[number] : 0; }
  uint32_t frees() const { return frees_; }

  // An allocation: the new object's number. One that came from no list moves a cursor.
  uint32_t Add(uint64_t address, uint64_t units, bool is_from_list) {
    objects_[++newest_] = {address, 0, static_cast<uint32_t>(ClassOf(units)), 0};
    last_allocated = address;
    fresh = address + 16 * units;
    if (!is_from_list) {
      unsigned i = CursorAt(address);
      if (i == kCursors) --i;
      for (; i > 0; --i) cursors_[i] = cursors_[i - 1];
      cursors_[0] = fresh;
    }
    return newest_;
  }
  void Free(uint32_t object) {
    Object& freed = objects_[object];
    freed.next = lists_[freed.size_class];
    freed.height = ++lengths_[freed.size_class] & kHeightMask;
    lists_[freed.size_class] = object;
    last_freed_object = object;
    last_freed = freed.address;
    freed_[++frees_] = last_freed;
  }
  void FreeElder(uint64_t address) {
    last_freed = last_elder = address;
    freed_[++frees_] = address;
  }

  uint64_t last_allocated = 0;     // addresses
  uint64_t last_freed = 0;         //
  uint64_t last_elder = 0;         //
  uint64_t fresh = 0;              // behind the object allocated last
  uint32_t last_freed_object = 0;  // but not an elder one

 private:
  static constexpr size_t kClasses = 4096;
  static constexpr uint32_t kHeightMask = (1u << 20) - 1;

  const Allocator allocator_;
  Object* const objects_;  // from 1 on, as the next
  uint64_t* const freed_;  // the address of each free
  uint32_t newest_ = 0;
  uint32_t frees_ = 0;
  std::array<uint32_t, kClasses> lists_ = {};
  std::array<uint32_t, kClasses> lengths_ = {};
  std::array<uint64_t, kClasses> last_reused_ = {};
  std::array<uint64_t, kCursors> cursors_ = {};
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
