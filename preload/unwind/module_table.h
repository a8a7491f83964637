// The loaded objects that have appeared in stacks, each with its id in the trace.
//
// Open addressing by first mapped byte, 2^12 slots (more objects than a process can sensibly load; beyond
// that, locations are written without a module). Two threads that meet an object at the same time may define
// it twice, with two ids; both are right. Allocates: never. Locks: never. Globals of this type are
// constant-initialised.
#ifndef PLATEAU_PRELOAD_UNWIND_MODULE_TABLE_H_
#define PLATEAU_PRELOAD_UNWIND_MODULE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/unwind/definition_sink.h"
#include "preload/unwind/loaded_object.h"

namespace plateau::unwind {

class ModuleTable {
 public:
  static constexpr unsigned kLog2Slots = 12;
  static constexpr unsigned kProbeWindow = 64;

  constexpr ModuleTable() = default;
  ModuleTable(const ModuleTable&) = delete;
  ModuleTable& operator=(const ModuleTable&) = delete;

  // The id of `object`, defined through `sink` when it is new; 0 when the table is full.
  uint32_t IdOf(const LoadedObject& object, const DefinitionSink& sink);

  // Calls `gone(begin, end)` for each known object that is no longer loaded, tells the sink and forgets the
  // object.
  template <typename Gone>
  void ForgetUnloaded(const DefinitionSink& sink, Gone gone) {
    for (Slot& slot : slots_) {
      const uint32_t id = slot.id.load(std::memory_order_acquire);
      if (id == 0 || id >= kBusy || IsLoaded(slot)) continue;
      const uintptr_t begin = slot.begin.load(std::memory_order_relaxed);
      const uintptr_t end = slot.end.load(std::memory_order_relaxed);
      slot.id.store(kRetired, std::memory_order_release);
      sink.ModuleGone(id);
      gone(begin, end);
    }
  }

  // The path of the main program, which the loader does not know. Kept as a pointer.
  void SetProgramPath(const char* path) { program_path_ = path; }

  // Forgets all: only where no other thread can be using it, as in the child of a fork.
  void Clear();

 private:
  static constexpr uint32_t kBusy = 0xfffffffe;  // being filled
  static constexpr uint32_t kRetired = 0xffffffff;

  struct Slot {
    std::atomic<uint32_t> id{0};  // 0: free. Claimed by compare-and-swap, stored last
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};
    std::atomic<const void*> identity{nullptr};
  };

  static bool IsLoaded(const Slot& slot);
  void Define(uint32_t id, const LoadedObject& object, const DefinitionSink& sink) const;

  Slot slots_[(size_t{1} << kLog2Slots) + kProbeWindow] = {};
  std::atomic<uint32_t> next_id_{1};
  const char* program_path_ = "";
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_MODULE_TABLE_H_
