// The ring: which slots of the trace file's extents are in use, and by whom.
//
//   extent 0  [slot][slot] ... [slot]   bit i of in_use_[0] = slot i is taken
//   extent 1  added when all are taken
//
// An extent is address space in the file; a slot gets its disk space when it is first claimed, so a small
// process has a small trace.
//
// Claim() and Release() are lock-free; only adding an extent takes a lock, which is tried. Never more than
// kMaxExtents * kSlotsPerExtent slots. Memory belongs to the sink.
#ifndef PLATEAU_PRELOAD_RECORDER_FILE_SLOT_POOL_H_
#define PLATEAU_PRELOAD_RECORDER_FILE_SLOT_POOL_H_

#include <atomic>
#include <cstdint>

#include "preload/base/spin_lock.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/trace/format.h"

namespace plateau {

class SlotPool {
 public:
  constexpr SlotPool() = default;

  // A free slot with a zeroed header; null when there is none and none can be made.
  trace::SlotHeader* Claim(TraceSink* sink);
  void Release(trace::SlotHeader* slot);

  // Calls visit(slot) for each slot in use.
  template <typename Visit>
  void ForEachUsed(Visit visit) const {
    const uint32_t count = extent_count_.load(std::memory_order_acquire);
    for (uint32_t e = 0; e < count; ++e) {
      const uint32_t used = in_use_[e].load(std::memory_order_acquire);
      for (uint32_t i = 0; i < trace::kSlotsPerExtent; ++i) {
        if (used & (1u << i)) visit(SlotAt(e, i));
      }
    }
  }

  // Gives every slot its disk space now: later nobody may be able to.
  void ReserveAll(TraceSink* sink);

  // Takes every free slot out of use and gives its disk space back.
  void RetireFree(TraceSink* sink);

  // Forgets all slots, which are the parent's; called in a forked child.
  void Reset();

 private:
  static constexpr uint32_t kAllUsed = (1u << trace::kSlotsPerExtent) - 1;

  trace::SlotHeader* SlotAt(uint32_t extent, uint32_t index) const {
    return reinterpret_cast<trace::SlotHeader*>(memory_[extent] + index * trace::kSlotBytes);
  }
  trace::SlotHeader* ClaimIn(uint32_t extent, TraceSink* sink);

  SpinLock growth_lock_;
  std::atomic<uint32_t> extent_count_{0};
  uint8_t* memory_[trace::kMaxExtents] = {};
  std::atomic<uint32_t> in_use_[trace::kMaxExtents] = {};
  std::atomic<uint32_t> reserved_[trace::kMaxExtents] = {};  // slots whose disk space is ours
};

extern SlotPool g_slots;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_FILE_SLOT_POOL_H_
