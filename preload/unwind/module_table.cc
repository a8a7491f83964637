#include "preload/unwind/module_table.h"

#include <cstring>
#include <string_view>

namespace plateau::unwind {

bool ModuleTable::IsLoaded(const Slot& slot) {
  LoadedObject now;
  const uintptr_t begin = slot.begin.load(std::memory_order_relaxed);
  return FindKnownObject(begin, &now) && now.begin == begin &&
         now.end == slot.end.load(std::memory_order_relaxed) &&
         now.identity == slot.identity.load(std::memory_order_relaxed);
}

void ModuleTable::Define(uint32_t id, const LoadedObject& object, const DefinitionSink& sink) const {
  const ByteSpan build_id = BuildId(object);
  trace::ModuleRecord record;
  record.module = id;
  record.base = object.load_bias;
  record.begin = object.begin;
  record.bytes = object.end - object.begin;
  record.path = object.path != nullptr && object.path[0] != 0 ? object.path : program_path_;
  record.build_id = std::string_view(reinterpret_cast<const char*>(build_id.begin), build_id.size());
  sink.Module(record);
}

uint32_t ModuleTable::IdOf(const LoadedObject& object, const DefinitionSink& sink) {
  Slot* window = slots_ + ((object.begin * 0x9E3779B97F4A7C15u) >> (64 - kLog2Slots));
  for (unsigned attempt = 0; attempt < kProbeWindow; ++attempt) {
    Slot* room = nullptr;
    for (unsigned i = 0; i < kProbeWindow; ++i) {
      Slot& slot = window[i];
      const uint32_t id = slot.id.load(std::memory_order_acquire);
      if (id != 0 && id < kBusy && slot.begin.load(std::memory_order_relaxed) == object.begin &&
          slot.identity.load(std::memory_order_relaxed) == object.identity) {
        return id;
      }
      if ((id == 0 || id == kRetired) && room == nullptr) room = &slot;
      if (id == 0) break;
    }
    if (room == nullptr) return 0;
    uint32_t state = room->id.load(std::memory_order_relaxed);
    if ((state != 0 && state != kRetired) ||
        !room->id.compare_exchange_strong(state, kBusy, std::memory_order_acq_rel)) {
      continue;
    }
    const uint32_t id = next_id_.fetch_add(1, std::memory_order_relaxed);
    Define(id, object, sink);
    room->begin.store(object.begin, std::memory_order_relaxed);
    room->end.store(object.end, std::memory_order_relaxed);
    room->identity.store(object.identity, std::memory_order_relaxed);
    room->id.store(id, std::memory_order_release);
    return id;
  }
  return 0;
}

void ModuleTable::Clear() {
  for (Slot& slot : slots_) {
    slot.id.store(0, std::memory_order_relaxed);
  }
  next_id_.store(1, std::memory_order_relaxed);
}

}  // namespace plateau::unwind
