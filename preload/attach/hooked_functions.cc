#include "preload/attach/hooked_functions.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "preload/base/real_symbol.h"
#include "preload/ledger/ledger.h"

// Where the shim defines them: hooks/interpose.cc, hooks/sandbox_hooks.cc, torch/. Declared by symbol alone, because an
// address is all that is wanted.
#define PLATEAU_HOOKED(kind, symbol) extern "C" void plateau_hook_##symbol() __asm__(#symbol);
#include "preload/attach/hooked_functions.inc"
#undef PLATEAU_HOOKED

// dlopen() finds the caller's RUNPATH by its return address, so the stub jumps.
extern "C" {
void plateau_dlopen_stub();
void plateau_dlmopen_stub();
void* plateau_real_dlopen = nullptr;
void* plateau_real_dlmopen = nullptr;
std::atomic<uint32_t> plateau_module_news{0};
}
#if defined(__x86_64__)
__asm__(R"(
        .text
        .type   plateau_dlopen_stub, @function
        .globl  plateau_dlopen_stub
        .hidden plateau_dlopen_stub
        .p2align 4
plateau_dlopen_stub:
        .cfi_startproc
        endbr64
        movl    $1, plateau_module_news(%rip)
        jmp     *plateau_real_dlopen(%rip)
        .cfi_endproc
        .size   plateau_dlopen_stub, . - plateau_dlopen_stub
        .type   plateau_dlmopen_stub, @function
        .globl  plateau_dlmopen_stub
        .hidden plateau_dlmopen_stub
        .p2align 4
plateau_dlmopen_stub:
        .cfi_startproc
        endbr64
        movl    $1, plateau_module_news(%rip)
        jmp     *plateau_real_dlmopen(%rip)
        .cfi_endproc
        .size   plateau_dlmopen_stub, . - plateau_dlmopen_stub
)");
#elif defined(__aarch64__)
__asm__(R"(
        .text
        .type   plateau_dlopen_stub, %function
        .globl  plateau_dlopen_stub
        .hidden plateau_dlopen_stub
        .p2align 4
plateau_dlopen_stub:
        mov     w17, #1
        adrp    x16, plateau_module_news
        str     w17, [x16, #:lo12:plateau_module_news]
        adrp    x16, plateau_real_dlopen
        ldr     x16, [x16, #:lo12:plateau_real_dlopen]
        br      x16
        .size   plateau_dlopen_stub, . - plateau_dlopen_stub
        .type   plateau_dlmopen_stub, %function
        .globl  plateau_dlmopen_stub
        .hidden plateau_dlmopen_stub
        .p2align 4
plateau_dlmopen_stub:
        mov     w17, #1
        adrp    x16, plateau_module_news
        str     w17, [x16, #:lo12:plateau_module_news]
        adrp    x16, plateau_real_dlmopen
        ldr     x16, [x16, #:lo12:plateau_real_dlmopen]
        br      x16
        .size   plateau_dlmopen_stub, . - plateau_dlmopen_stub
)");
#endif

namespace plateau {
namespace {

// Sorted by name at the first look.
constinit HookedFunction g_functions[kMaxHookedFunctions] = {
#define PLATEAU_HOOKED(kind, symbol) {#symbol, &plateau_hook_##symbol, HookedFunction::kind, nullptr},
#include "preload/attach/hooked_functions.inc"
#undef PLATEAU_HOOKED
    {"dlopen", &plateau_dlopen_stub, HookedFunction::kPlain, nullptr},
    {"dlmopen", &plateau_dlmopen_stub, HookedFunction::kPlain, nullptr},
};
constinit size_t g_count = 0;

void Sort() {
  while (g_count < kMaxHookedFunctions && g_functions[g_count].name != nullptr) ++g_count;
  for (size_t i = 1; i < g_count; ++i) {
    const HookedFunction moved = g_functions[i];
    size_t at = i;
    for (; at > 0 && std::strcmp(g_functions[at - 1].name, moved.name) > 0; --at)
      g_functions[at] = g_functions[at - 1];
    g_functions[at] = moved;
  }
}

}  // namespace

void FindHookedFunctions() {
  if (g_count == 0) Sort();
  for (size_t i = 0; i < g_count; ++i) {
    HookedFunction& function = g_functions[i];
    if (function.real == nullptr && function.kind != HookedFunction::kWeak)
      function.real = FindRealSymbol(function.name, nullptr);
    if (std::strcmp(function.name, "dlopen") == 0) plateau_real_dlopen = function.real;
    if (std::strcmp(function.name, "dlmopen") == 0) plateau_real_dlmopen = function.real;
  }
}

int HookedFunctionNamed(const char* name) {
  size_t begin = 0, end = g_count;
  while (begin < end) {
    const size_t middle = (begin + end) / 2;
    const int order = std::strcmp(name, g_functions[middle].name);
    if (order == 0) return static_cast<int>(middle);
    if (order < 0) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return -1;
}

size_t HookedFunctionCount() { return g_count; }
const HookedFunction& GetHookedFunction(size_t number) { return g_functions[number]; }

bool TookModuleNews() {
  return plateau_module_news.load(std::memory_order_relaxed) != 0 &&
         plateau_module_news.exchange(0, std::memory_order_relaxed) != 0;
}

}  // namespace plateau
