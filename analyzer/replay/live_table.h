// What is allocated at this moment: address -> object, for tens of millions of them.
//
//   regions, open addressing      pages of a region, in order     places, from slabs
//   | region | pages | -------->  | taken | group | ... |         | object | object | ... |
//                                            '------------------> ^
//
// A region is 16 KiB of address space and has 8 pages. A page has a bit for each 16 bytes in which an object
// may begin: the bits below that of an address count the places before its own. So an object is found without
// a search, and neighbours in memory, which programs allocate and free together, are neighbours here too: one
// miss of the cache serves several events. An object that ends leaves its place to the next one at its
// address. A group without a free place gives up those of dead objects, or grows through fixed capacities
// whose memory is used again. Regions whose objects are gone are forgotten when the table of regions is full,
// so it follows what is live.
//
// About 15 bytes an object where several share a page, 350 where one has 16 KiB for itself; up to 1 KiB for
// one that is left of a full page. Memory of outgrown groups is kept for others of their size. Objects that
// begin elsewhere than at a multiple of 16, as those of 8 bytes in some allocators, are in a map of their
// own: up to 40 bytes each, and slower. Pointers into the table are valid until the next FindOrAdd() or
// Erase(). Addresses are of user space: only their lower 48 bits count. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/prefetch.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/live_object.h"

namespace plateau::replay {

class LiveTable {
  struct Page;

 public:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
  static constexpr int kPageShift = 11;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  // Where an address was found before it was needed. For that address alone; costs nothing but time when it
  // is out of date.
  class Hint {
   private:
    friend class LiveTable;
    Page* page_ = nullptr;
    uint64_t epoch_ = 0;
  };

  // Where an object is; `object` is nullptr when there is none.
  class Spot {
   public:
    PackedObject* object = nullptr;

   private:
    friend class LiveTable;
    uintptr_t page_ = 0;  // of an odd address that address, which no page can have
  };
  [[gnu::always_inline]] Spot Look(uint64_t address, const Hint& hint) {
    address &= kAddressMask;
    Spot spot;
    if (IsOdd(address)) [[unlikely]] {
      spot.object = FindOdd(address);
      spot.page_ = address;
      return spot;
    }
    Page* const page = IsGood(hint) ? hint.page_ : FindPage(address);
    if (page == nullptr || !page->Has(KeyOf(address))) return spot;
    PackedObject* const object = page->group + page->RankOf(KeyOf(address));
    if (object->is_none()) return spot;
    spot.object = object;
    spot.page_ = reinterpret_cast<uintptr_t>(page);
    return spot;
  }
  Spot Look(uint64_t address) { return Look(address, Hint()); }
  // nullptr when there is none.
  PackedObject* Find(uint64_t address) { return Look(address).object; }

  // The place for an object, which is for the caller to write. When there is one, `end_old` is called with it
  // first. The address must not be 0.
  template <typename EndOld>
  [[gnu::always_inline]] PackedObject* PlaceFor(uint64_t address, const Hint& hint, EndOld&& end_old) {
    address &= kAddressMask;
    PackedObject* object;
    if (IsOdd(address)) [[unlikely]] {
      const Place place = FindOrAddOdd(address);
      object = place.object;
      if (place.is_new) return object;
    } else {
      Page& page = IsGood(hint) ? *hint.page_ : FindOrAddPage(address);
      const unsigned key = KeyOf(address);
      if (!page.Has(key)) return AddPlace(&page, key);
      object = page.group + page.RankOf(key);
      if (object->is_none()) [[likely]] {
        ++page.live;
        ++size_;
        return object;
      }
    }
    end_old(*object);
    return object;
  }
  struct Place {
    PackedObject* object;
    bool is_new;  // then it is for the caller to write
  };
  Place FindOrAdd(uint64_t address) { return FindOrAdd(address, Hint()); }
  Place FindOrAdd(uint64_t address, const Hint& hint) {
    bool is_new = true;
    PackedObject* const object = PlaceFor(address, hint, [&is_new](PackedObject) { is_new = false; });
    return {object, is_new};
  }

  [[gnu::always_inline]] void Erase(const Spot& spot) {
    if (IsOdd(spot.page_)) [[unlikely]]
      return EraseOdd(spot.page_);
    Page* const page = reinterpret_cast<Page*>(spot.page_);
    *spot.object = PackedObject();
    --page->live;
    --size_;
    if (page->live == 0 && page->capacity > kLargestEmpty) [[unlikely]]
      DropGroup(page);
  }

  // Loads what an address needs into the cache before it is used, in three steps, each best some events after
  // the one before: the place in the table of regions; the page; the object. Not worth it while the table is
  // small enough to be in the cache anyway.
  bool is_large() const { return is_large_; }
  void PrefetchRegion(uint64_t address) const {
    PrefetchForWriting(&regions_[HomeOf(address & kAddressMask)]);
  }
  Hint PrefetchPage(uint64_t address) {
    Hint hint;
    hint.page_ = FindPage(address & kAddressMask);
    if (hint.page_ == nullptr) return hint;
    hint.epoch_ = epoch_;
    PrefetchForWriting(hint.page_);
    return hint;
  }
  void PrefetchObject(uint64_t address, const Hint& hint) const {
    if (hint.epoch_ != epoch_ || hint.page_->group == nullptr) return;
    PrefetchForWriting(hint.page_->group + hint.page_->RankOf(KeyOf(address)));
  }

  size_t size() const { return size_; }
  size_t capacity_bytes() const {
    return regions_.size() * sizeof(Region) + slab_bytes_ + slab_used_ +
           odd_.capacity() * (sizeof(*odd_.begin()) + 1);
  }

  // Calls `visit` with the address and the object of each.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    if (size_ == 0) return;
    for (size_t i = 0; i < regions_.size(); ++i) {
      PrefetchPagesAhead(i);
      const Region& region = regions_[i];
      for (size_t k = 0; region.number != 0 && k < kPagesPerRegion; ++k) {
        if (region.pages[k].live == 0) continue;
        const uint64_t begin = ((region.number - 1) * kPagesPerRegion + k) << kPageShift;
        region.pages[k].ForEachPlace([&](unsigned key, const PackedObject& object) {
          if (!object.is_none()) visit(begin | uint64_t{key} << kKeyShift, object);
        });
      }
    }
    std::vector<uint64_t> odd;  // in an order that is always the same
    for (const auto& [address, object] : odd_) odd.push_back(address);
    std::sort(odd.begin(), odd.end());
    for (const uint64_t address : odd) visit(address, odd_.find(address)->second);
  }

 private:
  static constexpr int kKeyShift = 4;
  static constexpr int kRegionShift = 14;
  static constexpr size_t kPagesPerRegion = size_t{1} << (kRegionShift - kPageShift);
  static constexpr size_t kMostPlaces = kPageBytes >> kKeyShift;
  // How many places a group has. The first is that of no group at all.
  static constexpr std::array<uint8_t, 12> kCapacities = {0,  4,  8,  12, 16, 20,
                                                          24, 32, 48, 64, 96, kMostPlaces};
  static constexpr size_t kLargestEmpty = 16;  // capacity that an empty page may keep
  // Pages come with neighbours that are as full: after one with so many objects, groups begin with room for
  // as many, within these classes.
  static constexpr size_t kManyObjects = 3;
  static constexpr size_t kLargestFirstClass = 6;

  // A bit is set where an object has a place, dead or alive. Places are in the order of their bits.
  struct alignas(32) Page {
    std::array<uint64_t, 2> taken;
    PackedObject* group;
    uint16_t live;  // objects that are alive
    uint8_t places;
    uint8_t size_class;  // of the group
    uint8_t capacity;    // which is that of the class

    bool Has(unsigned key) const { return (taken[key >> 6] >> (key & 63) & 1) != 0; }
    // How many places come before that of a key.
    size_t RankOf(unsigned key) const {
      const uint64_t below = (uint64_t{1} << (key & 63)) - 1;
      const unsigned in_first = static_cast<unsigned>(std::popcount(taken[0]));
      return static_cast<unsigned>(std::popcount(taken[key >> 6] & below)) + (in_first & -(key >> 6));
    }
    template <typename Visit>
    void ForEachPlace(Visit&& visit) const {
      const PackedObject* object = group;
      for (unsigned half = 0; half < taken.size(); ++half) {
        for (uint64_t bits = taken[half]; bits != 0; bits &= bits - 1)
          visit(64 * half + static_cast<unsigned>(std::countr_zero(bits)), *object++);
      }
    }
  };
  static_assert(sizeof(Page) == 32 && kMostPlaces == 128);

  struct Region {
    uint64_t number;  // address >> kRegionShift, plus 1; 0: an empty slot
    Page* pages;
  };

  bool IsGood(const Hint& hint) const { return hint.page_ != nullptr && hint.epoch_ == epoch_; }
  static bool IsOdd(uint64_t address) { return (address & ((1 << kKeyShift) - 1)) != 0; }
  static unsigned KeyOf(uint64_t address) {
    return static_cast<unsigned>((address & (kPageBytes - 1)) >> kKeyShift);
  }
  static size_t PageOf(uint64_t address) { return (address >> kPageShift) % kPagesPerRegion; }
  static uint64_t NumberOf(uint64_t address) { return (address >> kRegionShift) + 1; }
  size_t HomeOf(uint64_t address) const { return (address >> kRegionShift) * 0x9e3779b97f4a7c15u >> shift_; }

  Page* FindPage(uint64_t address) const {
    const uint64_t number = NumberOf(address);
    for (size_t i = HomeOf(address);; i = (i + 1) & mask_) {
      if (regions_[i].number == number) return regions_[i].pages + PageOf(address);
      if (regions_[i].number == 0) return nullptr;
    }
  }
  Page& FindOrAddPage(uint64_t address) {
    Page* const found = FindPage(address);
    return found != nullptr ? *found : AddRegion(address);
  }
  // For walks over all regions, of which number `i` is at hand.
  void PrefetchPagesAhead(size_t i) const {
    constexpr size_t kDistance = 8;
    if (i + kDistance >= regions_.size() || regions_[i + kDistance].number == 0) return;
    const Page* const pages = regions_[i + kDistance].pages;
    for (size_t k = 0; k < kPagesPerRegion; k += 2) PrefetchForWriting(pages + k);  // two in a cache line
  }
  Page& AddRegion(uint64_t address);
  void RebuildRegions();

  // A place for an object that has none yet; the caller writes it.
  [[gnu::always_inline]] PackedObject* AddPlace(Page* page, unsigned key) {
    if (page->places == page->capacity) [[unlikely]]
      MakeRoom(page);
    const size_t rank = page->RankOf(key);
    for (size_t i = page->places; i > rank; --i) page->group[i] = page->group[i - 1];
    page->taken[key >> 6] |= uint64_t{1} << (key & 63);
    ++page->places;
    ++page->live;
    ++size_;
    return page->group + rank;
  }
  // Drops the places of dead objects, or finds a larger group.
  void MakeRoom(Page* page);
  void DropGroup(Page* page);
  PackedObject* TakeGroup(size_t size_class);
  void ReturnGroup(size_t size_class, PackedObject* group);
  char* TakeFromSlab(size_t bytes);

  PackedObject* FindOdd(uint64_t address);
  Place FindOrAddOdd(uint64_t address);
  void EraseOdd(uint64_t address);

  // Two empty slots to begin with, so that looking needs no special case.
  ZeroedArray<Region> regions_{2};
  size_t mask_ = 1;
  int shift_ = 63;
  uint64_t epoch_ = 1;  // of the regions: their pages are used again when they are forgotten
  size_t used_regions_ = 0;
  const Page* newest_ = nullptr;  // that got a group
  size_t size_ = 0;
  bool is_large_ = false;
  absl::flat_hash_map<uint64_t, PackedObject> odd_;  // by address
  std::vector<ZeroedArray<char>> slabs_;
  size_t slab_used_ = 0;         // of the last slab
  size_t slab_bytes_ = 0;        // of those before it
  Page* spare_pages_ = nullptr;  // of forgotten regions; each begins with a pointer to the next
  std::array<PackedObject*, kCapacities.size()> spare_{};  // as are these
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_LIVE_TABLE_H_
