// Walks this thread's stack exactly and without frame pointers, remembering the last walk to skip what has
// not changed.
//
//   frames()      root                                   leaf
//                 [0] _start ... [k] unchanged | [k+1] new ... [depth-1] caller of malloc
//                  `--- proven equal to the last walk ---'   stepped by rule
//
// A remembered frame with the same (pc, rsp) as the live one has the same rule, hence the same CFA, hence the
// same slot for its return address. If that slot still holds what it held, the caller is the same frame too,
// and so on to the root. The first difference is stepped by rule and the search goes on from there. On stacks
// other than the thread's own, no slot is read before the frame that owns it is known to be alive.
//
// The value of rbp matters only where a rule computes the CFA from it; where it does, the slot it comes from
// must hold what it held, too. Elsewhere rbp is any program's register: it is neither compared nor kept up to
// date, and read from the live stack when a frame has to be stepped after all. Frames that a slot cannot
// prove (signals, realigned stacks, a new page of a foreign stack) are stepped again every time.
//
// Bounds: on the thread's own stack nothing above its end is read. On any other stack (coroutines, alternate
// signal stacks) a frame is under 1 MiB and each page is read only when its neighbour in the walk is on it or
// the kernel says it is readable. Depth is capped at kMaxDepth, leaf side kept. Every end is named by
// StackEnd. Reentrancy: one Walk() per walker at a time; the caller's guard sees to it. Allocates: never.
// Locks: never. Memory: 195 KiB reserved, about 110 bytes touched per frame of the deepest stack, 64 per
// known leaf and 16 per frame of that, 704 per known branch.
#ifndef PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_
#define PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "preload/unwind/known_branches.h"
#include "preload/unwind/known_stacks.h"
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

// Where a function keeps its return address. On x86-64 the call instruction puts it below the caller's stack pointer; on
// AArch64 the function saves it where it likes, so each frame knows where its callee did.
#if defined(__aarch64__)
inline constexpr bool kReturnSlotsVary = true;
#else
inline constexpr bool kReturnSlotsVary = false;
#endif
// Without initialisers: a walker's arrays cost memory only where frames have been.
struct Frame {
  uintptr_t pc;   // return address, or the interrupted instruction
  uintptr_t rsp;  // at pc; the frame's own bytes are [rsp, rsp of its caller)
#if defined(__aarch64__)
  uintptr_t return_slot;  // of its callee, from which pc was read; 0: pc comes from a register or a signal
#endif
};
static_assert(sizeof(Frame) == (kReturnSlotsVary ? 24 : 16) &&
              std::is_trivially_default_constructible_v<Frame>);

// The word from which the pc of `frame`, which has a callee, was read.
inline uintptr_t ReturnSlotOf(const Frame& frame) {
#if defined(__aarch64__)
  return frame.return_slot;
#else
  return frame.rsp - sizeof(uintptr_t);
#endif
}
inline void SetReturnSlot([[maybe_unused]] Frame* frame, [[maybe_unused]] uintptr_t slot) {
#if defined(__aarch64__)
  frame->return_slot = slot;
#endif
}

class StackWalker {
 public:
  static constexpr uint32_t kMaxDepth = 512;
  static constexpr uintptr_t kMaxForeignFrameBytes = 1u << 20;

  struct Counters {
    uint64_t walks = 0;
    uint64_t known = 0;           // KnownNode() and KnownNodeAbove() that needed no walk
    uint64_t stepped_frames = 0;  // those not proven from memory
    uint64_t slow_steps = 0;      // with all registers
    uint64_t ends[kStackEndCount] = {};
  };

  // Must be called on the walker's thread. Asks the C library for the bounds of the stack, which may
  // allocate: under the guard.
  void Initialize(RuleTable* rules);

  // Walks from `start`, whose rsp - 8 holds start.rip. With `stop_address` the walk ends at the frame whose
  // bytes hold that address (the root-most frame of the result), or goes on to the root when none does.
  // Returns how many frames from the root are those of the last walk, with their nodes.
  uint32_t Walk(const Registers& start, uintptr_t stop_address = 0);

  // What RememberNode() was told about this very stack, when it can still be proven; else 0: Walk() then.
  // frames() stay those of the last walk. Costs no branch that depends on which of them it is.
  uint32_t KnownNode(const Registers& start) {
    const KnownStacks::Entry* known = known_.Find(start.rip, start.rsp, 0);
    if (known == nullptr || !IsKnown(*known, start.rbp)) {
      known = FindOtherWay(start);
      if (known == nullptr) return 0;
    }
    ++counters_.known;
    return known->node;
  }
  // After a walk without stop address that kept `unchanged` frames, when all nodes are set.
  void RememberNode(uint32_t unchanged);

  // The same for stacks that hang under `parent` from the frame that holds `stop_address` on: after a walk
  // with that stop address, when all nodes are set.
  uint32_t KnownNodeAbove(const Registers& start, uint32_t parent, uintptr_t stop_address);
  void RememberNodeAbove(uint32_t parent, uintptr_t stop_address);

  // The last walk, root first.
  const Frame* frames() const { return stack_ + 1; }
  uint32_t depth() const { return depth_; }
  StackEnd end() const { return end_; }

  RuleEntry* entry(uint32_t index) const { return details_[index].entry; }

  // The user's word for frames()[index]: to be set for each index >= unchanged after a walk, and kept while
  // the frame and all its callers are unchanged.
  uint32_t node(uint32_t index) const { return details_[index].node; }
  void SetNode(uint32_t index, uint32_t node) { details_[index].node = node; }
  // One past the bytes of frame `index` (its CFA); of the root-most frame when it is known, else its rsp.
  uintptr_t Cfa(uint32_t index) const { return index == 0 ? root_cfa_ : At(index - 1).rsp; }

  // Forgets the last walk and what is known. After code was unloaded its rules are no proof any more.
  void Forget() {
    forgotten_walk_ = counters_.walks;
    depth_ = 0;
    has_foreign_frames_ = false;
  }

  const Counters& counters() const { return counters_; }

 private:
  enum Flags : uint32_t {
    kIsExact = 1,       // a signal interrupted this frame: pc is no return address
    kNeedsStep = 2,     // cannot be proven by slots
    kIsTrampoline = 4,  // the kernel's signal frame: [rsp, caller's rsp) is no range
    kSavesRbp = 8,      // the caller's rbp is in a slot of this frame, else it is this frame's
    kUsesRbp = 16,    // the CFA of this frame, or of a caller that it hands its rbp to, is computed from rbp
    kChecksRbp = 32,  // this frame saves the rbp that a caller uses: the last of its rbp_checks is its own
  };
  static constexpr uint32_t kStepFlags = kIsExact | kNeedsStep | kIsTrampoline;

  // What is not looked at while frames are unchanged.
  struct Detail {
    RuleEntry* entry;
    uintptr_t rbp;  // at pc; kept up to date only with kUsesRbp
    uint32_t node;
    uint32_t flags;       // of Flags
    uint16_t rbp_checks;  // so many of rbp_checks_ belong to this frame and its callers
    uint16_t barrier;     // the first frame from here to the root that is stepped every time, or the root
  };
  static_assert(sizeof(Detail) == 32);

  struct FreshFrame {
    Frame frame;
    uintptr_t rbp;
    RuleEntry* entry;
    uint32_t flags;  // of kStepFlags
  };

  // Where the walk is: a frame that is alive and not yet looked up. Kept in registers on the fast path.
  struct Position {
    uintptr_t pc;
    uintptr_t rsp;
    uintptr_t rbp;
    uint32_t exact;  // kIsExact or 0
#if defined(__aarch64__)
    uintptr_t return_slot = 0;  // as in Frame
#endif

    uintptr_t code_address() const { return pc - (exact ^ kIsExact); }
  };

  static void GiveReturnSlot([[maybe_unused]] uintptr_t slot, [[maybe_unused]] Position* at) {
#if defined(__aarch64__)
    at->return_slot = slot;
#endif
  }
  static void TakeReturnSlot([[maybe_unused]] const Position& at, [[maybe_unused]] Frame* frame) {
#if defined(__aarch64__)
    frame->return_slot = at.return_slot;
#endif
  }
  static uintptr_t ReturnSlotBy([[maybe_unused]] const CfiRule& rule, uintptr_t cfa) {
#if defined(__aarch64__)
    return cfa + static_cast<uintptr_t>(8 * intptr_t{rule.return_slot});
#else
    return cfa - sizeof(uintptr_t);
#endif
  }

  Frame& At(uint32_t index) { return stack_[1 + index]; }
  const Frame& At(uint32_t index) const { return stack_[1 + index]; }
  bool IsAt(uint32_t index, const Position& at) const {
    const uint32_t flags = details_[index].flags;
    return At(index).rsp == at.rsp && At(index).pc == at.pc && (flags & kIsExact) == at.exact &&
           ((flags & kUsesRbp) == 0 || details_[index].rbp == at.rbp);
  }

  template <bool kHasStop>
  uint32_t WalkFrom(Position at, uintptr_t stop_address);
  template <bool kHasStop>
  bool Holds(uint32_t index, uintptr_t address) const;
  template <bool kHasStop>
  uint32_t Prove(uint32_t index, uintptr_t stop_address) const;
  bool IsCallerUnchanged(uint32_t index) const;
  bool HasBase(const KnownStacks::Entry& known) const {
    return known.base < depth_ && placed_by_[known.base] == known.base_walk;
  }
  bool IsKnown(const KnownStacks::Entry& known, uintptr_t rbp) const;
  const KnownStacks::Entry* FindOtherWay(const Registers& start) const;
  bool IsKnown(const KnownBranches::Entry& known, uintptr_t rbp) const;
  bool RbpChecksHold(uint32_t begin, uint32_t end) const;
  const uintptr_t* RbpSlot(uint32_t index) const;
  uintptr_t CallersRbp(uint32_t index, uint32_t proven_from, uintptr_t rbp) const;
  bool Step(Position* at, FreshFrame* frame);
  bool StepSlow(Position* at, FreshFrame* frame);
  bool StepOverSignal(Position* at, FreshFrame* frame);
  bool StepBySlots(Position* at, uintptr_t cfa, uintptr_t rbp_slot, FreshFrame* frame);
  bool ReadWord(uintptr_t address, uintptr_t lowest, uintptr_t* value, bool* probed);
  bool IsOwnStack(uintptr_t address) const { return address - own_.begin < own_.end - own_.begin; }
  void EnterFrame(uint32_t index, uint32_t leaf_most);
  bool StopAt(StackEnd end, uintptr_t root_cfa);
  bool AddFresh(const FreshFrame& frame);
  bool MoveToFresh(uint32_t from_leaf, uintptr_t leaf_rbp, uint32_t to_root);
  void Append(uint32_t index, const FreshFrame& fresh);
  uint32_t DropRoot(uint32_t kept);
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
  uint64_t forgotten_walk_ = 0;      // what this and earlier walks have taught is no proof
  Counters counters_;
  // The last stack, root first. Before the root is a sentinel, above every stack.
  Frame stack_[1 + kMaxDepth];
  Detail details_[kMaxDepth];        // of the same frames
  uint64_t placed_by_[kMaxDepth];    // the number of the walk that put each of them there
  WordCheck rbp_checks_[kMaxDepth];  // in the order of the frames; most frames have none
  FreshFrame fresh_[kMaxDepth];      // new frames of the walk in progress, leaf first
  KnownStacks known_;
  KnownBranches branches_;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_STACK_WALKER_H_
