// The same stack by libunwind, as the judge of what the unwinder found.
#ifndef PLATEAU_TESTS_PRELOAD_UNWIND_REFERENCE_STACK_H_
#define PLATEAU_TESTS_PRELOAD_UNWIND_REFERENCE_STACK_H_

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "preload/unwind/loaded_object.h"
#include "preload/unwind/registers.h"

namespace plateau::unwind {

struct ReferenceFrame {
  uintptr_t pc;
  uintptr_t rsp;
  bool is_exact;  // interrupted by a signal
};

inline constexpr unsigned kMaxReferenceFrames = 2048;

struct ReferenceStack {
  ReferenceFrame frames[kMaxReferenceFrames];  // leaf first
  unsigned depth = 0;
  bool complete = false;  // libunwind reached the end rather than giving up
};

// Whether `ip` is the C library's trampoline, mov $15,%rax; syscall on x86-64 (AArch64 has it elsewhere). Looks only into that library: libunwind
// may come up with any address.
inline bool IsReturnFromSignal(uintptr_t ip) {
  static constexpr unsigned char kSigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  static const LoadedObject library = [] {
    LoadedObject object;
    FindLoadedObject(reinterpret_cast<uintptr_t>(&abort), &object);
    return object;
  }();
  const auto* code = reinterpret_cast<const uint8_t*>(ip);
  const ByteSpan readable = ReadableAround(library, code);
  return readable.Contains(code) && static_cast<size_t>(readable.end - code) >= sizeof(kSigreturn) &&
         std::memcmp(code, kSigreturn, sizeof(kSigreturn)) == 0;
}

// Fills `stack` with the frames from `from` (a frame of this thread above the caller) to the root. Inlined,
// so that the caller's frame is the first that libunwind sees.
[[gnu::always_inline]] inline void ReadReferenceStack(const Registers& from, ReferenceStack* stack) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  stack->depth = 0;
  stack->complete = false;
  bool found = false;
  bool after_signal = false;
  for (;;) {
    unw_word_t ip = 0;
    unw_word_t sp = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &ip);
    unw_get_reg(&cursor, UNW_REG_SP, &sp);
    if (ip == 0) {
      stack->complete = true;
      return;
    }
    const bool repeats = stack->depth != 0 && stack->frames[stack->depth - 1].pc == ip &&
                         stack->frames[stack->depth - 1].rsp == sp;
    if (repeats) {  // on AArch64 it goes on with x30 where there is no unwind information: the root of a thread
      stack->complete = true;
      return;
    }
    found = found || (ip == from.rip && sp == from.rsp);
    if (found) {
      if (stack->depth == kMaxReferenceFrames) return;
      stack->frames[stack->depth++] = {ip, sp, after_signal};
    }
#if defined(__x86_64__)
    after_signal = IsReturnFromSignal(ip);
#else
    after_signal = unw_is_signal_frame(&cursor) > 0;
#endif
    const int step = unw_step(&cursor);
    if (step <= 0) {
      stack->complete = step == 0;
      return;
    }
  }
}

}  // namespace plateau::unwind

#endif  // PLATEAU_TESTS_PRELOAD_UNWIND_REFERENCE_STACK_H_
