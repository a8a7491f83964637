#include "analyzer/replay/live_table.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

// Beyond what a core's own cache holds.
constexpr size_t kLargeBytes = 512 << 10;

constexpr size_t kFewestSlots = 256;  // of the table of regions
// Slabs of doubling size, until tables are large: what is not used of the last one takes no memory.
constexpr size_t kFirstSlabBytes = 32 << 10;
constexpr size_t kLargestSmallSlabBytes = 1 << 20;
constexpr size_t kLargeSlabBytes = 64 << 20;

// Memory that nobody uses begins with a pointer to the next of its size.
template <typename T>
T* TakeSpare(T** first) {
  T* const taken = *first;
  if (taken != nullptr) std::memcpy(first, static_cast<const void*>(taken), sizeof(*first));
  return taken;
}
template <typename T>
void AddSpare(T** first, T* spare) {
  std::memcpy(static_cast<void*>(spare), first, sizeof(*first));
  *first = spare;
}

}  // namespace

// ---- Regions ----

LiveTable::Page& LiveTable::AddRegion(uint64_t address) {
  if (4 * (used_regions_ + 1) > 3 * regions_.size()) RebuildRegions();
  size_t i = HomeOf(address);
  while (regions_[i].number != 0) i = (i + 1) & mask_;
  Page* pages = TakeSpare(&spare_pages_);
  if (pages != nullptr) {
    std::fill_n(pages, kPagesPerRegion, Page{});
  } else {
    pages = reinterpret_cast<Page*>(TakeFromSlab(kPagesPerRegion * sizeof(Page)));
  }
  ++used_regions_;
  regions_[i] = {NumberOf(address), pages};
  return pages[PageOf(address)];
}

// Forgets regions without objects and makes room for at least as many as there are.
void LiveTable::RebuildRegions() {
  const auto is_empty = [](const Region& region) {
    return std::all_of(region.pages, region.pages + kPagesPerRegion,
                       [](const Page& page) { return page.live == 0; });
  };
  size_t kept = 0;
  for (size_t k = 0; k < regions_.size(); ++k) {
    PrefetchPagesAhead(k);
    kept += regions_[k].number != 0 && !is_empty(regions_[k]);
  }
  const size_t slots = std::bit_ceil(std::max(2 * kept + 2, kFewestSlots));
  const ZeroedArray<Region> old = std::exchange(regions_, ZeroedArray<Region>(slots));
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
  used_regions_ = kept;
  ++epoch_;
  newest_ = nullptr;
  for (size_t k = 0; k < old.size(); ++k) {
    if (old[k].number == 0) continue;
    if (is_empty(old[k])) {
      for (Page* page = old[k].pages; page != old[k].pages + kPagesPerRegion; ++page) DropGroup(page);
      AddSpare(&spare_pages_, old[k].pages);
      continue;
    }
    size_t i = HomeOf((old[k].number - 1) << kRegionShift);
    while (regions_[i].number != 0) i = (i + 1) & mask_;
    regions_[i] = old[k];
  }
  is_large_ = capacity_bytes() > kLargeBytes;
}

// ---- Groups ----

void LiveTable::MakeRoom(Page* page) {
  const Page old = *page;
  size_t size_class = old.size_class;
  if (old.places == 0) {
    const size_t neighbours = newest_ != nullptr ? newest_->live : 0;
    size_class = 1;
    while (neighbours >= kManyObjects && kCapacities[size_class] < neighbours &&
           size_class < kLargestFirstClass)
      ++size_class;
    newest_ = page;
  } else if (4 * old.live > 3 * old.places) {
    ++size_class;
  }
  if (size_class != old.size_class) {
    page->group = TakeGroup(size_class);
    page->size_class = static_cast<uint8_t>(size_class);
    page->capacity = kCapacities[size_class];
  }
  PackedObject* next = page->group;
  old.ForEachPlace([&](unsigned key, const PackedObject& object) {
    if (!object.is_none()) {
      *next++ = object;
    } else {
      page->taken[key >> 6] ^= uint64_t{1} << (key & 63);
    }
  });
  page->places = static_cast<uint8_t>(next - page->group);
  if (size_class != old.size_class) ReturnGroup(old.size_class, old.group);
}

void LiveTable::DropGroup(Page* page) {
  ReturnGroup(page->size_class, page->group);
  *page = {};
}

PackedObject* LiveTable::TakeGroup(size_t size_class) {
  PackedObject* const spare = TakeSpare(&spare_[size_class]);
  if (spare != nullptr) return spare;
  return reinterpret_cast<PackedObject*>(TakeFromSlab(kCapacities[size_class] * sizeof(PackedObject)));
}

void LiveTable::ReturnGroup(size_t size_class, PackedObject* group) {
  if (group != nullptr) AddSpare(&spare_[size_class], group);
}

// Zeros, aligned for pages.
char* LiveTable::TakeFromSlab(size_t bytes) {
  static_assert(sizeof(Page) % alignof(Page) == 0 && 4 * sizeof(PackedObject) == alignof(Page));
  if (slabs_.empty() || slab_used_ + bytes > slabs_.back().size()) {
    const size_t last = slabs_.empty() ? kFirstSlabBytes / 2 : slabs_.back().size();
    const size_t size = last < kLargestSmallSlabBytes ? 2 * last : kLargeSlabBytes;
    if (!slabs_.empty()) slab_bytes_ += slabs_.back().size();
    slabs_.emplace_back(size);
    slab_used_ = (alignof(Page) - reinterpret_cast<uintptr_t>(slabs_.back().data())) % alignof(Page);
    is_large_ = capacity_bytes() > kLargeBytes;
  }
  char* const taken = slabs_.back().data() + slab_used_;
  slab_used_ += bytes;
  return taken;
}

// ---- Objects that do not begin at a multiple of 16 ----

PackedObject* LiveTable::FindOdd(uint64_t address) {
  const auto it = odd_.find(address);
  return it != odd_.end() ? &it->second : nullptr;
}

LiveTable::Place LiveTable::FindOrAddOdd(uint64_t address) {
  const auto [it, is_new] = odd_.try_emplace(address);
  size_ += is_new;
  return {&it->second, is_new};
}

void LiveTable::EraseOdd(uint64_t address) {
  odd_.erase(address);
  --size_;
}

}  // namespace plateau::replay
