// How words of a stack are read and compared: what the files of StackWalker share.
//
// Whoever calls Load() knows that the word is there. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_STACK_WORDS_H_
#define PLATEAU_PRELOAD_UNWIND_STACK_WORDS_H_

#include <cstdint>

#include "preload/base/raw_memory.h"
#include "preload/unwind/stack_walker.h"

// Stacks are read while sanitizers think of them as poisoned frames, and rules while they think of them as
// races.
#define PLATEAU_READS_STACK [[gnu::no_sanitize_address, gnu::no_sanitize_thread]]

namespace plateau::unwind {

inline constexpr uintptr_t kLowestCode = 4096;
inline constexpr uintptr_t kRedZoneBytes = 128;
inline constexpr uintptr_t kNoPage = 1;
inline constexpr int32_t kUnrolled = 8;  // frames proven per turn of the loop

// A null return address ends a stack as it should; other numbers that cannot be code are damage.
inline StackEnd EndAtLowAddress(uintptr_t pc) {
  return pc == 0 ? StackEnd::kOutermost : StackEnd::kOutOfStack;
}

inline uintptr_t PageOf(uintptr_t address) { return address & ~(kPageBytes - 1); }

// The page that was read when the pc of `frame`, which has a callee, was.
inline uintptr_t PageReadFor(const Frame& frame) {
  return kReturnSlotsVary && ReturnSlotOf(frame) == 0 ? kNoPage : PageOf(ReturnSlotOf(frame));
}

PLATEAU_READS_STACK inline uintptr_t Load(const uintptr_t* slot) { return *slot; }
PLATEAU_READS_STACK inline uintptr_t Load(uintptr_t address) {
  return *reinterpret_cast<const uintptr_t*>(address);
}

// 0 when `frame`, which has a callee, is still what that returns to. The slot is the callee's.
PLATEAU_READS_STACK [[gnu::always_inline]] inline uintptr_t ChangeOf(const Frame& frame) {
  return (Load(ReturnSlotOf(frame)) ^ frame.pc) & kReturnAddressBits;
}

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_STACK_WORDS_H_
