#include "analyzer/replay/event_block.h"

#include "analyzer/base/status_macros.h"
#include "preload/trace/decoder.h"

namespace plateau::replay {

using trace::RecordKind;

absl::Status DecodeEvents(const reader::TraceReader& reader, const reader::BlockRef& ref, EventBlock* block) {
  block->stream = ref.header.stream;
  block->last_tsc = ref.header.last_tsc;
  block->events.clear();
  block->records.clear();
  PLATEAU_RETURN_IF_ERROR(reader.Load(ref, &block->bytes));
  block->events.reserve(ref.header.record_count < (1u << 20) ? ref.header.record_count : 0);
  trace::RecordReader records(block->bytes.header, block->bytes.payload);
  trace::Record r;
  trace::HotRecord hot;
  while (true) {
    while (records.NextHot(&hot)) {
      const int flags = (hot.has_time ? kEventTimed : 0) | (hot.is_realloc ? kEventRealloc : 0);
      block->events.push_back(
          {hot.tsc, hot.address, hot.bytes, hot.stack, hot.kind, static_cast<uint8_t>(flags)});
    }
    if (!records.Next(&r)) break;
    const uint8_t timed = r.has_time ? kEventTimed : 0;
    switch (r.kind) {
      case RecordKind::kAlloc: {
        const uint8_t flags = timed | (r.alloc.is_realloc ? kEventRealloc : 0);
        block->events.push_back({r.tsc, r.alloc.address, r.alloc.bytes, r.alloc.stack, r.kind, flags});
        break;
      }
      case RecordKind::kFree: {
        const uint8_t flags = timed | (r.free.is_realloc ? kEventRealloc : 0);
        block->events.push_back({r.tsc, r.free.address, 0, 0, r.kind, flags});
        break;
      }
      case RecordKind::kTensor:
      case RecordKind::kTensorGone:
        block->events.push_back({r.tsc, r.tensor.address, r.tensor.bytes, 0, r.kind, timed});
        break;
      case RecordKind::kAllocIn:
        block->events.push_back(
            {r.tsc, r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, r.kind, timed});
        break;
      case RecordKind::kFreeIn:
        block->events.push_back({r.tsc, r.free_in.address, 0, 0, r.kind, timed});
        break;
      case RecordKind::kTime:
      case RecordKind::kReallocCancel:
        block->events.push_back({r.tsc, 0, 0, 0, r.kind, timed});
        break;
      case RecordKind::kMap:
      case RecordKind::kUnmap:
      case RecordKind::kRemap:
      case RecordKind::kBreak:
      case RecordKind::kDevice:
      case RecordKind::kFold:
      case RecordKind::kFoldTotals:
      case RecordKind::kFoldRow:
        block->events.push_back(
            {r.tsc, 0, block->records.size(), 0, r.kind, static_cast<uint8_t>(timed | kEventRare)});
        block->records.push_back(r);
        break;
      default:
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace plateau::replay
