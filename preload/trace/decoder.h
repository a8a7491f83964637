// Reads what encoder.h wrote, from bytes that nobody vouches for.
//
// Every function stays inside the bytes it was given whatever they contain, allocates nothing and keeps no
// state outside its object. Damage is reported, never guessed around: a RecordReader that meets a malformed
// record stops there, because the deltas of everything behind it would be wrong.
#ifndef PLATEAU_PRELOAD_TRACE_DECODER_H_
#define PLATEAU_PRELOAD_TRACE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/trace/delta_state.h"
#include "preload/trace/format.h"
#include "preload/trace/record.h"
#include "preload/trace/varint.h"

namespace plateau::trace {

enum class HeaderStatus {
  kOk,
  kTooShort,      // fewer bytes than a header
  kNotATrace,     // no magic
  kNewerVersion,  // written by a later major version
  kDamaged,       // static checksum does not match; the fields may still be useful
};

// Copies the header out of the first bytes of a file. The dynamic part is whatever was there.
HeaderStatus ReadFileHeader(const uint8_t* data, size_t size, FileHeader* header);

enum class BlockStatus {
  kOk,         // sealed, checksum holds
  kOpen,       // from a ring slot: payload_bytes is the committed length
  kTruncated,  // the header promises more bytes than there are
  kBadMagic,   // no block starts here
  kBadHeader,  // sizes that cannot be
  kBadChecksum,
  kUnknownType,  // checksum holds, but the type is from a later version
};

// Looks at a block that starts at `data`. On kOk and kOpen `header` and `payload` are set.
BlockStatus ReadBlock(const uint8_t* data, size_t size, BlockHeader* header, std::string_view* payload);

// An allocation or free: what nearly all records of a trace are.
struct HotRecord {
  uint64_t tsc;
  uint64_t address;
  uint64_t bytes;   // 0 for a free
  uint32_t stack;   // 0 for a free
  RecordKind kind;  // kAlloc, kFree, kAllocIn or kFreeIn
  bool is_realloc;
  bool has_time;
};

// What the first byte of a hot record says. Masks have all bits or none: which numbers a record has is hard
// to predict, so they are taken without a branch.
struct HotShape {
  uint64_t size_mask = 0;    // has a size
  uint64_t stack_mask = 0;   // has a stack
  uint64_t recent_mask = 0;  // its address may be a place of the recent ones
  uint32_t last_number = 1;  // a bit whose place says which number of the record is its last
  RecordKind kind = RecordKind::kAlloc;
  bool is_hot = false;
  bool has_time = false;
  bool is_realloc = false;

  constexpr HotShape() = default;
  constexpr explicit HotShape(uint8_t tag) {
    const uint8_t flags = tag >> 3;
    const Op op = static_cast<Op>(tag & 7);
    const bool is_in = op == Op::kAllocIn || op == Op::kFreeIn;
    if (op == Op::kAlloc || op == Op::kAllocIn) {
      kind = is_in ? RecordKind::kAllocIn : RecordKind::kAlloc;
      is_hot = true;
      size_mask = Mask((flags & kAllocSameSize) == 0);
      stack_mask = Mask((flags & kAllocSameStack) == 0);
      recent_mask = Mask((flags & kAllocRecent) != 0);
      has_time = (flags & kAllocTime) != 0;
      is_realloc = !is_in && (flags & kAllocRealloc) != 0;
    } else if (op == Op::kFree || op == Op::kFreeIn) {
      kind = is_in ? RecordKind::kFreeIn : RecordKind::kFree;
      is_hot = true;
      recent_mask = Mask((flags & kFreeRecent) != 0);
      has_time = (flags & kFreeTime) != 0;
      is_realloc = !is_in && (flags & kFreeRealloc) != 0;
    }
    last_number = uint32_t{1} << ((size_mask & 1) + (stack_mask & 1) + has_time);
  }

 private:
  static constexpr uint64_t Mask(bool is_set) { return is_set ? UINT64_MAX : 0; }
};
static_assert(sizeof(HotShape) == 32);

struct HotShapes {
  HotShape of[256] = {};
  constexpr HotShapes() {
    for (unsigned tag = 0; tag < 256; ++tag) of[tag] = HotShape(static_cast<uint8_t>(tag));
  }
};
inline constexpr HotShapes kHotShapes;

// The numbers of a record that lies in one word, behind its first byte.
template <typename Join>
class WordNumbers {
 public:
  explicit WordNumbers(uint64_t word) : rest_(word >> 8) {}

  [[gnu::always_inline]] uint64_t Take() {
    const uint64_t ends = ~rest_ & kTops;  // never 0: no bit of the highest byte is set
    const uint64_t value = Join::SevenBits(rest_ & (ends ^ (ends - 1)));
    rest_ >>= (__builtin_ctzll(ends) + 1) & 63;
    return value;
  }
  // 0, and nothing taken, when the mask is 0.
  [[gnu::always_inline]] uint64_t TakeIf(uint64_t mask) {
    const uint64_t ends = ~rest_ & kTops;
    const uint64_t value = Join::SevenBits(rest_ & (ends ^ (ends - 1)) & mask);
    rest_ >>= (static_cast<uint64_t>(__builtin_ctzll(ends)) + 1) & 63 & mask;
    return value;
  }

 private:
  static constexpr uint64_t kTops = 0x8080808080808080u;
  uint64_t rest_;
};

// Iterates over the records of one kEvents payload (decompressed, if it was packed).
class RecordReader {
 public:
  RecordReader(const BlockHeader& header, std::string_view payload)
      : begin_(reinterpret_cast<const uint8_t*>(payload.data())),
        p_(begin_),
        end_(begin_ + payload.size()),
        rules_(header.delta_rules),
        recent_places_(header.delta_rules >= DeltaRules::kVersion3 ? kRecentAddresses : 0) {
    last_.tsc = header.first_tsc;
  }

  // False at the end or at damage; damaged() tells which.
  bool Next(Record* record);

  // Takes the next record if it is a hot one and can be read at once. False: nothing has happened, ask
  // Next().
  bool NextHot(HotRecord* record);

  // Calls `take` with every hot record up to the first that is not one, or cannot be read at once. The
  // quickest way through a block: ask Next() for what stopped it, then this again.
  template <typename Take>
  [[gnu::always_inline]] void TakeHot(Take&& take) {
    if (HasPext()) {
      TakeHotBy<JoinByPext>(take);
    } else {
      TakeHotBy<JoinByShifts>(take);
    }
  }
  // The same in one of the two ways of varint.h.
  template <typename Join, typename Take>
  void TakeHotBy(Take&& take);

  bool damaged() const { return damaged_; }
  size_t offset() const {
    return static_cast<size_t>(p_ - begin_);
  }  // of the next record, or of the damaged one
  uint64_t unknown_records() const { return unknown_records_; }

 private:
  // Each reads the fields of a record from p_ on.
  bool NextExt(uint32_t kind, Record* record);
  bool NextNode(uint8_t flags, Record* record);
  bool NextNodeByOldRules(uint8_t flags, Record* record);
  bool NextLocation(uint8_t flags, Record* record);

  void NextOfRun(Record* record);
  bool Number(uint64_t* value) {
    const uint8_t* next = GetVarint(p_, end_, value);
    if (next != nullptr) p_ = next;
    return next != nullptr;
  }
  bool NodeLocationNumber(CallPredictor::Guesses guesses, uint32_t before, uint32_t* location);
  void DefineNode(uint32_t node, uint32_t parent, uint32_t location, Record* record);
  // The address that `number` stands for, counted from `before`.
  uint64_t AddressOf(uint64_t number, uint64_t before, bool has_recent_flag, RecentAddresses* recent) const {
    if (has_recent_flag && number < recent_places_) return recent->At(number);
    const uint64_t address =
        before + (has_recent_flag ? static_cast<uint64_t>(UnZigZag(number - recent_places_))
                                  : static_cast<uint64_t>(UnZigZag(number)) << 4);
    recent->Set(RecentAddresses::PlaceOf(address), address);
    return address;
  }
  // The same without a branch. The mask says whether the flag is there.
  [[gnu::always_inline]] uint64_t QuickAddressOf(uint64_t number, uint64_t before, uint64_t recent_flag,
                                                 RecentAddresses* recent) const {
    const uint64_t is_place = recent_flag & -static_cast<uint64_t>(number < recent_places_);
    const auto delta = static_cast<uint64_t>(UnZigZag(number - (recent_places_ & recent_flag)));
    const uint64_t added = before + (delta << (4 & ~recent_flag));
    const uint64_t address = (recent->At(number % kRecentAddresses) & is_place) | (added & ~is_place);
    recent->Set((number & is_place) | (RecentAddresses::PlaceOf(address) & ~is_place), address);
    return address;
  }
  bool Fail(const uint8_t* at);

  const uint8_t* begin_;
  const uint8_t* p_;
  const uint8_t* end_;
  bool damaged_ = false;
  uint64_t unknown_records_ = 0;
  DeltaRules rules_;
  uint64_t recent_places_;  // numbers under this are places of recent addresses
  uint8_t run_left_ = 0;    // nodes of a run still to be given
  DeltaState last_ = {};
};

[[gnu::always_inline]] inline bool RecordReader::NextHot(HotRecord* record) {
  constexpr ptrdiff_t kMostBytes = 1 + 4 * 8 + 8;  // so that every number can be read as eight bytes
  if (end_ - p_ < kMostBytes || run_left_ != 0 || damaged_) return false;
  const uint8_t tag = *p_;
  const uint8_t flags = tag >> 3;
  const Op op = static_cast<Op>(tag & 7);
  const uint8_t* p = p_ + 1;
  uint64_t value = 0, time = 0;
  if (op == Op::kFree || op == Op::kFreeIn) {
    uint64_t* const last = op == Op::kFree ? &last_.address : &last_.in_any_address;
    RecentAddresses* const recent = op == Op::kFree ? &last_.recent : &last_.in_recent;
    if ((p = GetShortVarint(p, &value)) == nullptr) return false;
    const bool has_time = (flags & kFreeTime) != 0;
    if (has_time && (p = GetShortVarint(p, &time)) == nullptr) return false;
    *last = AddressOf(value, *last, (flags & kFreeRecent) != 0, recent);
    last_.tsc += time;
    const bool is_realloc = op == Op::kFree && (flags & kFreeRealloc) != 0;
    *record = {last_.tsc,  *last,   0, 0, op == Op::kFree ? RecordKind::kFree : RecordKind::kFreeIn,
               is_realloc, has_time};
  } else if (op == Op::kAlloc || op == Op::kAllocIn) {
    const bool is_in = op == Op::kAllocIn;
    uint64_t bytes = is_in ? last_.in_bytes : last_.bytes;
    uint64_t delta = 0;
    if (!is_in && (p = GetShortVarint(p, &delta)) == nullptr) return false;
    if (!(flags & kAllocSameSize) && (p = GetShortVarint(p, &bytes)) == nullptr) return false;
    if (is_in && (p = GetShortVarint(p, &delta)) == nullptr) return false;
    if (!(flags & kAllocSameStack) && (p = GetShortVarint(p, &value)) == nullptr) return false;
    const bool has_time = (flags & kAllocTime) != 0;
    if (has_time && (p = GetShortVarint(p, &time)) == nullptr) return false;
    uint64_t* const last = is_in ? &last_.in_address[InClass(bytes)] : &last_.address;
    RecentAddresses* const recent = is_in ? &last_.in_recent : &last_.recent;
    *last = AddressOf(delta, *last, (flags & kAllocRecent) != 0, recent);
    last_.stack += static_cast<uint32_t>(UnZigZag(value));
    last_.tsc += time;
    if (is_in) {
      last_.in_bytes = bytes;
      last_.in_any_address = *last;
    } else {
      last_.bytes = bytes;
    }
    *record = {last_.tsc,
               *last,
               bytes,
               last_.stack,
               is_in ? RecordKind::kAllocIn : RecordKind::kAlloc,
               !is_in && (flags & kAllocRealloc) != 0,
               has_time};
  } else {
    return false;
  }
  p_ = p;
  return true;
}

template <typename Join, typename Take>
[[gnu::always_inline]] inline void RecordReader::TakeHotBy(Take&& take) {
  constexpr ptrdiff_t kWordBytes = 8;
  if (run_left_ != 0 || damaged_) return;
  const uint8_t* p = p_;
  uint64_t tsc = last_.tsc, address = last_.address, bytes = last_.bytes;
  uint32_t stack = last_.stack;
  const auto give_back = [&] {
    p_ = p;
    last_.tsc = tsc;
    last_.address = address;
    last_.bytes = bytes;
    last_.stack = stack;
  };
  while (end_ - p >= kWordBytes) {
    uint64_t word;
    __builtin_memcpy(&word, p, sizeof(word));
    const HotShape& shape = kHotShapes.of[word & 0xff];
    if (!shape.is_hot) break;
    // Where the last of its numbers ends: all in one word, so that the next record need not wait until the
    // numbers of this one are read.
    const uint64_t end = Join::BitAt(shape.last_number, ~word & 0x8080808080808000u);
    if (end == 0) [[unlikely]] {  // longer than a word
      give_back();
      HotRecord record;
      if (!NextHot(&record)) return;
      take(record);
      p = p_, tsc = last_.tsc, address = last_.address, bytes = last_.bytes, stack = last_.stack;
      continue;
    }
    p += __builtin_ctzll(end) / 8 + 1;
    WordNumbers<Join> numbers(word);
    const bool has_time = shape.has_time, is_realloc = shape.is_realloc;
    const uint64_t has_size = shape.size_mask, has_stack = shape.stack_mask, is_recent = shape.recent_mask;
    if (shape.kind == RecordKind::kFree) {
      address = QuickAddressOf(numbers.Take(), address, is_recent, &last_.recent);
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, address, 0, 0, RecordKind::kFree, is_realloc, has_time});
    } else if (shape.kind == RecordKind::kAlloc) {
      address = QuickAddressOf(numbers.Take(), address, is_recent, &last_.recent);
      bytes = numbers.TakeIf(has_size) | (bytes & ~has_size);
      stack += static_cast<uint32_t>(UnZigZag(numbers.TakeIf(has_stack)));
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, address, bytes, stack, RecordKind::kAlloc, is_realloc, has_time});
    } else if (shape.kind == RecordKind::kAllocIn) {
      const uint64_t size = numbers.TakeIf(has_size) | (last_.in_bytes & ~has_size);
      last_.in_bytes = size;
      uint64_t* const last = &last_.in_address[InClass(size)];
      *last = QuickAddressOf(numbers.Take(), *last, is_recent, &last_.in_recent);
      last_.in_any_address = *last;
      stack += static_cast<uint32_t>(UnZigZag(numbers.TakeIf(has_stack)));
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, *last, size, stack, RecordKind::kAllocIn, false, has_time});
    } else {
      uint64_t* const last = &last_.in_any_address;
      *last = QuickAddressOf(numbers.Take(), *last, is_recent, &last_.in_recent);
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, *last, 0, 0, RecordKind::kFreeIn, false, has_time});
    }
  }
  give_back();
}

// A short English name for messages: "alloc", "module", ...
const char* RecordKindName(RecordKind kind);
const char* DropReasonName(DropReason reason);
const char* MarkKindName(MarkKind kind);
const char* LedgerFieldName(LedgerField field);

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_DECODER_H_
