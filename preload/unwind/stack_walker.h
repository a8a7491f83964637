// Walks this thread's stack exactly and without frame pointers, remembering the last walk to skip what has
// not changed.
//
//   frames()      root                                   leaf
//                 [0] _start ... [k] unchanged | [k+1] new ... [depth-1] caller of malloc
//                  `--- proven equal to the last walk ---'   stepped by rule
//
// A remembered frame with the same (pc, rsp, rbp) as the live one has the same rule, hence the same CFA,
// hence the same slots for return address and rbp. If those slots still hold what they held, the caller is
// the same frame too, and so on to the root: equality is proven frame by frame, in order, and no slot is read
// before the frame that owns it is known to be alive. The first difference is stepped by rule and the search
// goes on from there. Frames that need more than two slots (signals, realigned stacks, a new page of a
// foreign stack) are stepped again every time.
//
// Bounds: on the thread's own stack nothing above its end is read. On any other stack (coroutines, alternate
// signal stacks) a frame is under 1 MiB and each page is read only when its neighbour in the walk is on it or
// the kernel says it is readable. Depth is capped at kMaxDepth, leaf side kept. Every end is named by
// StackEnd. Reentrancy: one Walk() per walker at a time; the caller's guard sees to it. Allocates: never.
// Locks: never. Memory: 57 KiB reserved, 56 bytes touched per frame of the deepest stack, twice.
#ifndef PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_
#define PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "preload/unwind/registers.h"
#include "preload/unwind/rule_table.h"
#include "preload/unwind/stack_bounds.h"

namespace plateau::unwind {

// Why a walk ended. Everything but the first two is a truncation: counted, and marked in the trace.
enum class StackEnd : uint8_t {
  kOutermost = 0,    // complete: the CFI says so, or the return address is null
  kStopAddress = 1,  // complete by request
  kDepthCap = 2,     // more than kMaxDepth frames; the root side is missing
  kNoObject = 3,     // code that no loaded object has (generated code)
  kNoCfi = 4,        // code without unwind information
  kUnsupported = 5,  // unwind information that even the slow step cannot follow
  kOutOfStack = 6,   // a step that leaves the stack: damaged stack or wrong unwind information
  kTableFull = 7,    // the rule table is full
};
inline constexpr size_t kStackEndCount = 8;
constexpr bool IsTruncation(StackEnd end) { return end > StackEnd::kStopAddress; }

// Without initialisers: a walker's arrays cost memory only where frames have been.
struct Frame {
  enum Flags : uint32_t {
    kIsExact = 1,       // a signal interrupted this frame: pc is no return address
    kNeedsStep = 2,     // cannot be proven by two slots
    kIsTrampoline = 4,  // the kernel's signal frame: [rsp, caller's rsp) is no range
  };

  uintptr_t pc;   // return address, or the interrupted instruction
  uintptr_t rsp;  // at pc; the frame's own bytes are [rsp, rsp of its caller)
  uintptr_t rbp;
  const uintptr_t* return_slot;  // where the caller's pc was read
  const uintptr_t* rbp_slot;     // where the caller's rbp was read
  RuleEntry* entry;
  uint32_t node;   // the user's word; kept while the frame and all its callers are unchanged
  uint32_t flags;  // of Flags

  bool is_exact() const { return (flags & kIsExact) != 0; }
  bool needs_step() const { return (flags & kNeedsStep) != 0; }
  bool is_trampoline() const { return (flags & kIsTrampoline) != 0; }
};
static_assert(sizeof(Frame) == 56 && std::is_trivially_default_constructible_v<Frame>);

struct WalkResult {
  const Frame* frames;  // root first; valid until the next Walk()
  uint32_t depth;
  uint32_t unchanged;  // so many frames from the root are those of the last walk, with their node
  StackEnd end;
};

class StackWalker {
 public:
  static constexpr uint32_t kMaxDepth = 512;
  static constexpr uintptr_t kMaxForeignFrameBytes = 1u << 20;

  struct Counters {
    uint64_t walks = 0;
    uint64_t frames = 0;
    uint64_t stepped_frames = 0;  // those not proven from memory
    uint64_t slow_steps = 0;      // with all registers
    uint64_t ends[kStackEndCount] = {};
  };

  // Must be called on the walker's thread. Asks the C library for the bounds of the stack, which may
  // allocate: under the guard.
  void Initialize(RuleTable* rules);

  // Walks from `start`, whose rsp - 8 holds start.rip. With `stop_address` the walk ends at the frame whose
  // bytes hold that address (the root-most frame of the result), or goes on to the root when none does.
  WalkResult Walk(const Registers& start, uintptr_t stop_address = 0);

  // The last walk, root first.
  const Frame* frames() const { return frames_; }
  uint32_t depth() const { return depth_; }
  StackEnd end() const { return end_; }

  // The node of frames()[index], to be set for each index >= unchanged after a walk.
  void SetNode(uint32_t index, uint32_t node) { frames_[index].node = node; }
  // One past the bytes of frame `index` (its CFA); of the root-most frame when it is known, else its rsp.
  uintptr_t Cfa(uint32_t index) const { return index == 0 ? root_cfa_ : frames_[index - 1].rsp; }

  // Forgets the last walk. After code was unloaded its rules are no proof any more.
  void Forget() {
    depth_ = 0;
    has_foreign_frames_ = false;
  }

  const Counters& counters() const { return counters_; }

 private:
  // Where the walk is: a frame that is alive and not yet looked up. Kept in registers on the fast path.
  struct Position {
    uintptr_t pc;
    uintptr_t rsp;
    uintptr_t rbp;
    uint32_t exact;  // Frame::kIsExact or 0

    uintptr_t code_address() const { return pc - (exact ^ Frame::kIsExact); }
  };

  static bool IsAt(const Frame& frame, const Position& at) {
    return frame.rsp == at.rsp && frame.pc == at.pc && frame.rbp == at.rbp &&
           (frame.flags & Frame::kIsExact) == at.exact;
  }
  static void Copy(Frame* to, const Frame& from);

  template <bool kHasStop>
  uint32_t WalkFrom(Position at, uintptr_t stop_address);
  template <bool kHasStop>
  bool Holds(uint32_t index, uintptr_t address) const;
  bool Step(Position* at, Frame* frame);
  bool StepSlow(Position* at, Frame* frame);
  bool StepOverSignal(Position* at, Frame* frame);
  bool StepBySlots(Position* at, uintptr_t cfa, uintptr_t rbp_slot, Frame* frame);
  bool ReadWord(uintptr_t address, uintptr_t lowest, uintptr_t* value, bool* probed);
  bool IsOwnStack(uintptr_t address) const { return address - own_.begin < own_.end - own_.begin; }
  void EnterFrame(uint32_t index, uint32_t leaf_most);
  bool StopAt(StackEnd end, uintptr_t root_cfa);
  bool MoveToFresh(uint32_t from_leaf, uint32_t to_root);
  uint32_t Place(uint32_t kept);

  RuleTable* rules_ = nullptr;
  StackBounds own_;
  uintptr_t known_page_ = 1;  // of a foreign stack: read a moment ago; 1 = none
  uintptr_t root_cfa_ = 0;
  uint32_t depth_ = 0;
  uint32_t fresh_count_ = 0;
  StackEnd end_ = StackEnd::kOutermost;
  bool has_foreign_frames_ = false;  // since Forget(), a frame of another stack can be proven by its slots
  bool root_is_final_ = false;       // the rule of frame 0 alone ends the walk; no memory to look at
  Counters counters_;
  Frame frames_[kMaxDepth];  // the last stack, root first
  Frame fresh_[kMaxDepth];   // new frames of the walk in progress, leaf first
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_
