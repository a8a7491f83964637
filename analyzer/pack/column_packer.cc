#include <zstd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/pack/address_table.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/heap_objects.h"
#include "analyzer/pack/record_merger.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

using trace::Op;
using trace::PutVarint;

constexpr int kZstdLevel = 3;

// Bytes that grow at their end, with little ado for each.
class Bytes {
 public:
  // At least `room` bytes can be written from the returned place on; Commit() says how many were.
  uint8_t* Room(size_t room) {
    if (static_cast<size_t>(limit_ - end_) < room) [[unlikely]]
      Grow(room);
    return end_;
  }
  void Commit(uint8_t* end) { end_ = end; }
  void Byte(unsigned value) {
    uint8_t* const p = Room(1);
    *p = static_cast<uint8_t>(value);
    end_ = p + 1;
  }
  void Number(uint64_t value) { end_ = PutVarint(Room(trace::kMaxVarintBytes), value); }
  // The same for numbers that mostly take a byte or two.
  void SmallNumber(uint64_t value) { end_ = trace::PutSmallVarint(Room(trace::kMaxVarintBytes), value); }
  // Copies the number at `p`, which is whole, and returns its end.
  const uint8_t* Move(const uint8_t* p) {
    uint8_t* out = Room(trace::kMaxVarintBytes);
    do *out++ = *p;
    while (*p++ >= 0x80);
    end_ = out;
    return p;
  }
  void Append(const uint8_t* begin, const uint8_t* end) {
    const auto count = static_cast<size_t>(end - begin);
    __builtin_memcpy(Room(count), begin, count);
    end_ += count;
  }
  std::string_view view() const { return {reinterpret_cast<const char*>(begin_.get()), Size()}; }
  // Forgets what it has and keeps its memory.
  void Clear() { end_ = begin_.get(); }

 private:
  size_t Size() const { return static_cast<size_t>(end_ - begin_.get()); }
  [[gnu::noinline]] void Grow(size_t room) {
    const size_t size = Size(), larger = 2 * size + room + 4096;
    auto old = std::make_unique_for_overwrite<uint8_t[]>(larger);
    old.swap(begin_);
    if (size != 0) __builtin_memcpy(begin_.get(), old.get(), size);
    end_ = begin_.get() + size;
    limit_ = begin_.get() + larger;
  }

  std::unique_ptr<uint8_t[]> begin_;
  uint8_t* end_ = nullptr;
  uint8_t* limit_ = nullptr;
};

using Columns = std::array<Bytes, kColumns>;

// The columns of one allocator.
class HeapPacker {
 public:
  struct Memory {
    HeapObjects::Memory objects;
    AddressTable::Memory table;
  };

  HeapPacker(Allocator allocator, size_t most_records, Bytes* columns, Memory* memory)
      : objects_(allocator, most_records, most_records, &memory->objects),
        table_(&memory->table),
        columns_(columns),
        small_(kSmall) {}

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

  void Stack(int64_t difference) { columns_[kHeapStack].SmallNumber(trace::ZigZag(difference)); }

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

  // Fetch into the cache what an address that will come needs: first its slot, later the object in it.
  void FetchSlot(uint64_t address) const { table_.Prefetch(address); }
  void FetchObject(uint64_t address) const { objects_.Prefetch(table_.Guess(address)); }

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

// Sorts what RecordMerger shows it into columns.
class Splitter {
 public:
  struct Memory {
    Columns columns;
    HeapPacker::Memory malloc, pymalloc;
  };

  // `most_records` of one allocator are expected at most.
  Splitter(size_t most_records, Memory* memory) : columns_(memory->columns) {
    for (Bytes& column : columns_) column.Clear();
    malloc_ = std::make_unique<HeapPacker>(Allocator::kMalloc, most_records, &columns_[kColumnMalloc],
                                           &memory->malloc);
    pymalloc_ = std::make_unique<HeapPacker>(Allocator::kPymalloc, most_records, &columns_[kColumnPymalloc],
                                             &memory->pymalloc);
  }

  void Later(const trace::HotRecord& record) const { HeapOf(record).FetchSlot(record.address); }
  void Soon(const trace::HotRecord& record) const { HeapOf(record).FetchObject(record.address); }
  void Hot(const trace::HotRecord& record, const uint8_t* bytes, uint32_t stack_before) {
    const bool is_free = record.kind == trace::RecordKind::kFree || record.kind == trace::RecordKind::kFreeIn;
    is_free ? Free(record, bytes) : Alloc(record, bytes, stack_before);
  }
  void Others(const uint8_t* begin, const uint8_t* end) {
    while (begin != end) begin = Other(begin);
  }

 private:
  HeapPacker& HeapOf(const trace::HotRecord& record) const {
    const bool is_malloc =
        record.kind == trace::RecordKind::kAlloc || record.kind == trace::RecordKind::kFree;
    return is_malloc ? *malloc_ : *pymalloc_;
  }
  static const uint8_t* Skip(const uint8_t* p) {
    while (*p >= 0x80) ++p;
    return p + 1;
  }
  void Alloc(const trace::HotRecord& record, const uint8_t* bytes, uint32_t stack_before) {
    HeapPacker& heap = HeapOf(record);
    const uint8_t flags = *bytes >> 3;
    columns_[kColumnTag].Byte(*bytes & ~(trace::kAllocRecent << 3));
    if (!(flags & trace::kAllocSameSize)) heap.Size(record.bytes);
    if (!(flags & trace::kAllocSameStack)) heap.Stack(int64_t{record.stack} - int64_t{stack_before});
    if (flags & trace::kAllocTime) {
      bytes = Skip(bytes + 1);
      if (!(flags & trace::kAllocSameSize)) bytes = Skip(bytes);
      if (!(flags & trace::kAllocSameStack)) bytes = Skip(bytes);
      columns_[kColumnTime].Move(bytes);
    }
    heap.Alloc(record.address, record.bytes);
  }
  void Free(const trace::HotRecord& record, const uint8_t* bytes) {
    columns_[kColumnTag].Byte(*bytes & ~(trace::kFreeRecent << 3));
    if (*bytes >> 3 & trace::kFreeTime) columns_[kColumnTime].Move(Skip(bytes + 1));
    HeapOf(record).Free(record.address);
  }
  // Any other record; returns its end.
  const uint8_t* Other(const uint8_t* p) {
    const uint8_t tag = *p++;
    const uint8_t flags = tag >> 3;
    columns_[kColumnTag].Byte(tag);
    switch (static_cast<Op>(tag & 7)) {
      case Op::kNode:
        for (unsigned i = NodeNumbers(flags); i > 0; --i) p = columns_[kColumnNode].Move(p);
        return p;
      case Op::kPc:
        if (!(flags & trace::kPcNextId)) p = columns_[kColumnLocation].Move(p);
        p = columns_[kColumnLocation].Move(p);
        return columns_[kColumnOffset].Move(p);
      case Op::kTime:
        return columns_[kColumnTime].Move(p);
      default:
        return Ext(flags, p);
    }
  }
  const uint8_t* Ext(uint8_t kind, const uint8_t* p) {
    const size_t column = kind == kExtEscape ? size_t{kColumnOtherExt} : kColumnExt + size_t{kind};
    if (kind == kExtEscape) p = columns_[column].Move(p);
    uint64_t length = 0;
    const uint8_t* const end = trace::GetVarint(p, p + trace::kMaxVarintBytes, &length) + length;
    columns_[column].Append(p, end);
    return end;
  }

  Columns& columns_;
  std::unique_ptr<HeapPacker> malloc_, pymalloc_;
};

}  // namespace

absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads, PackCosts* costs) {
  if (payloads.empty()) return absl::InvalidArgumentError("no records to pack");
  size_t bytes = 0;
  for (const EventsPayload& payload : payloads) bytes += payload.bytes.size();
  thread_local Splitter::Memory memory;   // for the thread's next block too
  Splitter splitter(bytes / 2, &memory);  // an allocation or free takes two bytes
  RecordMerger merged(payloads, &splitter);
  for (const EventsPayload& payload : payloads) {
    if (!merged.Add(payload, &payload == &payloads.front())) {
      return absl::DataLossError("a block has a malformed record and cannot be packed");
    }
  }
  if (merged.bytes() > kMaxUnpackedBytes) {
    return absl::OutOfRangeError("more records than one packed block may have");
  }

  PackedColumns packed;
  packed.first_tsc = payloads.front().first_tsc;
  packed.record_count = merged.records();
  packed.raw_bytes = static_cast<uint32_t>(merged.bytes());
  Bytes out;
  out.Byte(kColumnsVersion);
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::string compressed;
  for (size_t i = 0; i < kColumns; ++i) {
    const std::string_view column = memory.columns[i].view();
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
