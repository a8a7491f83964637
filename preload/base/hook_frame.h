// What identifies the frame of a hook, so that its caller's stack can be walked.
//
// unwind::CallerOfHook() takes it, as long as the hook runs. Safe everywhere.
#ifndef PLATEAU_PRELOAD_BASE_HOOK_FRAME_H_
#define PLATEAU_PRELOAD_BASE_HOOK_FRAME_H_

namespace plateau {

// Always inlined, so the frame is that of the function this is written in. x86-64: its frame pointer. AArch64: the end of
// its frame, which is the caller's stack pointer; the frame record may be anywhere below.
[[gnu::always_inline]] inline void* HookFrame() {
#if defined(__aarch64__)
  asm volatile(""
               :
               : "r"(__builtin_frame_address(0)));  // so that there is a record, however the file is compiled
  return __builtin_dwarf_cfa();
#else
  return __builtin_frame_address(0);
#endif
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_HOOK_FRAME_H_
