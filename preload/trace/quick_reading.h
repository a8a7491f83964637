// The quick half of decoder.h: walks over allocations, frees and stack nodes. Included by it alone.
//
// Inline, so that a walk keeps its place in registers.
#ifndef PLATEAU_PRELOAD_TRACE_QUICK_READING_H_
#define PLATEAU_PRELOAD_TRACE_QUICK_READING_H_

#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau::trace {

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

template <typename Join, RecordReader::Walk kWalk, typename Take>
[[gnu::always_inline]] inline void RecordReader::TakeHotBy(Take&& take) {
  constexpr ptrdiff_t kWordBytes = 8;
  if (run_left_ != 0 || damaged_) return;
  const uint8_t* p = p_;
  uint64_t tsc = last_.tsc, address = last_.address, bytes = last_.bytes;
  // Its lower half counts. A whole word, because it is one of the event too: where it is written to memory in
  // half and read as a word, the processor waits.
  uint64_t stack = last_.stack;
  const auto give_back = [&] {
    p_ = p;
    last_.tsc = tsc;
    last_.address = address;
    last_.bytes = bytes;
    last_.stack = static_cast<uint32_t>(stack);
  };
  const bool passes_nodes = kWalk == Walk::kEvents;
  while (end_ - p >= kWordBytes) {
    uint64_t word;
    __builtin_memcpy(&word, p, sizeof(word));
    // Where the last of its numbers ends: all in one word, so that the next record need not wait until the
    // numbers of this one are read.
    const uint64_t ends = ~word & 0x8080808080808000u;
    const uint64_t end = Join::BitAt(kLastOfHot.of[word & 0xff], ends);
    if (end == 0) [[unlikely]] {
      if (kHotShapes.of[word & 0xff].is_hot) {  // longer than a word
        give_back();
        HotRecord record;
        if (!NextHot(&record)) return;
        take(record);
        p = p_, tsc = last_.tsc, address = last_.address, bytes = last_.bytes, stack = last_.stack;
        continue;
      }
      if (!passes_nodes || static_cast<Op>(word & 7) != Op::kNode) break;
      const NodeShape node = kNodeShapes.of[word >> 3 & 31];
      if (node.nodes == 0 || path_size_ <= node.popped || ends == 0) [[unlikely]] {
        give_back();
        if (!PassNode()) return;
        p = p_;
      } else {
        path_size_ = StackPath::SizeAfter(path_size_, node.popped, node.nodes);
        last_.node += node.nodes;
        p += 1 + (static_cast<ptrdiff_t>(__builtin_ctzll(ends)) / 8 & -ptrdiff_t{node.numbers});
      }
      stack = last_.node;
      continue;
    }
    const HotShape& shape = kHotShapes.of[word & 0xff];
    p += __builtin_ctzll(end) / 8 + 1;
    WordNumbers<Join> numbers(word, ends);
    const bool has_time = shape.has_time, is_realloc = shape.is_realloc;
    const uint64_t has_size = shape.size_mask, has_stack = shape.stack_mask, is_recent = shape.recent_mask;
    if (kWalk == Walk::kTimes && shape.kind <= RecordKind::kFree) {
      static_assert(RecordKind::kAlloc < RecordKind::kFree && RecordKind::kFree < RecordKind::kAllocIn);
      if (has_time) {
        numbers.Take();
        numbers.TakeIf(has_size);
        numbers.TakeIf(has_stack);
        tsc += numbers.Take();
      }
      take(HotRecord{tsc, 0, 0, 0, shape.kind, is_realloc, has_time});
    } else if (shape.kind == RecordKind::kFree) {
      address = QuickAddressOf(numbers.Take(), address, is_recent, &last_.recent);
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, address, 0, 0, RecordKind::kFree, is_realloc, has_time});
    } else if (shape.kind == RecordKind::kAlloc) {
      address = QuickAddressOf(numbers.Take(), address, is_recent, &last_.recent);
      bytes = numbers.TakeIf(has_size) | (bytes & ~has_size);
      stack += static_cast<uint64_t>(UnZigZag(numbers.TakeIf(has_stack)));
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, address, bytes, static_cast<uint32_t>(stack), RecordKind::kAlloc, is_realloc,
                     has_time});
    } else if (shape.kind == RecordKind::kAllocIn) {
      const uint64_t size = numbers.TakeIf(has_size) | (last_.in_bytes & ~has_size);
      last_.in_bytes = size;
      uint64_t* const last = &last_.in_address[InClass(size)];
      *last = QuickAddressOf(numbers.Take(), *last, is_recent, &last_.in_recent);
      last_.in_any_address = *last;
      stack += static_cast<uint64_t>(UnZigZag(numbers.TakeIf(has_stack)));
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, *last, size, static_cast<uint32_t>(stack), RecordKind::kAllocIn, false, has_time});
    } else {
      uint64_t* const last = &last_.in_any_address;
      *last = QuickAddressOf(numbers.Take(), *last, is_recent, &last_.in_recent);
      if (has_time) tsc += numbers.Take();
      take(HotRecord{tsc, *last, 0, 0, RecordKind::kFreeIn, false, has_time});
    }
  }
  give_back();
  // Near the end of the block.
  while (passes_nodes && p_ != end_ && static_cast<Op>(*p_ & 7) == Op::kNode && PassNode()) {
  }
}

template <typename Take>
inline bool RecordReader::TakeNodes(Take&& take) {
  Record record;
  bool has_taken = false;
  while (run_left_ != 0 || (!damaged_ && p_ != end_ && static_cast<Op>(*p_ & 7) == Op::kNode)) {
    if (run_left_ != 0) {
      --run_left_;
      NextOfRun(&record);
    } else {
      const uint8_t* const start = p_;
      const uint8_t code = *p_++ >> 3;
      if (!NextNode(code, &record)) return Fail(start);
    }
    take(record.node);
    has_taken = true;
  }
  return has_taken;
}

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_QUICK_READING_H_
