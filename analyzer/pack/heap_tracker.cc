#include "analyzer/pack/heap_tracker.h"

#include <array>

#include "preload/trace/decoder.h"

namespace plateau {

HeapStart HeapTracker::Follow(const std::vector<EventsPayload>& payloads, bool are_last) {
  malloc_.Settle();
  HeapStart start{malloc_, {}};
  ++block_;
  for (const EventsPayload& payload : payloads) {
    trace::BlockHeader header{};
    header.first_tsc = payload.first_tsc;
    trace::RecordReader reader(header, payload.bytes);
    std::array<Event, kAhead> events;
    for (size_t count = kAhead; count == kAhead;) {
      count = 0;
      trace::Record record;
      while (count < kAhead && reader.Next(&record)) {
        if (record.kind == trace::RecordKind::kAlloc) {
          if (are_last) continue;  // all that is still asked for are the elders
          events[count++] = {record.alloc.address, record.alloc.bytes, true, record.alloc.is_realloc};
        } else if (record.kind == trace::RecordKind::kFree) {
          events[count++] = {record.free.address, 0, false, record.free.is_realloc};
        } else {
          continue;
        }
        objects_.prefetch(events[count - 1].address);
      }
      for (size_t i = 0; i < count; ++i) {
        if (events[i].is_alloc) {
          OnAlloc(events[i]);
        } else {
          OnFree(events[i], &start);
        }
      }
    }
  }
  return start;
}

void HeapTracker::OnAlloc(const Event& event) {
  const uint64_t need = GlibcModel::ChunkBytes(event.bytes);
  const uint64_t cached = malloc_.Cached(need, event.is_realloc);
  uint64_t got = need;
  if (cached == event.address && cached != 0) {
    malloc_.TakeCached(need);
  } else if (const GlibcModel::Chunk chunk = malloc_.Take(need, event.is_realloc);
             chunk.bytes != 0 && chunk.address() == event.address) {
    got = chunk.bytes;
  } else {
    malloc_.Correct(chunk, cached != 0, event.address, need);
  }
  objects_[event.address] = {got / 16 <= UINT32_MAX ? static_cast<uint32_t>(got / 16) : 0, block_};
}

void HeapTracker::OnFree(const Event& event, HeapStart* start) {
  const auto it = objects_.find(event.address);
  if (it == objects_.end()) return;
  const Object object = it->second;
  if (object.block != block_) start->elders.push_back({event.address, object.units});
  objects_.erase(it);
  malloc_.OnFree(event.address, uint64_t{object.units} * 16, event.is_realloc);
}

}  // namespace plateau
