// Which marks of steps a trace that holds totals still takes: fewer, the less room there is.
//
// Marks come in groups of trace::kStepsOfAGroup ends of steps. At first every group is written. Each time
// half of the room that was left is used, groups become four times rarer, but never so rare that fewer than
// kGroupsAtLeast were written of all that went by; so a run of any length has room for the marks it needs.
// One of each period is written, at a random place, with everything between its ends of steps. A mark
// kMarksLeftOut before it says how many groups are missing. Epochs, phases, notes, changes of the mode and
// ends of passes over the data are always written.
//
// Locks: one, for a bounded time; when it stays busy the mark is treated like the one before. Allocates:
// never. Reentrancy: under the hook guard.
#ifndef PLATEAU_PRELOAD_RECORDER_MARK_THINNING_H_
#define PLATEAU_PRELOAD_RECORDER_MARK_THINNING_H_

#include <cstdint>

#include "preload/base/spin_lock.h"
#include "preload/sampler/sampler.h"
#include "preload/trace/record.h"

namespace plateau {

class MarkThinning {
 public:
  static constexpr uint64_t kGroupsAtLeast = 16;

  constexpr MarkThinning() = default;

  struct Choice {
    bool keeps = true;
    bool begins_group = false;
    uint64_t left_out = 0;     // groups that are missing in front of the one that begins
    uint64_t groups = 0;       // groups that went by so far; 0 unless this mark ended one
    bool needs_fetch = false;  // the mark that began the fetch which ends here was left out
    uint64_t fetch_value = 0;  // the value of that mark
  };
  // Says what becomes of the next mark, when all marks together may use `room_bytes`.
  Choice Choose(const trace::MarkRecord& mark, uint64_t room_bytes);

  // How many groups were left out since the last one that was written, or since the last call.
  uint64_t TakeLeftOut();

  // Before a recording begins, and in the child of a fork.
  void Reset();

 private:
  bool IsLead(const trace::MarkRecord& mark);
  void BeginGroup(uint64_t room_bytes);

  SpinLock lock_;
  bool is_open_ = true;
  trace::MarkKind lead_kind_ = {};  // the mark that ends a step, or that is taken for it
  trace::MarkSource lead_source_ = {};
  uint32_t marks_since_lead_ = 0;
  uint32_t leads_of_group_ = 0;
  uint64_t groups_ = 0;  // groups that went by
  uint64_t used_bytes_ = 0;
  uint64_t period_groups_ = 0;
  uint64_t group_of_period_ = 0;
  uint64_t kept_group_ = 0;
  uint64_t left_out_ = 0;
  bool is_fetch_left_out_ = false;
  uint64_t fetch_value_ = 0;
  uint64_t train_mode_ = UINT64_MAX;
  GapRandom random_;
};

extern MarkThinning g_mark_thinning;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_MARK_THINNING_H_
