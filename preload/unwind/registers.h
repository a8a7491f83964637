// The three registers from which a stack is walked, and how to take them.
#ifndef PLATEAU_PRELOAD_UNWIND_REGISTERS_H_
#define PLATEAU_PRELOAD_UNWIND_REGISTERS_H_

#include <cstdint>

namespace plateau::unwind {

// State of a frame: `rip` is where it continues (a return address), the others what they hold at that moment.
struct Registers {
  uintptr_t rip = 0;
  uintptr_t rsp = 0;
  uintptr_t rbp = 0;
};

// Registers of the caller of the function this is written in. That function must keep a frame pointer
// (plateau_shim_flags sees to it): its frame then holds the caller's rbp, the return address, and ends at the
// caller's rsp. Always inlined, so the frame is that of the function itself.
[[gnu::always_inline]] inline Registers CallerRegisters() {
#if defined(__x86_64__)
  const auto* frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
  return {frame[1], reinterpret_cast<uintptr_t>(frame + 2), frame[0]};
#else
  return {};
#endif
}

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_REGISTERS_H_
