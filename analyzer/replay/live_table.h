// What is allocated at this moment: address -> object, for tens of millions of them.
//
//   directory, open addressing       groups, from slabs
//   | page | count | group | -.      | ... key 2, key 1, key 0 | object 0 | object 1 | object 2 ... |
//                              '-----------------------------> ^
//
// A page is 2 KiB of address space; its objects lie together, so that neighbours in memory, which programs
// allocate and free together, are neighbours here too: one miss of the cache serves several events. A key is
// where in the page its object begins, in steps of 16 bytes; eight are compared at once. A group grows
// through fixed capacities whose places are used again. Pages whose objects are gone are forgotten when the
// directory is full, so it follows what is live.
//
// About 24 bytes an object where several share a page, 56 where each has its own. Places of outgrown groups
// are kept for others of their size, so memory follows the most that was ever live. Pointers into the table
// are valid until the next FindOrAdd() or Erase(). Addresses are of user space: only their lower 48 bits
// count. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_

#include <algorithm>
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

// Two words, each always written as a whole: a processor waits when it has to read a word whose parts were
// written one by one. Knows its address only together with its place in the table.
class LiveObject {
 public:
  static constexpr uint64_t kMostBytes = (uint64_t{1} << 44) - 1;

  LiveObject() = default;
  // `bytes` up to kMostBytes.
  LiveObject(uint64_t address, uint8_t rate, uint8_t flags, uint64_t bytes, uint32_t stack, uint32_t birth)
      : first_(bytes | (address & 15) << 44 | uint64_t{rate} << 48 | uint64_t{flags} << 56),
        second_(stack | uint64_t{birth} << 32) {}

  uint64_t bytes() const { return first_ & kMostBytes; }
  uint64_t lowest_bits() const { return first_ >> 44 & 15; }           // of its address
  uint8_t rate() const { return static_cast<uint8_t>(first_ >> 48); }  // which it was recorded at
  uint8_t flags() const { return static_cast<uint8_t>(first_ >> 56); }
  uint32_t stack() const { return static_cast<uint32_t>(second_); }        // node of the trace
  uint32_t birth() const { return static_cast<uint32_t>(second_ >> 32); }  // bucket of the clock
  bool Has(uint8_t any_flag) const { return (flags() & any_flag) != 0; }
  void Flip(ObjectFlags flag) { first_ ^= uint64_t{flag} << 56; }

  // Word by word, because they may have been written a moment ago and not as one.
  void CopyFrom(const LiveObject& other) {
    uint64_t first = other.first_, second = other.second_;
    asm("" : "+r"(first), "+r"(second));
    first_ = first;
    second_ = second;
  }

 private:
  uint64_t first_;
  uint64_t second_;
};
static_assert(sizeof(LiveObject) == 16);

class LiveTable {
  struct Page;

 public:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
  static constexpr int kPageShift = 11;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  // Where an address was found before it was needed. Costs nothing but time when it is wrong by now.
  class Hint {
   private:
    friend class LiveTable;
    Page* page_ = nullptr;
    uint64_t epoch_ = 0;
  };

  // Where an object is; `object` is nullptr when there is none.
  class Spot {
   public:
    LiveObject* object = nullptr;

   private:
    friend class LiveTable;
    Page* page_ = nullptr;
  };
  [[gnu::always_inline]] Spot Look(uint64_t address, const Hint& hint) {
    address &= kAddressMask;
    Spot spot;
    spot.page_ = IsGood(hint, address) ? hint.page_ : const_cast<Page*>(FindPage(address));
    if (spot.page_ != nullptr) spot.object = FindIn(*spot.page_, address);
    return spot;
  }
  Spot Look(uint64_t address) { return Look(address, Hint()); }
  // nullptr when there is none.
  LiveObject* Find(uint64_t address) { return Look(address).object; }

  struct Place {
    LiveObject* object;
    bool is_new;  // then it is for the caller to write
  };
  // The address must not be 0.
  Place FindOrAdd(uint64_t address) { return FindOrAdd(address, Hint()); }
  [[gnu::always_inline]] Place FindOrAdd(uint64_t address, const Hint& hint) {
    address &= kAddressMask;
    Page& page = IsGood(hint, address) ? *hint.page_ : FindOrAddPage(address);
    if (LiveObject* found = FindIn(page, address)) [[unlikely]]
      return {found, false};
    if (page.count() == Capacity(page)) [[unlikely]]
      GrowGroup(&page);
    const size_t i = page.count();
    page.AddOne();
    KeyAt(page, i) = KeyOf(address);
    ++size_;
    return {Objects(page) + i, true};
  }

  [[gnu::always_inline]] void Erase(const Spot& spot) {
    Page* const page = spot.page_;
    LiveObject* const objects = Objects(*page);
    const auto hole = static_cast<size_t>(spot.object - objects);
    const size_t last = page->count() - 1u;
    // Onto itself when it is the last: whether it is cannot be foreseen, and a copy is quicker than a guess.
    objects[hole].CopyFrom(objects[last]);
    KeyAt(*page, hole) = KeyAt(*page, last);
    KeyAt(*page, last) = kNoKey;
    page->RemoveOne();
    --size_;
    if (Capacity(*page) > kLargestEmpty && last == 0) [[unlikely]]
      ShrinkGroup(page);
  }

  // Loads what an address needs into the cache before it is used, in three steps, each best some events after
  // the one before: the place in the directory; the keys of the group and its end, where objects come; the
  // object that is to be looked at. Not worth it while the table is small enough to be in the cache anyway.
  bool is_large() const { return is_large_; }
  void PrefetchPage(uint64_t address) const { PrefetchForWriting(&pages_[HomeOf(address & kAddressMask)]); }
  Hint PrefetchGroup(uint64_t address) {
    Hint hint;
    hint.page_ = const_cast<Page*>(FindPage(address & kAddressMask));
    if (hint.page_ == nullptr) return hint;
    hint.epoch_ = epoch_;
    const auto* const middle = reinterpret_cast<const char*>(hint.page_->group);
    const size_t size_class = hint.page_->size_class();
    PrefetchForWriting(middle - 1);
    PrefetchForWriting(size_class <= kClassForMany ? middle + kLineBytes - 1
                                                   : middle - kKeyBytes[size_class]);
    // Where objects come and go; of a small group that is all there is.
    PrefetchForWriting(Objects(*hint.page_) + std::max<size_t>(hint.page_->count(), 1) - 1);
    PrefetchForWriting(Objects(*hint.page_) + hint.page_->count());
    return hint;
  }
  // Of a large group; a small one is all there by now. Looks at keys alone.
  void PrefetchObject(uint64_t address, const Hint& hint) const {
    const Page* const page = hint.page_;
    if (page == nullptr || hint.epoch_ != epoch_ || page->size_class() <= kClassForMany) return;
    const LiveObject* const object = FindIn</*kIsSure=*/false>(*page, address & kAddressMask);
    if (object != nullptr) PrefetchForWriting(object);
  }

  size_t size() const { return size_; }
  size_t capacity_bytes() const { return pages_.size() * sizeof(Page) + slab_bytes_; }

  // Calls `visit` with the address and the object of each.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (size_t i = 0; i < pages_.size(); ++i) {
      const Page& page = pages_[i];
      for (size_t k = 0; k < page.count(); ++k) {
        const LiveObject& object = Objects(page)[k];
        visit((page.number() - 1) << kPageShift | static_cast<uint64_t>(KeyAt(page, k)) << kKeyShift |
                  object.lowest_bits(),
              object);
      }
    }
  }

 private:
  static constexpr uint64_t kOnes = 0x0101'0101'0101'0101u;
  static constexpr int kKeyShift = 4;
  // How many objects a group takes. The last is a page full of objects of one byte.
  static constexpr std::array<uint16_t, 19> kCapacities = {1,  4,  8,   10,  12,  16,  20,  24,   32,  48,
                                                           64, 96, 128, 192, 256, 384, 512, 1024, 2048};
  // Bytes of the keys in front of so many objects.
  static constexpr auto kKeyBytes = [] {
    std::array<uint16_t, kCapacities.size()> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = (kCapacities[i] + 7) / 8 * 8;
    return bytes;
  }();
  // Not uint8_t: a byte that is written could be part of anything, and all else would have to be read again.
  enum Key : uint8_t {};
  static constexpr Key kNoKey{UINT8_MAX};
  static_assert(kPageShift - kKeyShift < 8, "kNoKey is no key");
  static constexpr size_t kLargestEmpty = 8;  // capacity that an empty page may keep
  // Pages come with neighbours that are as full: after one with so many objects, groups begin with room for
  // as many, within these classes.
  static constexpr size_t kManyObjects = 3;
  static constexpr size_t kClassForMany = 2;
  static constexpr size_t kLargestFirstClass = 7;
  static constexpr size_t kLineBytes = 64;

  // A word of three, as in LiveObject: number, count of objects, size class of the group.
  struct Page {
    uint64_t word;      // 0: an empty slot
    LiveObject* group;  // its objects; in front of them, backwards, their keys

    uint64_t number() const { return word & ((uint64_t{1} << 40) - 1); }  // address >> kPageShift, plus 1
    size_t count() const { return word >> 40 & 0xffff; }
    size_t size_class() const { return word >> 56; }
    void AddOne() { word += uint64_t{1} << 40; }
    void RemoveOne() { word -= uint64_t{1} << 40; }
    void SetSizeClass(size_t size_class) { word = (word & ((uint64_t{1} << 56) - 1)) | size_class << 56; }
  };
  static_assert(sizeof(Page) == 16);

  static uint64_t NumberOf(uint64_t address) { return (address >> kPageShift) + 1; }
  static Key KeyOf(uint64_t address) {
    return static_cast<Key>((address & ((uint64_t{1} << kPageShift) - 1)) >> kKeyShift);
  }
  size_t HomeOf(uint64_t address) const { return (address >> kPageShift) * 0x9e3779b97f4a7c15u >> shift_; }
  bool IsGood(const Hint& hint, uint64_t address) const {
    return hint.page_ != nullptr && hint.epoch_ == epoch_ && hint.page_->number() == NumberOf(address);
  }

  static size_t Capacity(const Page& page) { return kCapacities[page.size_class()]; }
  static size_t GroupBytes(size_t size_class) {
    return kKeyBytes[size_class] + kCapacities[size_class] * sizeof(LiveObject);
  }
  // kNoKey where there is no object.
  static Key& KeyAt(const Page& page, size_t i) { return *(reinterpret_cast<Key*>(page.group) - 1 - i); }
  static LiveObject* Objects(const Page& page) { return page.group; }

  const Page* FindPage(uint64_t address) const {
    const uint64_t number = NumberOf(address);
    for (size_t i = HomeOf(address);; i = (i + 1) & mask_) {
      if (pages_[i].number() == number) return &pages_[i];
      if (pages_[i].number() == 0) return nullptr;
    }
  }

  // Not sure: without a look at the object, which may begin elsewhere within the same 16 bytes.
  template <bool kIsSure = true>
  [[gnu::always_inline]] static LiveObject* FindIn(const Page& page, uint64_t address) {
    const uint64_t wanted = KeyOf(address) * kOnes;
    size_t i = 0;
    do {  // the first eight without asking: whether a page is empty is hard to foresee
      uint64_t word;
      std::memcpy(&word, reinterpret_cast<const char*>(page.group) - 8 - i, sizeof(word));
      const uint64_t difference = word ^ wanted;
      const uint64_t equal = (difference - kOnes) & ~difference & kOnes << 7;  // its lowest bit is right
      if (equal != 0) {
        LiveObject* const found = page.group + i + 7 - static_cast<size_t>(std::countr_zero(equal)) / 8;
        if (!kIsSure || found->lowest_bits() == (address & 15)) [[likely]]
          return found;
        return FindUnaligned(page, address);
      }
      i += 8;
    } while (i < page.count());
    return nullptr;
  }
  // Where several objects begin within 16 bytes.
  static LiveObject* FindUnaligned(const Page& page, uint64_t address);

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
  LiveObject* TakeGroup(size_t size_class);
  void ReturnGroup(size_t size_class, LiveObject* group);

  // A directory of two empty slots to begin with, so that looking needs no special case.
  ZeroedArray<Page> pages_{2};
  size_t mask_ = 1;
  int shift_ = 63;
  uint64_t epoch_ = 1;  // of the directory: pages move when it is rebuilt
  size_t used_pages_ = 0;
  const Page* newest_ = nullptr;
  size_t size_ = 0;
  bool is_large_ = false;
  std::vector<ZeroedArray<char>> slabs_;
  size_t slab_used_ = 0;  // of the last slab
  size_t slab_bytes_ = 0;
  std::array<LiveObject*, kCapacities.size()> spare_{};  // each begins with a pointer to the next
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
