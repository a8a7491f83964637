// The wrappers themselves, made from cuda_calls.inc: per row one exported entry and kSlotsPerRow entries for
// dlsym() and cuGetProcAddress() to hand out.
//
// The exported names are two-instruction stubs that jump to the wrapper through a constant, so a row needs no
// parameter list here: its C++ type is the signature's.
#include <errno.h>

#include "preload/base/hook_frame.h"
#include "preload/cuda/call.h"
#include "preload/cuda/cuda_abi.h"
#include "preload/cuda/signatures.h"
#include "preload/cuda/wrapper_slots.h"

namespace plateau::cuda {
namespace {

// The result of a wrapped call when there is no CUDA behind it.
int NoCuda(const CallInfo& info) {
  return info.level == PLATEAU_LEVEL_RUNTIME ? kRuntimeInsufficientDriver : kDriverNoDevice;
}

template <typename Signature, typename... Args>
inline __attribute__((always_inline)) int Forward(Row row, void* target, const void* frame,
                                                  const void* return_address, Args... args) {
  const CallInfo& info = kCalls[static_cast<int>(row)];
  if (target == nullptr) return NoCuda(info);
  auto* real = reinterpret_cast<int (*)(Args...)>(target);
  const Call call(info, frame, return_address);
  if constexpr (Signature::kHandsOutFunctions) {
    const int result = real(args...);
    const int saved_errno = errno;
    Signature::After(call, result, args...);
    errno = saved_errno;
    return result;
  }
  if (CallDepth::IsNested()) return real(args...);
  const CallDepth depth;
  if (!Call::HasRecorder()) return real(args...);
  const int errno_before = errno;
  Signature::Before(call, args...);
  errno = errno_before;
  const int result = real(args...);
  // Any other result may come from arguments that must not be read.
  if (result == kSuccess || result == kOutOfMemory || Signature::kTellsFailures) {
    const int errno_after = errno;
    Signature::After(call, result, args...);
    errno = errno_after;
  }
  return result;
}

template <Row kRow, typename Signature, typename Type = typename Signature::Type>
struct Exported;

template <Row kRow, typename Signature, typename... Args>
struct Exported<kRow, Signature, int(Args...)> {
  static __attribute__((noinline)) int Run(Args... args) {
    const void* caller = __builtin_return_address(0);
    return Forward<Signature>(kRow, RealForCaller(kRow, caller), HookFrame(), caller, args...);
  }
};

template <Row kRow, int kSlot, typename Signature, typename Type = typename Signature::Type>
struct Slotted;

template <Row kRow, int kSlot, typename Signature, typename... Args>
struct Slotted<kRow, kSlot, Signature, int(Args...)> {
  static __attribute__((noinline)) int Run(Args... args) {
    return Forward<Signature>(kRow, RealOfSlot(kRow, kSlot), HookFrame(), __builtin_return_address(0),
                              args...);
  }
};

template <Row kRow, typename Signature>
void* SlotWrapper(int slot) {
  static_assert(kSlotsPerRow == 8);
  static constexpr typename Signature::Type* kWrappers[kSlotsPerRow] = {
      &Slotted<kRow, 0, Signature>::Run, &Slotted<kRow, 1, Signature>::Run, &Slotted<kRow, 2, Signature>::Run,
      &Slotted<kRow, 3, Signature>::Run, &Slotted<kRow, 4, Signature>::Run, &Slotted<kRow, 5, Signature>::Run,
      &Slotted<kRow, 6, Signature>::Run, &Slotted<kRow, 7, Signature>::Run};
  return reinterpret_cast<void*>(kWrappers[slot]);
}

}  // namespace

void* WrapperOfSlot(Row row, int slot) {
  switch (row) {
#define PLATEAU_CUDA_RUNTIME(name, signature, memory) \
  case Row::k_##name:                                 \
    return SlotWrapper<Row::k_##name, signature>(slot);
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) \
  PLATEAU_CUDA_RUNTIME(name, signature, memory)
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER
    case Row::kCount:
      break;
  }
  return nullptr;
}

// Jumps to the function whose address is in a variable.
#if defined(__x86_64__)
#define PLATEAU_JUMP(variable) "  endbr64\n  jmp *" variable "(%rip)\n"
#elif defined(__aarch64__)
#define PLATEAU_JUMP(variable) \
  "  hint #34\n  adrp x16, " variable "\n  ldr x16, [x16, #:lo12:" variable "]\n  br x16\n"
#endif

#define PLATEAU_CUDA_RUNTIME(name, signature, memory)                                                 \
  extern "C" {                                                                                        \
  __attribute__((visibility("hidden"))) extern signature::Type* const plateau_export_##name;          \
  __attribute__((used)) constinit signature::Type* const plateau_export_##name =                      \
      &Exported<Row::k_##name, signature>::Run;                                                       \
  }                                                                                                   \
  __asm__(                                                                                            \
      ".pushsection .text\n"                                                                          \
      ".globl " #name                                                                                 \
      "\n"                                                                                            \
      ".type " #name ", %function\n" #name ":\n" PLATEAU_JUMP("plateau_export_" #name) ".size " #name \
                                                                                       ", . - " #name \
                                                                                       "\n"           \
                                                                                       ".popsection\n");
#define PLATEAU_CUDA_DRIVER(name, lookup, since, signature, memory) \
  PLATEAU_CUDA_RUNTIME(name, signature, memory)
#include "preload/cuda/cuda_calls.inc"
#undef PLATEAU_CUDA_RUNTIME
#undef PLATEAU_CUDA_DRIVER

}  // namespace plateau::cuda
