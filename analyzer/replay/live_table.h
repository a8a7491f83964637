// What is allocated at this moment: address -> object, for tens of millions of them.
//
//   directory, open addressing          groups, from slabs
//   | page | count | group | ---------> | keys: offsets in the page | objects, in the order they came |
//
// A page is 1 KiB of address space; its objects lie together, so that neighbours in memory, which programs
// allocate and free together, are neighbours here too: one miss of the cache serves several events. A group
// grows through fixed capacities whose places are used again. Pages whose objects are gone are forgotten when
// the directory is full, so it follows what is live.
//
// About 32 bytes an object where several share a page, 60 where each has its own. Places of outgrown groups
// are kept for others of their size, so memory follows the most that was ever live. Pointers into the table
// are valid until the next FindOrAdd() or Erase(). Addresses are of user space: only their lower 48 bits
// count. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"

namespace plateau::replay {

enum ObjectFlags : uint8_t {
  kObjectTensor = 1,  // a torch tensor's storage
  kObjectParts = 2,   // grown by realloc: its bytes have several births, see HeapMatcher
  kObjectDoomed = 4,  // a free that came too early may be its own, see HeapMatcher
};
inline constexpr int kObjectLabelShift = 4;  // the upper four bits: label at its birth, 15 for none

// The first three share a word that is always written as a whole: a processor waits when it has to read a
// word whose parts were written one by one.
class LiveObject {
 public:
  LiveObject() = default;
  explicit LiveObject(uint64_t address) : word_(address), bytes(0), stack(0), birth(0) {}
  LiveObject(uint64_t address, uint8_t rate, uint8_t flags, uint64_t size, uint32_t node, uint32_t bucket)
      : word_(address | uint64_t{rate} << 48 | uint64_t{flags} << 56),
        bytes(size),
        stack(node),
        birth(bucket) {}

  uint64_t address() const { return word_ & ((uint64_t{1} << 48) - 1); }
  uint8_t rate() const {
    return static_cast<uint8_t>(word_ >> 48);
  }  // which sampling rate it was recorded at
  uint8_t flags() const { return static_cast<uint8_t>(word_ >> 56); }
  bool Has(uint8_t any_flag) const { return (flags() & any_flag) != 0; }
  void Flip(ObjectFlags flag) { word_ ^= uint64_t{flag} << 56; }

 private:
  uint64_t word_;

 public:
  uint64_t bytes;
  uint32_t stack;  // node of the trace
  uint32_t birth;  // bucket of the clock
};
static_assert(sizeof(LiveObject) == 24);

class LiveTable {
 public:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

  LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  // Where an object is; `object` is nullptr when there is none.
  class Spot {
   public:
    LiveObject* object = nullptr;

   private:
    friend class LiveTable;
    void* page_ = nullptr;
  };
  Spot Look(uint64_t address) {
    Spot spot;
    address &= kAddressMask;
    if (Page* const page = const_cast<Page*>(FindPage(address))) {
      spot.object = FindIn(*page, address);
      spot.page_ = page;
    }
    return spot;
  }
  // nullptr when there is none.
  LiveObject* Find(uint64_t address) { return Look(address).object; }

  struct Place {
    LiveObject* object;
    bool is_new;  // then only its address is set
  };
  // The address must not be 0.
  Place FindOrAdd(uint64_t address) {
    address &= kAddressMask;
    Page& page = FindOrAddPage(address);
    if (LiveObject* found = FindIn(page, address)) return {found, false};
    if (page.count() == Capacity(page)) GrowGroup(&page);
    const size_t i = page.count();
    page.AddOne();
    Keys(page)[i] = OffsetOf(address);
    LiveObject& object = Objects(page)[i];
    object = LiveObject(address);
    ++size_;
    return {&object, true};
  }

  void Erase(LiveObject* object) { EraseFrom(const_cast<Page*>(FindPage(object->address())), object); }
  void Erase(const Spot& spot) { EraseFrom(static_cast<Page*>(spot.page_), spot.object); }

  // Load what an address needs into the cache before it is used, each some events after the one before: the
  // place in the directory; the keys of the group and its end, where objects come and go; the object. Not
  // worth it while the table is small enough to be in the cache anyway.
  bool is_large() const { return is_large_; }
  void PrefetchPage(uint64_t address) const { PrefetchForWriting(&pages_[HomeOf(address & kAddressMask)]); }
  void PrefetchGroup(uint64_t address) const {
    const Page* page = FindPage(address & kAddressMask);
    if (page == nullptr) return;
    PrefetchForWriting(page->group);
    PrefetchForWriting(Objects(*page) + (page->count() > 0 ? page->count() - 1 : 0));
    PrefetchForWriting(Objects(*page) + page->count());
  }
  void PrefetchObject(uint64_t address) const {
    const Page* page = FindPage(address & kAddressMask);
    const LiveObject* object = page == nullptr ? nullptr : FindIn(*page, address & kAddressMask);
    if (object != nullptr) PrefetchForWriting(object);
  }

  size_t size() const { return size_; }
  size_t capacity_bytes() const { return pages_.size() * sizeof(Page) + slab_bytes_; }

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (size_t i = 0; i < pages_.size(); ++i) {
      for (size_t k = 0; k < pages_[i].count(); ++k) visit(Objects(pages_[i])[k]);
    }
  }

 private:
  static constexpr int kPageShift = 10;
  // How many objects a group takes. The last is a page full of objects of one byte.
  static constexpr std::array<uint16_t, 20> kCapacities = {1,  2,  3,  4,   6,   8,   12,  16,  24,  32,
                                                           48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
  // Bytes of the keys in front of so many objects.
  static constexpr auto kKeyBytes = [] {
    std::array<uint16_t, kCapacities.size()> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = (kCapacities[i] + 3) / 4 * 8;
    return bytes;
  }();
  static constexpr uint16_t kNoKey = UINT16_MAX;
  static constexpr size_t kLargestEmpty = 4;  // capacity that an empty page may keep

  // A word of three, as in LiveObject: number, count of objects, size class of the group.
  struct Page {
    uint64_t word;  // 0: an empty slot
    char* group;

    uint64_t number() const { return word & ((uint64_t{1} << 40) - 1); }  // address >> kPageShift, plus 1
    size_t count() const { return word >> 40 & 0xffff; }
    size_t size_class() const { return word >> 56; }
    void AddOne() { word += uint64_t{1} << 40; }
    void RemoveOne() { word -= uint64_t{1} << 40; }
    void SetSizeClass(size_t size_class) { word = (word & ((uint64_t{1} << 56) - 1)) | size_class << 56; }
  };
  static_assert(sizeof(Page) == 16);

  static uint64_t NumberOf(uint64_t address) { return (address >> kPageShift) + 1; }
  static uint16_t OffsetOf(uint64_t address) {
    return static_cast<uint16_t>(address & ((uint64_t{1} << kPageShift) - 1));
  }
  size_t HomeOf(uint64_t address) const { return (address >> kPageShift) * 0x9e3779b97f4a7c15u >> shift_; }

  static size_t Capacity(const Page& page) { return kCapacities[page.size_class()]; }
  static size_t GroupBytes(size_t size_class) {
    return kKeyBytes[size_class] + kCapacities[size_class] * sizeof(LiveObject);
  }
  // Four keys in every word, kNoKey where there is no object.
  static uint16_t* Keys(const Page& page) { return reinterpret_cast<uint16_t*>(page.group); }
  static LiveObject* Objects(const Page& page) {
    return reinterpret_cast<LiveObject*>(page.group + kKeyBytes[page.size_class()]);
  }

  const Page* FindPage(uint64_t address) const {
    const uint64_t number = NumberOf(address);
    for (size_t i = HomeOf(address);; i = (i + 1) & mask_) {
      if (pages_[i].number() == number) return &pages_[i];
      if (pages_[i].number() == 0) return nullptr;
    }
  }

  static LiveObject* FindIn(const Page& page, uint64_t address) {
    constexpr uint64_t kOnes = 0x0001'0001'0001'0001u;
    const uint64_t wanted = OffsetOf(address) * kOnes;
    for (size_t i = 0; i < page.count(); i += 4) {
      uint64_t word;
      std::memcpy(&word, page.group + 2 * i, sizeof(word));
      const uint64_t difference = word ^ wanted;
      const uint64_t equal = (difference - kOnes) & ~difference & kOnes << 15;  // its lowest bit is right
      if (equal != 0) return Objects(page) + i + static_cast<size_t>(std::countr_zero(equal)) / 16;
    }
    return nullptr;
  }

  void EraseFrom(Page* page, LiveObject* object) {
    uint16_t* const keys = Keys(*page);
    LiveObject* const objects = Objects(*page);
    const size_t hole = static_cast<size_t>(object - objects);
    const size_t last = page->count() - 1u;
    if (hole != last) {
      objects[hole] = objects[last];
      keys[hole] = keys[last];
    }
    keys[last] = kNoKey;
    page->RemoveOne();
    --size_;
    if (last == 0 && Capacity(*page) > kLargestEmpty) ShrinkGroup(page);
  }

  Page& FindOrAddPage(uint64_t address) {
    const uint64_t number = NumberOf(address);
    for (size_t i = HomeOf(address);; i = (i + 1) & mask_) {
      if (pages_[i].number() == number) return pages_[i];
      if (pages_[i].number() == 0) return AddPage(address, &pages_[i]);
    }
  }
  Page& AddPage(uint64_t address, Page* slot);
  void RebuildDirectory();
  void GrowGroup(Page* page);
  void ShrinkGroup(Page* page);
  char* TakeGroup(size_t size_class);
  void ReturnGroup(size_t size_class, char* group);

  // A directory of two empty slots to begin with, so that looking needs no special case.
  ZeroedArray<Page> pages_{2};
  size_t mask_ = 1;
  int shift_ = 63;
  size_t used_pages_ = 0;
  size_t size_ = 0;
  bool is_large_ = false;
  std::vector<ZeroedArray<char>> slabs_;
  size_t slab_used_ = 0;  // of the last slab
  size_t slab_bytes_ = 0;
  std::array<char*, kCapacities.size()> spare_{};  // each begins with a pointer to the next
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
