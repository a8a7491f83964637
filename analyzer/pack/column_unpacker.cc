#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/kept_array.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/heap_objects.h"
#include "preload/trace/encoder.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

using trace::GetVarint;
using trace::Op;

// What is left of one column.
struct Rest {
  const uint8_t* p = nullptr;
  const uint8_t* end = nullptr;

  size_t size() const { return static_cast<size_t>(end - p); }
  bool Byte(unsigned* value) {
    if (p == end) return false;
    *value = *p++;
    return true;
  }
  bool Number(uint64_t* value) {
    const uint8_t* next = GetVarint(p, end, value);
    if (next == nullptr) return false;
    p = next;
    return true;
  }
  // Copies one number, byte for byte.
  bool Copy(uint8_t** out) {
    if (p != end && *p < 0x80) [[likely]] {
      *(*out)++ = *p++;
      return true;
    }
    for (const uint8_t* const limit =
             end - p > static_cast<ptrdiff_t>(trace::kMaxVarintBytes) ? p + trace::kMaxVarintBytes : end;
         p != limit;) {
      const uint8_t byte = *p++;
      *(*out)++ = byte;
      if (byte < 0x80) return true;
    }
    return false;
  }
};

// The addresses and sizes of one allocator. Each function is false at damage.
class HeapUnpacker {
 public:
  // No more records than `raw_bytes` + 1 are taken, whatever the columns say.
  HeapUnpacker(Allocator allocator, size_t raw_bytes, Rest* columns, HeapObjects::Memory* memory)
      : objects_(allocator, std::min(columns[kHeapPlace].size(), raw_bytes + 1),
                 std::min(columns[kHeapFreed].size(), raw_bytes + 1), memory),
        columns_(columns) {}

  bool Size(uint64_t* bytes) {
    unsigned code = 0;
    if (!columns_[kHeapSize].Byte(&code)) return false;
    if (code == kSizeNew) {
      if (!columns_[kHeapSizeFar].Number(bytes)) return false;
      if (sizes_.size() <= kMaxSizes) sizes_.push_back(*bytes);
      return true;
    }
    size_t entry = code;
    if (code >= kSizeNear) {
      unsigned low = 0;
      if (!columns_[kHeapSizeFar].Byte(&low)) return false;
      entry = kSizeNear + (code - kSizeNear) * 256 + low;
    }
    if (entry >= sizes_.size()) return false;
    *bytes = sizes_[entry];
    return true;
  }

  bool Alloc(uint64_t bytes, uint64_t* address) {
    unsigned code = 0;
    if (!columns_[kHeapPlace].Byte(&code)) return false;
    const uint64_t units = objects_.UnitsOf(bytes);
    if (code < kPlaceListed) {
      if (!objects_.TakePlace(code, units, address)) return false;
    } else if (code == kPlaceFresh) {
      *address = objects_.fresh;
    } else if (code == kPlaceFreedLast) {
      *address = objects_.last_freed;
    } else if (code < kPlaceCursor + kCursors) {
      *address = objects_.Cursor(code - kPlaceCursor);
    } else if (code == kPlaceReused) {
      if (!Reused(objects_.LastReused(units), address)) return false;
    } else if (code != kPlaceFar || !Far(kHeapPlaceFar, objects_.last_allocated, address)) {
      return false;
    }
    objects_.Add(*address, units, code < kPlaceListed);
    return true;
  }

  bool Free(uint64_t* address) {
    unsigned code = 0, low = 0;
    if (!columns_[kHeapFreed].Byte(&code)) return false;
    uint64_t object = 0;
    if (code == kFreedElder) {
      if (!Far(kHeapElder, objects_.last_elder, address)) return false;
      objects_.FreeElder(*address);
      return true;
    }
    if (code < kFreedNear || code >= kFreedFar) {
      uint64_t distance = code + 1;
      if (code >= kFreedFar && (code != kFreedFar || !columns_[kHeapFreedFar].Number(&distance)))
        return false;
      object = objects_.last_freed_object + static_cast<uint64_t>(trace::UnZigZag(distance));
    } else {
      uint64_t births = code - kFreedNear;
      if (code >= kFreedMiddle) {
        if (!columns_[kHeapFreedFar].Byte(&low)) return false;
        births = kNearBirths + (code - kFreedMiddle) * 256 + low;
      }
      object = objects_.newest() - births;
    }
    if (object == 0 || object > objects_.newest()) return false;
    *address = objects_.AddressOf(static_cast<uint32_t>(object));
    objects_.Free(static_cast<uint32_t>(object));
    return true;
  }

 private:
  bool Reused(uint64_t* last, uint64_t* address) {
    uint64_t distance = 0;
    if (!columns_[kHeapReused].Number(&distance)) return false;
    *last += static_cast<uint64_t>(trace::UnZigZag(distance));
    *address = objects_.AddressOfFree(*last);
    return *address != 0;
  }
  bool Far(HeapColumn column, uint64_t from, uint64_t* address) {
    Rest& rest = columns_[column];
    const uint8_t* next = GetDistance(rest.p, rest.end, from, address);
    if (next == nullptr) return false;
    rest.p = next;
    return true;
  }

  HeapObjects objects_;
  Rest* const columns_;
  std::vector<uint64_t> sizes_ = {0};  // the dictionary, from 1 on
};

// Puts the bytes of the columns back into one payload.
class Joiner {
 public:
  struct Memory {
    std::array<KeptArray<uint8_t>, kColumns> columns;
    HeapObjects::Memory malloc, pymalloc;
  };

  Joiner(std::array<Rest, kColumns>* columns, std::string* out, size_t raw_bytes, Memory* memory)
      : columns_(*columns),
        begin_(reinterpret_cast<uint8_t*>(out->data())),
        out_(begin_),
        end_(begin_ + raw_bytes),
        malloc_(Allocator::kMalloc, raw_bytes, &columns_[kColumnMalloc], &memory->malloc),
        pymalloc_(Allocator::kPymalloc, raw_bytes, &columns_[kColumnPymalloc], &memory->pymalloc) {}

  // No record but an extended one takes more; `out` must be longer than the payload by this.
  static constexpr size_t kSlackBytes = 64;

  absl::Status Run() {
    Rest& tags = columns_[kColumnTag];
    while (tags.p != tags.end) {
      if (!Take(*tags.p++)) {
        return absl::DataLossError(
            absl::StrCat("a record at byte ", out_ - begin_, " of its records makes no sense"));
      }
      if (out_ > end_) return absl::DataLossError("unpacks to more than it says");
    }
    if (out_ != end_) return absl::DataLossError("unpacks to less than it says");
    for (const Rest& rest : columns_) {
      if (rest.p != rest.end) return absl::DataLossError("has bytes that no record uses");
    }
    return absl::OkStatus();
  }

 private:
  bool Take(uint8_t tag) {
    const uint8_t flags = tag >> 3;
    uint8_t* const start = out_++;
    *start = tag;
    switch (static_cast<Op>(tag & 7)) {
      case Op::kAlloc: {
        uint64_t address = 0;
        if (!(flags & trace::kAllocSameSize) && !malloc_.Size(&bytes_)) return false;
        if (!malloc_.Alloc(bytes_, &address)) return false;
        Address(start, address, &address_, &recent_, trace::kAllocRecent);
        if (!(flags & trace::kAllocSameSize)) out_ = trace::PutSmallVarint(out_, bytes_);
        return StackAndTime(flags, kColumnMalloc);
      }
      case Op::kAllocIn: {
        uint64_t address = 0;
        if (!(flags & trace::kAllocSameSize)) {
          if (!pymalloc_.Size(&in_bytes_)) return false;
          out_ = trace::PutSmallVarint(out_, in_bytes_);
        }
        if (!pymalloc_.Alloc(in_bytes_, &address)) return false;
        Address(start, address, &in_address_[trace::InClass(in_bytes_)], &in_recent_, trace::kAllocRecent);
        in_any_address_ = address;
        return StackAndTime(flags, kColumnPymalloc);
      }
      case Op::kFree: {
        uint64_t address = 0;
        if (!malloc_.Free(&address)) return false;
        Address(start, address, &address_, &recent_, trace::kFreeRecent);
        return !(flags & trace::kFreeTime) || columns_[kColumnTime].Copy(&out_);
      }
      case Op::kFreeIn: {
        uint64_t address = 0;
        if (!pymalloc_.Free(&address)) return false;
        Address(start, address, &in_any_address_, &in_recent_, trace::kFreeRecent);
        return !(flags & trace::kFreeTime) || columns_[kColumnTime].Copy(&out_);
      }
      case Op::kNode:
        for (unsigned i = NodeNumbers(flags); i > 0; --i) {
          if (!columns_[kColumnNode].Copy(&out_)) return false;
        }
        return true;
      case Op::kPc:
        if (!(flags & trace::kPcNextId) && !columns_[kColumnLocation].Copy(&out_)) return false;
        return columns_[kColumnLocation].Copy(&out_) && columns_[kColumnOffset].Copy(&out_);
      case Op::kTime:
        return columns_[kColumnTime].Copy(&out_);
      case Op::kExt:
        return Ext(flags);
    }
    return false;
  }
  bool StackAndTime(uint8_t flags, size_t first_column) {
    if (!(flags & trace::kAllocSameStack) && !columns_[first_column + kHeapStack].Copy(&out_)) return false;
    return !(flags & trace::kAllocTime) || columns_[kColumnTime].Copy(&out_);
  }
  void Address(uint8_t* tag, uint64_t address, uint64_t* before, trace::RecentAddresses* recent,
               uint8_t recent_flag) {
    uint8_t flags = 0;
    out_ = trace::PutAddress(out_, address, *before, recent, recent_flag, &flags);
    *tag = static_cast<uint8_t>((*tag & ~(recent_flag << 3)) | flags << 3);
    *before = address;
  }
  bool Ext(uint8_t kind) {
    Rest& column = columns_[kind == kExtEscape ? size_t{kColumnOtherExt} : kColumnExt + size_t{kind}];
    if (kind == kExtEscape && !column.Copy(&out_)) return false;
    const uint8_t* const begin = column.p;
    uint64_t length = 0;
    if (!column.Number(&length) || length > static_cast<uint64_t>(column.end - column.p)) return false;
    const auto bytes = static_cast<size_t>(column.p - begin) + length;
    if (out_ > end_ || bytes > static_cast<size_t>(end_ - out_)) return false;
    __builtin_memcpy(out_, begin, bytes);
    out_ += bytes;
    column.p += length;
    return true;
  }

  std::array<Rest, kColumns>& columns_;
  uint8_t* const begin_;
  uint8_t* out_;
  uint8_t* const end_;
  HeapUnpacker malloc_, pymalloc_;
  uint64_t bytes_ = 0, in_bytes_ = 0;
  uint64_t address_ = 0, in_any_address_ = 0;
  std::array<uint64_t, trace::kInClasses> in_address_ = {};
  trace::RecentAddresses recent_ = {}, in_recent_ = {};
};

}  // namespace

absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed) {
  if (header.raw_bytes > kMaxUnpackedBytes) {
    return absl::DataLossError(
        absl::StrCat("says it unpacks to ", header.raw_bytes, " bytes, more than any block has"));
  }
  if (packed.empty() || packed[0] != kColumnsVersion) {
    return absl::UnimplementedError("packed in a way this version does not know");
  }
  const auto malformed = [] { return absl::DataLossError("its columns are malformed"); };
  Rest in{reinterpret_cast<const uint8_t*>(packed.data()) + 1,
          reinterpret_cast<const uint8_t*>(packed.data()) + packed.size()};
  auto columns = std::make_unique<std::array<Rest, kColumns>>();
  thread_local Joiner::Memory memory;  // for the thread's next block too
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  uint64_t left = MaxColumnBytes(header.raw_bytes);
  while (in.p != in.end) {
    uint64_t column = 0, bytes = 0, compressed = 0;
    if (!in.Number(&column) || !in.Number(&bytes) || !in.Number(&compressed)) return malformed();
    if (column >= kColumns || (*columns)[column].p != nullptr || bytes == 0 || bytes > left ||
        compressed > static_cast<uint64_t>(in.end - in.p)) {
      return malformed();
    }
    left -= bytes;
    uint8_t* const stored = memory.columns[column].Room(bytes);
    const size_t size = ZSTD_decompressDCtx(zstd.get(), stored, bytes, in.p, compressed);
    if (ZSTD_isError(size) || size != bytes) return malformed();
    in.p += compressed;
    (*columns)[column] = {stored, stored + bytes};
  }
  std::string out(header.raw_bytes + Joiner::kSlackBytes, '\0');
  const auto joiner = std::make_unique<Joiner>(columns.get(), &out, header.raw_bytes, &memory);
  if (absl::Status status = joiner->Run(); !status.ok()) return status;
  out.resize(header.raw_bytes);
  return out;
}

}  // namespace plateau
