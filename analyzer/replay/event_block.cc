#include "analyzer/replay/event_block.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "analyzer/base/status_macros.h"

namespace plateau::replay {

using trace::RecordKind;

absl::Status EventBlock::Decode(const reader::TraceReader& reader, const reader::BlockRef& ref) {
  stream_ = ref.header.stream;
  last_tsc_ = ref.header.last_tsc;
  size_ = 0;
  stamps_.clear();
  large_.clear();
  records_.clear();
  PLATEAU_RETURN_IF_ERROR(reader.Load(ref, &bytes_));
  // Room for what the block might hold at most: a record has a byte at least and is one event or none.
  if (room_.size() < bytes_.payload.size()) room_ = ZeroedArray<Event>(bytes_.payload.size());
  stamps_.push_back({0, bytes_.header.first_tsc});
  using Walk = trace::RecordReader::Walk;
  if (trace::IsHeapOnly(bytes_.header)) {  // no nodes to be passed by
    TakeRecords<Walk::kHot>();
  } else {
    TakeRecords<Walk::kEvents>();
  }
  return absl::OkStatus();
}

template <trace::RecordReader::Walk kWalk>
void EventBlock::TakeRecords() {
  if (trace::HasPext()) {
    TakeRecordsByPext<kWalk>();
  } else {
    TakeRecordsBy<kWalk, trace::JoinByShifts>();
  }
}

template <trace::RecordReader::Walk kWalk>
PLATEAU_FOR_BMI2 void EventBlock::TakeRecordsByPext() {
  TakeRecordsBy<kWalk, trace::JoinByPext>();
}

template <trace::RecordReader::Walk kWalk, typename Join>
[[gnu::always_inline]] inline void EventBlock::TakeRecordsBy() {
  trace::RecordReader records(bytes_.header, bytes_.payload);
  trace::Record record;
  Event* const events = room_.data();
  Event* out = events;
  while (true) {
    records.TakeHotBy<Join, kWalk>([&](const trace::HotRecord& hot) __attribute__((always_inline)) {
      uint64_t bytes = hot.bytes, stack = hot.stack;
      unsigned flags = hot.is_realloc ? kEventRealloc : 0;
      if (hot.has_time) {
        flags |= kEventTimed;
        stamps_.push_back({static_cast<uint64_t>(out - events), hot.tsc});
      }
      if (!Event::Fits(bytes, hot.stack)) [[unlikely]] {
        flags |= kEventLarge;
        bytes = KeepLarge(bytes, hot.stack);
        stack = 0;
      }
      *out++ = Event::Of(hot.address, hot.kind, flags, bytes, stack);
    });
    if (!records.Next(&record)) break;
    AddRare(record, &out);
  }
  size_ = static_cast<size_t>(out - events);
  assert(size_ <= room_.size());
}

uint64_t EventBlock::KeepLarge(uint64_t bytes, uint32_t stack) {
  large_.push_back({bytes, stack});
  return large_.size() - 1;
}

// A record that is not hot, or was not taken for one because it is long or near the end of the block.
void EventBlock::AddRare(const trace::Record& r, Event** out) {
  const auto add = [&](uint64_t address, uint64_t bytes, uint32_t stack, unsigned flags) {
    if (r.has_time) {
      flags |= kEventTimed;
      stamps_.push_back({static_cast<uint64_t>(*out - room_.data()), r.tsc});
    }
    if (!Event::Fits(bytes, stack)) {
      flags |= kEventLarge;
      bytes = KeepLarge(bytes, stack);
      stack = 0;
    }
    *(*out)++ = Event::Of(address, r.kind, flags, bytes, stack);
  };
  switch (r.kind) {
    case RecordKind::kAlloc:
      return add(r.alloc.address, r.alloc.bytes, r.alloc.stack, r.alloc.is_realloc ? kEventRealloc : 0);
    case RecordKind::kFree:
      return add(r.free.address, 0, 0, r.free.is_realloc ? kEventRealloc : 0);
    case RecordKind::kTensor:
    case RecordKind::kTensorGone:
      return add(r.tensor.address, 0, 0, 0);
    case RecordKind::kAllocIn:
      return add(r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, 0);
    case RecordKind::kFreeIn:
      return add(r.free_in.address, 0, 0, 0);
    case RecordKind::kTime:
    case RecordKind::kReallocCancel:
      return add(0, 0, 0, 0);
    case RecordKind::kMap:
    case RecordKind::kUnmap:
    case RecordKind::kRemap:
    case RecordKind::kBreak:
    case RecordKind::kDevice:
    case RecordKind::kFoldTotals:
    case RecordKind::kFoldRow:
      add(0, records_.size(), 0, kEventRare);
      records_.push_back(r);
      return;
    default:
      return;
  }
}

}  // namespace plateau::replay
