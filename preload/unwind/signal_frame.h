// Where the kernel keeps the interrupted registers: offsets from the stack pointer of the signal trampoline.
#ifndef PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_
#define PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "preload/unwind/cfi_row.h"

namespace plateau::unwind {

#if defined(__aarch64__)
// sp points at a siginfo_t, which the ucontext follows: x0..x30, sp, pc. The kernel's ABI, hence fixed.
inline constexpr uintptr_t kFirstContextOffset = 312;
constexpr uintptr_t ContextOffset(unsigned number) { return kFirstContextOffset + sizeof(uint64_t) * number; }
static_assert(ContextOffset(0) ==
              sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, regs));
static_assert(ContextOffset(kRegisterRsp) ==
              sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, sp));
static_assert(ContextOffset(kRegisterReturn) ==
              sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, pc));
#else
// rsp points at the ucontext. By DWARF register number: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8..r15, rip. The
// kernel's ABI, hence fixed.
inline constexpr uint16_t kContextOffsets[kRegisterCount] = {144, 136, 152, 128, 112, 104, 120, 160, 40,
                                                             48,  56,  64,  72,  80,  88,  96,  168};
constexpr uintptr_t ContextOffset(unsigned number) { return kContextOffsets[number]; }

#if defined(__x86_64__)
static_assert(kContextOffsets[kRegisterReturn] ==
              offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RIP);
static_assert(kContextOffsets[kRegisterRsp] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RSP);
static_assert(kContextOffsets[kRegisterRbp] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RBP);
static_assert(kContextOffsets[kRegisterRbx] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RBX);
static_assert(kContextOffsets[0] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RAX);
static_assert(kContextOffsets[12] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_R12);
#endif
#endif

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_
