// The hot half of encoder.h: ALLOC and FREE, and what they share with the other records. Included by it
// alone.
//
// Inline, so that a hook keeps what it knows in registers. Lengths of numbers and whether they repeat are
// hard to predict, so neither costs a branch: a number that turns out to repeat is written all the same, and
// the next one overwrites it.
#ifndef PLATEAU_PRELOAD_TRACE_HOT_RECORDS_H_
#define PLATEAU_PRELOAD_TRACE_HOT_RECORDS_H_

#include "preload/trace/encoder.h"
#include "preload/trace/varint.h"

namespace plateau::trace {

// All ones or zero, by arithmetic: the compiler would rather branch.
[[gnu::always_inline]] inline uint64_t MaskIf(bool condition) {
  uint64_t mask = -uint64_t{condition};
  asm("" : "+r"(mask));
  return mask;
}

// The number for an address: its place among the recent ones, else its distance from `before`, in units of 16
// where possible. `recent_flag` says when it is not the latter.
[[gnu::always_inline]] inline uint8_t* PutAddress(uint8_t* p, uint64_t address, uint64_t before,
                                                  RecentAddresses* recent, uint8_t recent_flag,
                                                  uint8_t* flags) {
  const size_t place = RecentAddresses::PlaceOf(address);
  const uint64_t if_recent = MaskIf(recent->At(place) == address);
  recent->Set(place, address);
  *flags |= static_cast<uint8_t>(if_recent & recent_flag);
  const auto delta = static_cast<int64_t>(address - before);
  if ((address | before) % 16 == 0) [[likely]]
    return PutSmallVarint(p, (place & if_recent) | (ZigZag(delta >> 4) & ~if_recent));
  *flags |= recent_flag;
  return PutVarint(p, if_recent != 0 ? place : kRecentAddresses + ZigZag(delta));
}

// Sizes and stacks repeat as they like: written in any case, and counted when they are new.
[[gnu::always_inline]] inline uint8_t* PutBytes(uint8_t* p, uint64_t bytes, uint64_t before, uint8_t* flags) {
  const bool is_same = bytes == before;
  uint8_t* end = PutSmallVarint(p, bytes);
  *flags |= static_cast<uint8_t>(is_same * kAllocSameSize);
  return is_same ? p : end;
}

inline uint8_t* BlockWriter::PutTime(uint8_t* p, uint64_t tsc) {
  // Clocks of two cores may disagree by a few ticks; time in a stream does not run backwards.
  const uint64_t delta = tsc > last_.tsc ? tsc - last_.tsc : 0;
  last_.tsc += delta;
  return PutVarint(p, delta);
}

[[gnu::always_inline]] inline uint8_t* BlockWriter::PutStack(uint8_t* p, uint32_t stack, uint8_t* flags) {
  const bool is_same = stack == last_.stack;
  uint8_t* end = PutSmallVarint(p, ZigZag(Delta(stack, last_.stack)));
  last_.stack = stack;
  *flags |= static_cast<uint8_t>(is_same * kAllocSameStack);
  return is_same ? p : end;
}

[[gnu::always_inline]] inline void BlockWriter::PutAlloc(const AllocRecord& record, uint64_t tsc) {
  uint8_t flags = 0;
  uint8_t* p = PutAddress(out_ + 1, record.address, last_.address, &last_.recent, kAllocRecent, &flags);
  p = PutBytes(p, record.bytes, last_.bytes, &flags);
  p = PutStack(p, record.stack, &flags);
  if (record.is_realloc) flags |= kAllocRealloc;
  if (tsc != 0) [[unlikely]] {
    flags |= kAllocTime;
    p = PutTime(p, tsc);
  }
  last_.address = record.address;
  last_.bytes = record.bytes;
  *out_ = Tag(Op::kAlloc, flags);
  Commit(p);
}

[[gnu::always_inline]] inline void BlockWriter::PutFree(const FreeRecord& record, uint64_t tsc) {
  uint8_t flags = 0;
  uint8_t* p = PutAddress(out_ + 1, record.address, last_.address, &last_.recent, kFreeRecent, &flags);
  if (record.is_realloc) flags |= kFreeRealloc;
  if (tsc != 0) [[unlikely]] {
    flags |= kFreeTime;
    p = PutTime(p, tsc);
  }
  last_.address = record.address;
  *out_ = Tag(Op::kFree, flags);
  Commit(p);
}

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_HOT_RECORDS_H_
