#include "preload/unwind/module_table.h"

#include <cstring>
#include <string_view>

namespace plateau::unwind {

bool ModuleTable::IsLoaded(const Slot& slot) {
  LoadedObject now;
  const uintptr_t begin = slot.begin.load(std::memory_order_relaxed);
  return FindLoadedObject(begin, &now) && now.begin == begin && now.end == slot.end &&
         now.identity == slot.identity;
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
  for (unsigned i = 0; i < kProbeWindow; ++i) {
    Slot& slot = window[i];
    uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (begin == object.begin && slot.id.load(std::memory_order_acquire) != kRetired &&
        slot.identity == object.identity) {
      return slot.id.load(std::memory_order_relaxed);
    }
    if (begin != 0 || !slot.begin.compare_exchange_strong(begin, kBusy, std::memory_order_acq_rel)) continue;
    const uint32_t id = next_id_.fetch_add(1, std::memory_order_relaxed);
    Define(id, object, sink);
    slot.end = object.end;
    slot.identity = object.identity;
    slot.id.store(id, std::memory_order_release);
    slot.begin.store(object.begin, std::memory_order_release);
    return id;
  }
  return 0;
}

void ModuleTable::Clear() {
  for (Slot& slot : slots_) {
    slot.begin.store(0, std::memory_order_relaxed);
    slot.id.store(0, std::memory_order_relaxed);
  }
  next_id_.store(1, std::memory_order_relaxed);
}

}  // namespace plateau::unwind
