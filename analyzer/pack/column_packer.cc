#include <zstd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/prefetch.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/heap_objects.h"
#include "analyzer/pack/record_merger.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

using trace::GetVarint;
using trace::Op;
using trace::PutVarint;

constexpr int kZstdLevel = 3;

// Bytes that grow at their end, with little ado for each.
class Bytes {
 public:
  // At least `room` bytes can be written from the returned place on; Commit() says how many were.
  uint8_t* Room(size_t room) {
    if (data_.size() - size_ < room) data_.resize(2 * data_.size() + room + 4096);
    return reinterpret_cast<uint8_t*>(data_.data()) + size_;
  }
  void Commit(const uint8_t* end) {
    size_ = static_cast<size_t>(end - reinterpret_cast<const uint8_t*>(data_.data()));
  }
  void Byte(unsigned value) {
    uint8_t* p = Room(1);
    *p = static_cast<uint8_t>(value);
    ++size_;
  }
  void Number(uint64_t value) { Commit(PutVarint(Room(trace::kMaxVarintBytes), value)); }
  // Copies the number at `p`, which is whole, and returns its end.
  const uint8_t* Move(const uint8_t* p) {
    uint8_t* out = Room(trace::kMaxVarintBytes);
    do *out++ = *p;
    while (*p++ >= 0x80);
    Commit(out);
    return p;
  }
  void Append(const uint8_t* begin, const uint8_t* end) {
    const auto count = static_cast<size_t>(end - begin);
    __builtin_memcpy(Room(count), begin, count);
    size_ += count;
  }
  std::string_view view() const { return {data_.data(), size_}; }

 private:
  std::string data_;
  size_t size_ = 0;
};

using Columns = std::array<Bytes, kColumns>;

// What is known of each address: the last object there, and the free that was the last one there.
class AddressTable {
 public:
  struct Slot {
    uint64_t address = 0;
    uint32_t object : 31 = 0;  // 0: none
    uint32_t is_alive : 1 = 0;
    uint32_t freed = 0;  // number of the free; 0: none
  };

  AddressTable() : slots_(size_t{1} << 12) {}

  // Valid until the next call. What is said of address 0 is forgotten.
  Slot* At(uint64_t address) {
    if (address == 0) return &(nowhere_ = {});
    Slot* slot = Find(address);
    if (slot->address != 0) return slot;
    if (++used_ > slots_.size() / 2) {
      Grow();
      slot = Find(address);
    }
    slot->address = address;
    return slot;
  }

  void Prefetch(uint64_t address) const { PrefetchForWriting(&slots_[PlaceOf(address)]); }
  // The object that is probably at this address.
  uint32_t Guess(uint64_t address) const { return slots_[PlaceOf(address)].object; }

 private:
  size_t PlaceOf(uint64_t address) const {
    return (address * 0x9e3779b97f4a7c15u) >> 24 & (slots_.size() - 1);
  }
  Slot* Find(uint64_t address) {
    size_t i = PlaceOf(address);
    while (slots_[i].address != 0 && slots_[i].address != address) i = (i + 1) & (slots_.size() - 1);
    return &slots_[i];
  }
  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.address != 0) *Find(slot.address) = slot;
    }
  }

  Slot nowhere_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

// The columns of one allocator.
class HeapPacker {
 public:
  HeapPacker(Allocator allocator, Bytes* columns) : objects_(allocator), columns_(columns), small_(kSmall) {}

  void Size(uint64_t bytes) {
    uint32_t* entry = bytes < kSmall ? &small_[bytes] : &large_[bytes];
    if (*entry == 0) {
      columns_[kHeapSize].Byte(kSizeNew);
      columns_[kHeapSizeFar].Number(bytes);
      if (sizes_ < kMaxSizes) *entry = ++sizes_;
    } else if (*entry < kSizeNear) {
      columns_[kHeapSize].Byte(*entry);
    } else {
      columns_[kHeapSize].Byte(kSizeNear + (*entry - kSizeNear) / 256);
      columns_[kHeapSizeFar].Byte((*entry - kSizeNear) % 256);
    }
  }

  void Alloc(uint64_t address, uint64_t bytes) {
    const uint64_t units = objects_.UnitsOf(bytes);
    AddressTable::Slot* const slot = table_.At(address);
    const bool is_freed = slot->object != 0 && !slot->is_alive;
    unsigned code = is_freed ? objects_.TakeObject(slot->object, units) : kPlaceListed;
    const bool is_from_list = code != kPlaceListed;
    if (!is_from_list) code = PlaceOffTheLists(address, slot->freed, objects_.LastReused(units));
    columns_[kHeapPlace].Byte(code);
    slot->object = objects_.Add(address, units, is_from_list);
    slot->is_alive = true;
  }

  // Says which address will be needed soon, and which even sooner, so that they are in the cache by then.
  void Announce(uint64_t soon, uint64_t sooner) {
    table_.Prefetch(soon);
    objects_.Prefetch(table_.Guess(sooner));
  }

  void Free(uint64_t address) {
    AddressTable::Slot* const slot = table_.At(address);
    const uint32_t object = slot->is_alive ? slot->object : 0;
    slot->is_alive = false;
    slot->freed = objects_.frees() + 1;
    Bytes& freed = columns_[kHeapFreed];
    if (object == 0) {
      freed.Byte(kFreedElder);
      PutFar(kHeapElder, address, objects_.last_elder);
      objects_.FreeElder(address);
      return;
    }
    const uint64_t births = objects_.newest() - object;
    const uint64_t distance = trace::ZigZag(int64_t{object} - int64_t{objects_.last_freed_object});
    if (distance != 0 && distance <= kFreedNear) {
      freed.Byte(static_cast<unsigned>(distance - 1));
    } else if (births < kNearBirths) {
      freed.Byte(static_cast<unsigned>(kFreedNear + births));
    } else if (births < kMiddleBirths && distance >= kShortDistance) {
      freed.Byte(static_cast<unsigned>(kFreedMiddle + (births - kNearBirths) / 256));
      columns_[kHeapFreedFar].Byte((births - kNearBirths) % 256);
    } else {
      freed.Byte(kFreedFar);
      columns_[kHeapFreedFar].Number(distance);
    }
    objects_.Free(object);
  }

 private:
  static constexpr size_t kSmall = 4096;
  static constexpr uint64_t kShortDistance = 128;  // from there on it takes two bytes

  unsigned PlaceOffTheLists(uint64_t address, uint32_t freed, uint64_t* last_reused) {
    if (address == objects_.last_freed) return kPlaceFreedLast;
    if (address == objects_.fresh) return kPlaceFresh;
    if (const unsigned cursor = objects_.CursorAt(address); cursor < kCursors) return kPlaceCursor + cursor;
    if (freed != 0) {
      columns_[kHeapReused].Number(trace::ZigZag(int64_t{freed} - static_cast<int64_t>(*last_reused)));
      *last_reused = freed;
      return kPlaceReused;
    }
    PutFar(kHeapPlaceFar, address, objects_.last_allocated);
    return kPlaceFar;
  }

  void PutFar(HeapColumn column, uint64_t address, uint64_t from) {
    Bytes& bytes = columns_[column];
    bytes.Commit(PutDistance(bytes.Room(2 * trace::kMaxVarintBytes), address, from));
  }

  HeapObjects objects_;
  AddressTable table_;
  Bytes* const columns_;
  std::vector<uint32_t> small_;                    // entry of each small size in the dictionary, 0: none
  absl::flat_hash_map<uint64_t, uint32_t> large_;  // the same of larger ones
  uint32_t sizes_ = 0;
};

// Sorts the bytes of a payload that RecordMerger wrote into columns.
class Splitter {
 public:
  Splitter(const RecordMerger& merged, Columns* columns)
      : p_(reinterpret_cast<const uint8_t*>(merged.payload().data())),
        end_(p_ + merged.payload().size()),
        address_(merged.addresses().data()),
        columns_(*columns),
        malloc_(std::make_unique<HeapPacker>(Allocator::kMalloc, &columns_[kColumnMalloc])),
        pymalloc_(std::make_unique<HeapPacker>(Allocator::kPymalloc, &columns_[kColumnPymalloc])) {}

  void Run() {
    while (p_ != end_) Take();
  }

  // `merged` has so many addresses, of any value, behind those of its records.
  static constexpr size_t kSoon = 16;

 private:
  static constexpr size_t kSooner = 8;

  uint64_t Number() {
    uint64_t value = 0;
    p_ = GetVarint(p_, end_, &value);
    return value;
  }
  // Moves the bytes of one number to a column.
  void Move(size_t column) { p_ = columns_[column].Move(p_); }
  void Take() {
    const uint8_t tag = *p_++;
    const uint8_t flags = tag >> 3;
    switch (static_cast<Op>(tag & 7)) {
      case Op::kAlloc:
        Number();
        return Alloc(tag, kColumnMalloc, malloc_.get(), &bytes_);
      case Op::kAllocIn:
        return Alloc(tag, kColumnPymalloc, pymalloc_.get(), &in_bytes_);
      case Op::kFree:
        return Free(tag, malloc_.get());
      case Op::kFreeIn:
        return Free(tag, pymalloc_.get());
      case Op::kNode:
        columns_[kColumnTag].Byte(tag);
        for (unsigned i = NodeNumbers(flags); i > 0; --i) Move(kColumnNode);
        return;
      case Op::kPc:
        columns_[kColumnTag].Byte(tag);
        if (!(flags & trace::kPcNextId)) Move(kColumnLocation);
        Move(kColumnLocation);
        return Move(kColumnOffset);
      case Op::kTime:
        columns_[kColumnTag].Byte(tag);
        return Move(kColumnTime);
      case Op::kExt:
        return Ext(tag);
    }
  }
  void Alloc(uint8_t tag, size_t first_column, HeapPacker* heap, uint64_t* bytes) {
    const uint8_t flags = tag >> 3;
    columns_[kColumnTag].Byte(tag & ~(trace::kAllocRecent << 3));
    if (!(flags & trace::kAllocSameSize)) heap->Size(*bytes = Number());
    if (static_cast<Op>(tag & 7) == Op::kAllocIn) Number();
    if (!(flags & trace::kAllocSameStack)) Move(first_column + kHeapStack);
    if (flags & trace::kAllocTime) Move(kColumnTime);
    heap->Announce(address_[kSoon], address_[kSooner]);
    heap->Alloc(*address_++, *bytes);
  }
  void Free(uint8_t tag, HeapPacker* heap) {
    columns_[kColumnTag].Byte(tag & ~(trace::kFreeRecent << 3));
    Number();
    if (tag >> 3 & trace::kFreeTime) Move(kColumnTime);
    heap->Announce(address_[kSoon], address_[kSooner]);
    heap->Free(*address_++);
  }
  void Ext(uint8_t tag) {
    const uint8_t kind = tag >> 3;
    columns_[kColumnTag].Byte(tag);
    const size_t column = kind == kExtEscape ? size_t{kColumnOtherExt} : kColumnExt + size_t{kind};
    if (kind == kExtEscape) Move(column);
    const uint8_t* const begin = p_;
    p_ += Number();
    columns_[column].Append(begin, p_);
  }

  const uint8_t* p_;
  const uint8_t* const end_;
  const uint64_t* address_;
  uint64_t bytes_ = 0, in_bytes_ = 0;
  Columns& columns_;
  const std::unique_ptr<HeapPacker> malloc_, pymalloc_;
};

}  // namespace

std::string ColumnName(size_t column) {
  static constexpr const char* kCommon[] = {"tag", "time", "node", "location", "offset"};
  static constexpr const char* kHeap[] = {"stack", "size",      "size_far", "place", "place_far",
                                          "freed", "freed_far", "elder",    "reused"};
  static_assert(std::size(kHeap) == kHeapColumns);
  if (column < std::size(kCommon)) return kCommon[column];
  if (column - kColumnMalloc < std::size(kHeap)) {
    return absl::StrCat("malloc.", kHeap[column - kColumnMalloc]);
  }
  if (column - kColumnPymalloc < std::size(kHeap)) {
    return absl::StrCat("pymalloc.", kHeap[column - kColumnPymalloc]);
  }
  return column == kColumnOtherExt ? "ext other" : absl::StrCat("ext ", column - kColumnExt);
}

absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads, PackCosts* costs) {
  if (payloads.empty()) return absl::InvalidArgumentError("no records to pack");
  RecordMerger merged(payloads);
  for (const EventsPayload& payload : payloads) {
    if (!merged.Add(payload, &payload == &payloads.front())) {
      return absl::DataLossError("a block has a malformed record and cannot be packed");
    }
  }
  if (merged.payload().size() > kMaxUnpackedBytes) {
    return absl::OutOfRangeError("more records than one packed block may have");
  }
  const auto columns = std::make_unique<Columns>();
  merged.Finish(Splitter::kSoon + 1);
  Splitter(merged, columns.get()).Run();

  PackedColumns packed;
  packed.first_tsc = payloads.front().first_tsc;
  packed.record_count = merged.records();
  packed.raw_bytes = static_cast<uint32_t>(merged.payload().size());
  Bytes out;
  out.Byte(kColumnsVersion);
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::string compressed;
  for (size_t i = 0; i < kColumns; ++i) {
    const std::string_view column = (*columns)[i].view();
    if (column.empty()) continue;
    compressed.resize(ZSTD_compressBound(column.size()));
    const size_t size = ZSTD_compressCCtx(zstd.get(), compressed.data(), compressed.size(), column.data(),
                                          column.size(), kZstdLevel);
    if (ZSTD_isError(size)) return absl::InternalError(ZSTD_getErrorName(size));
    const size_t before = out.view().size();
    out.Number(i);
    out.Number(column.size());
    out.Number(size);
    const auto* const begin = reinterpret_cast<const uint8_t*>(compressed.data());
    out.Append(begin, begin + size);
    if (costs != nullptr) (*costs)[i] += out.view().size() - before;
  }
  packed.bytes = std::string(out.view());
  return packed;
}

}  // namespace plateau
