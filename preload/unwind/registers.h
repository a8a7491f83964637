// The three registers from which a stack is walked, and how to take them.
#ifndef PLATEAU_PRELOAD_UNWIND_REGISTERS_H_
#define PLATEAU_PRELOAD_UNWIND_REGISTERS_H_

#include <cstdint>

#include "preload/base/hook_frame.h"

namespace plateau::unwind {

// State of a frame: `rip` is where it continues (a return address), the others what they hold at that moment. The names
// are those of x86-64; on AArch64 they are pc, sp and x29.
struct Registers {
  uintptr_t rip = 0;
  uintptr_t rsp = 0;
  uintptr_t rbp = 0;
};

// The address in a word that holds a return address. AArch64 programs may sign it in the bits above the address, which
// are zero in what the kernel hands out unless a program asks for more than 48 bits.
#if defined(__aarch64__)
inline constexpr uintptr_t kReturnAddressBits = (uintptr_t{1} << 48) - 1;
#else
inline constexpr uintptr_t kReturnAddressBits = ~uintptr_t{0};
#endif
constexpr uintptr_t ReturnAddressIn(uintptr_t word) { return word & kReturnAddressBits; }

// Registers of the caller of a hook, from the hook's HookFrame(), as long as that function runs. It and all that it has
// called must keep frame pointers (plateau_shim_flags sees to it). x86-64: its frame then holds the caller's rbp, the
// return address, and ends at the caller's rsp. AArch64: the hook's record is the last one of the chain that lies in
// its frame.
[[gnu::always_inline]] inline Registers CallerOfHook(const void* frame) {
#if defined(__x86_64__)
  const auto* words = static_cast<const uintptr_t*>(frame);
  return {words[1], reinterpret_cast<uintptr_t>(words + 2), words[0]};
#elif defined(__aarch64__)
  const auto end = reinterpret_cast<uintptr_t>(frame);
  auto record = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  constexpr unsigned kMaxRecords = 64;  // of the shim's functions between the hook and here
  for (unsigned i = 0; i < kMaxRecords; ++i) {
    const uintptr_t next = *reinterpret_cast<const uintptr_t*>(record);
    if (next <= record || next >= end || next % sizeof(uintptr_t) != 0) break;
    record = next;
  }
  const auto* words = reinterpret_cast<const uintptr_t*>(record);
  return {ReturnAddressIn(words[1]), end, words[0]};
#else
  return {};
#endif
}

// Registers of the caller of the function this is written in.
[[gnu::always_inline]] inline Registers CallerRegisters() { return CallerOfHook(HookFrame()); }

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_REGISTERS_H_
