// Where the kernel keeps the interrupted registers: offsets into the ucontext at rsp of the signal
// trampoline.
#ifndef PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_
#define PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "preload/unwind/cfi_row.h"

#if defined(__x86_64__)
#include <ucontext.h>
#endif

namespace plateau::unwind {

// By DWARF register number: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8..r15, rip. The kernel's ABI, hence
// fixed.
inline constexpr uint16_t kContextOffsets[kRegisterCount] = {144, 136, 152, 128, 112, 104, 120, 160, 40,
                                                             48,  56,  64,  72,  80,  88,  96,  168};

#if defined(__x86_64__)
static_assert(kContextOffsets[kRegisterReturn] ==
              offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RIP);
static_assert(kContextOffsets[kRegisterRsp] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RSP);
static_assert(kContextOffsets[kRegisterRbp] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RBP);
static_assert(kContextOffsets[kRegisterRbx] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RBX);
static_assert(kContextOffsets[0] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_RAX);
static_assert(kContextOffsets[12] == offsetof(ucontext_t, uc_mcontext) + sizeof(greg_t) * REG_R12);
#endif

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_SIGNAL_FRAME_H_
