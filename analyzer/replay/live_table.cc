#include "analyzer/replay/live_table.h"

#include <algorithm>
#include <utility>

namespace plateau::replay {
namespace {

// Beyond what a core's own cache holds.
constexpr size_t kLargeBytes = 512 << 10;

constexpr size_t kFewestSlots = 1024;  // of the directory
constexpr size_t kFirstSlabBytes = 32 << 10;
constexpr size_t kLargestSlabBytes = 2 << 20;

}  // namespace

LiveTable::Page& LiveTable::AddPage(uint64_t address, Page* slot) {
  if (2 * (used_pages_ + 1) > pages_.size()) {
    RebuildDirectory();
    return FindOrAddPage(address);
  }
  ++used_pages_;
  const size_t neighbours = newest_ != nullptr ? newest_->count() : 0;
  size_t size_class = 0;
  if (neighbours >= kManyObjects) {
    size_class = kClassForMany;
    while (kCapacities[size_class] < neighbours && size_class < kLargestFirstClass) ++size_class;
  }
  *slot = {NumberOf(address), TakeGroup(size_class)};
  slot->SetSizeClass(size_class);
  newest_ = slot;
  return *slot;
}

// Forgets pages without objects and makes room for at least as many as there are.
void LiveTable::RebuildDirectory() {
  size_t kept = 0;
  for (size_t k = 0; k < pages_.size(); ++k) kept += pages_[k].count() > 0;
  const size_t slots = std::bit_ceil(std::max(4 * kept, kFewestSlots));
  const ZeroedArray<Page> old = std::exchange(pages_, ZeroedArray<Page>(slots));
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
  used_pages_ = kept;
  ++epoch_;
  newest_ = nullptr;
  for (size_t k = 0; k < old.size(); ++k) {
    if (old[k].number() == 0) continue;
    if (old[k].count() == 0) {
      ReturnGroup(old[k].size_class(), old[k].group);
      continue;
    }
    size_t i = HomeOf((old[k].number() - 1) << kPageShift);
    while (pages_[i].number() != 0) i = (i + 1) & mask_;
    pages_[i] = old[k];
  }
  is_large_ = capacity_bytes() > kLargeBytes;
}

LiveObject* LiveTable::FindUnaligned(const Page& page, uint64_t address) {
  for (size_t i = 0; i < page.count(); ++i) {
    if (KeyAt(page, i) == KeyOf(address) && page.group[i].lowest_bits() == (address & 15))
      return page.group + i;
  }
  return nullptr;
}

void LiveTable::GrowGroup(Page* page) {
  Page grown = *page;
  grown.SetSizeClass(page->size_class() + 1);
  grown.group = TakeGroup(grown.size_class());
  for (size_t i = 0; i < page->count(); ++i) {
    KeyAt(grown, i) = KeyAt(*page, i);
    grown.group[i].CopyFrom(page->group[i]);
  }
  ReturnGroup(page->size_class(), page->group);
  *page = grown;
}

void LiveTable::ShrinkGroup(Page* page) {
  ReturnGroup(page->size_class(), page->group);
  page->SetSizeClass(0);
  page->group = TakeGroup(0);
}

LiveObject* LiveTable::TakeGroup(size_t size_class) {
  const size_t bytes = GroupBytes(size_class);
  LiveObject*& spare = spare_[size_class];
  LiveObject* group = spare;
  if (group != nullptr) {
    std::memcpy(&spare, group, sizeof(spare));
  } else {
    if (slabs_.empty() || slab_used_ + bytes > slabs_.back().size()) {
      const size_t size =
          slabs_.empty() ? kFirstSlabBytes : std::min(2 * slabs_.back().size(), kLargestSlabBytes);
      slabs_.emplace_back(size);
      slab_used_ = 0;
      slab_bytes_ += size;
      is_large_ = capacity_bytes() > kLargeBytes;
    }
    group = reinterpret_cast<LiveObject*>(slabs_.back().data() + slab_used_ + kKeyBytes[size_class]);
    slab_used_ += bytes;
  }
  std::memset(reinterpret_cast<char*>(group) - kKeyBytes[size_class], 0xff, kKeyBytes[size_class]);
  return group;
}

void LiveTable::ReturnGroup(size_t size_class, LiveObject* group) {
  std::memcpy(static_cast<void*>(group), &spare_[size_class], sizeof(LiveObject*));
  spare_[size_class] = group;
}

}  // namespace plateau::replay
