#include "preload/hooks/other_allocators.h"

#include <errno.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/base/elf_view.h"
#include "preload/base/fixed_text.h"
#include "preload/base/hook_frame.h"
#include "preload/base/import_slots.h"
#include "preload/base/module_walk.h"
#include "preload/base/real_functions.h"
#include "preload/base/real_symbol.h"
#include "preload/hooks/heap_calls.h"
#include "preload/hooks/hooks.h"
#include "preload/recorder/tracer.h"

namespace plateau {
namespace {

enum Call : size_t {
#define ALLOCATES(symbol, parameters, arguments, bytes) k##symbol,
#define THROWS(symbol, null_form, parameters, arguments, null_parameters, null_arguments, bytes) k##symbol,
#define FREES(symbol, parameters, arguments) k##symbol,
#define RESIZES(symbol, parameters, arguments, bytes) k##symbol,
#include "preload/hooks/other_allocator_calls.inc"
#undef ALLOCATES
#undef THROWS
#undef FREES
#undef RESIZES
  kCalls
};

constinit std::atomic<void*> g_other[kCalls] = {};

template <typename Function>
Function* Real(Call call) {
  return reinterpret_cast<Function*>(g_other[call].load(std::memory_order_acquire));
}

// Stands for std::nothrow, which has no content.
constinit const char kNoThrow = 0;

size_t Product(size_t count, size_t bytes) {
  size_t total;
  return __builtin_mul_overflow(count, bytes, &total) ? SIZE_MAX : total;
}

// Each hook has a frame of its own, whose caller is the program. An operator that throws is called when the
// form that returns null has failed and been left: the exception meets no hook at work.
//
// Parameters and arguments are lists with parentheses of their own. NOLINTBEGIN(bugprone-macro-parentheses)
#define ALLOCATES(symbol, parameters, arguments, bytes)                                      \
  [[gnu::noinline]] void* Hook##symbol parameters {                                          \
    auto* const real = Real<void * parameters>(k##symbol);                                   \
    if (FastAlloc(bytes)) [[likely]]                                                         \
      return real arguments;                                                                 \
    return Allocate(bytes, plateau::HookFrame(), [=]() -> void* { return real arguments; }); \
  }
#define THROWS(symbol, null_form, parameters, arguments, null_parameters, null_arguments, bytes)   \
  [[gnu::noinline]] void* Hook##symbol parameters {                                                \
    if (auto* const real = Real<void * null_parameters>(k##null_form)) {                           \
      void* const p = FastAlloc(bytes) ? real null_arguments                                       \
                                       : Allocate(bytes, plateau::HookFrame(),                     \
                                                  [=]() -> void* { return real null_arguments; }); \
      if (p != nullptr) return p;                                                                  \
    }                                                                                              \
    return Real<void * parameters>(k##symbol) arguments;                                           \
  }
#define FREES(symbol, parameters, arguments)                \
  [[gnu::noinline]] void Hook##symbol parameters {          \
    auto* const real = Real<void parameters>(k##symbol);    \
    if (p == nullptr || FastFree(p)) return real arguments; \
    Free(p, [=] { real arguments; });                       \
  }
#define RESIZES(symbol, parameters, arguments, bytes)                                           \
  [[gnu::noinline]] void* Hook##symbol parameters {                                             \
    auto* const real = Real<void * parameters>(k##symbol);                                      \
    void* const frame = plateau::HookFrame();                                                   \
    if (p == nullptr) return Allocate(bytes, frame, [=]() -> void* { return real arguments; }); \
    return Reallocate(p, bytes, frame, [=]() -> void* { return real arguments; });              \
  }
// NOLINTEND(bugprone-macro-parentheses)
#include "preload/hooks/other_allocator_calls.inc"
#undef ALLOCATES
#undef THROWS
#undef FREES
#undef RESIZES

struct Known {
  const char* symbol;
  void* hook;
};

#define ALLOCATES(symbol, ...) {#symbol, reinterpret_cast<void*>(&Hook##symbol)},
#define THROWS(symbol, ...) {#symbol, reinterpret_cast<void*>(&Hook##symbol)},
#define FREES(symbol, ...) {#symbol, reinterpret_cast<void*>(&Hook##symbol)},
#define RESIZES(symbol, ...) {#symbol, reinterpret_cast<void*>(&Hook##symbol)},
const Known kKnown[] = {
#include "preload/hooks/other_allocator_calls.inc"
};
static_assert(sizeof(kKnown) / sizeof(kKnown[0]) == kCalls);

// An object is an allocator when it exports one of these, or malloc where that is not the C library's.
constexpr const char* kSignatures[] = {"mallocx", "je_malloc", "tc_malloc", "mi_malloc"};

constexpr size_t kMaxAllocators = 4;
constinit struct Range { uintptr_t begin, end; } g_allocators[kMaxAllocators] = {};
constinit size_t g_allocator_count = 0;
constinit std::atomic<unsigned long long> g_seen_adds{0};
constinit std::atomic<size_t> g_slots{0};
constinit FixedText<512> g_path;

bool IsOurs(const ElfView& object) { return object.Contains(&g_seen_adds); }

bool IsAllocator(const ElfView& object) {
  if (IsOurs(object)) return false;
  for (const char* signature : kSignatures) {
    if (object.FindFunction(signature) != nullptr) return true;
  }
  return !AllocatorIsGlibc() && object.Contains(reinterpret_cast<const void*>(g_real.malloc));
}

// The first definition of each name in an allocator is the one that is hooked.
void TakeFunctions(const ElfView& object) {
  for (size_t i = 0; i < kCalls; ++i) {
    if (g_other[i].load(std::memory_order_relaxed) != nullptr) continue;
    g_other[i].store(object.FindFunction(kKnown[i].symbol), std::memory_order_release);
  }
}

int FindAllocators(dl_phdr_info* info, size_t, void*) {
  const ElfView object(*info);
  if (g_allocator_count == kMaxAllocators || !IsAllocator(object)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    for (size_t k = 0; k < g_allocator_count; ++k) {
      if (g_allocators[k].begin == begin) return 0;
    }
    g_allocators[g_allocator_count++] = {begin, begin + segment.p_memsz};
    // A program or library that carries an allocator makes maps of its own as well.
    if (std::strstr(object.base_name(), "malloc") != nullptr)
      AddAllocatorCode(begin, begin + segment.p_memsz);
    if (g_path.size() == 0) g_path << info->dlpi_name;
    TakeFunctions(object);
    break;
  }
  return 0;
}

// For names that are not bound yet: the definition that the loader would find first in the order of loading.
struct FirstDefinitions {
  bool is_allocators[kCalls] = {};
  bool is_known[kCalls] = {};
};

int FindFirst(dl_phdr_info* info, size_t, void* data) {
  auto* const first = static_cast<FirstDefinitions*>(data);
  const ElfView object(*info);
  if (IsOurs(object)) return 0;
  for (size_t i = 0; i < kCalls; ++i) {
    void* const real = g_other[i].load(std::memory_order_relaxed);
    if (real == nullptr || first->is_known[i]) continue;
    void* const found = object.FindFunction(kKnown[i].symbol);
    first->is_known[i] = found != nullptr;
    first->is_allocators[i] = found == real;
  }
  return 0;
}

size_t CallNamed(const char* name) {
  if (name[0] != '_' && name[0] != 'm' && name[0] != 't' && name[0] != 'j' && name[0] != 'r' &&
      name[0] != 'd' && name[0] != 's') {
    return kCalls;
  }
  for (size_t i = 0; i < kCalls; ++i) {
    if (std::strcmp(kKnown[i].symbol, name) == 0) return i;
  }
  return kCalls;
}

// An allocator that calls its own malloc or free (jemalloc's operator delete does) would be counted twice:
// within it these names lead to its own functions.
void LeadHome(const ElfView& object, const ImportView& imports) {
  imports.ForEach([&](const ImportSlot& slot) {
    constexpr const char* kNames[] = {"malloc",   "free",          "calloc",         "realloc",
                                      "memalign", "aligned_alloc", "posix_memalign", "valloc"};
    for (const char* name : kNames) {
      if (std::strcmp(slot.name, name) != 0) continue;
      void* const own = object.FindFunction(name);
      if (own != nullptr) imports.Write(slot.word, reinterpret_cast<uintptr_t>(own));
    }
  });
}

int PatchObject(dl_phdr_info* info, size_t, void* data) {
  const auto& first = *static_cast<const FirstDefinitions*>(data);
  const ElfView object(*info);
  if (IsOurs(object)) return 0;
  const ImportView imports(*info);
  if (IsAllocator(object)) {
    if (!g_opened_late) LeadHome(object, imports);  // else nobody led them away
    return 0;
  }
  imports.ForEach([&](const ImportSlot& slot) {
    const size_t call = CallNamed(slot.name);
    if (call == kCalls) return;
    void* const real = g_other[call].load(std::memory_order_relaxed);
    if (real == nullptr) return;
    const uintptr_t now = __atomic_load_n(slot.word, __ATOMIC_RELAXED);
    const bool is_unbound = slot.is_call && first.is_allocators[call] && imports.Contains(now);
    if (now != reinterpret_cast<uintptr_t>(real) && !is_unbound && !g_code_on_the_way.Contains(now)) return;
    if (imports.Write(slot.word, reinterpret_cast<uintptr_t>(kKnown[call].hook))) {
      g_slots.fetch_add(1, std::memory_order_relaxed);
    }
  });
  return 0;
}

int PutBack(dl_phdr_info* info, size_t, void*) {
  const ElfView object(*info);
  if (IsOurs(object)) return 0;
  const ImportView imports(*info);
  imports.ForEach([&](const ImportSlot& slot) {
    const size_t call = CallNamed(slot.name);
    if (call == kCalls) return;
    void* const real = g_other[call].load(std::memory_order_relaxed);
    if (__atomic_load_n(slot.word, __ATOMIC_RELAXED) != reinterpret_cast<uintptr_t>(kKnown[call].hook))
      return;
    if (real != nullptr) imports.Write(slot.word, reinterpret_cast<uintptr_t>(real));
  });
  return 0;
}

int ReadAdds(dl_phdr_info* info, size_t, void* data) {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

// In a hook, or in the constructor.
void HookOtherAllocators() {
  const int saved_errno = errno;
  unsigned long long adds = 0;
  WalkModules(ReadAdds, &adds);
  unsigned long long seen = g_seen_adds.load(std::memory_order_relaxed);
  // One thread looks, the others go on.
  if (adds == seen || !g_seen_adds.compare_exchange_strong(seen, adds, std::memory_order_relaxed)) return;
  WalkModules(FindAllocators, nullptr);
  if (g_allocator_count > 0) {
    FirstDefinitions first;
    WalkModules(FindFirst, &first);
    WalkModules(PatchObject, &first);
  }
  errno = saved_errno;
}

// Everybody gets the malloc of the first object that has one, in the order of loading; the program itself comes
// before what is preloaded.
int FindMalloc(dl_phdr_info* info, size_t, void* data) {
  const ElfView object(*info);
  if (object.FindFunction("malloc") == nullptr) return 0;
  if (!IsOurs(object)) {
    *static_cast<const char**>(data) = info->dlpi_name[0] != 0 ? info->dlpi_name : "the program itself";
  }
  return 1;
}

// The functions found stay known: a thread may be on its way to one of them.
void LeaveOtherAllocators() {
  const int saved_errno = errno;
  if (g_slots.exchange(0, std::memory_order_relaxed) > 0) WalkModules(PutBack, nullptr);
  g_seen_adds.store(0, std::memory_order_relaxed);
  errno = saved_errno;
}

void Start() {
  HookOtherAllocators();
  if (g_opened_late) return;
  const int saved_errno = errno;
  const char* other = nullptr;
  WalkModules(FindMalloc, &other);
  errno = saved_errno;
  if (other == nullptr) return;
  FixedText<600> text;
  text << "not traced: malloc is that of " << other
       << ", which comes before libplateau.so in the order of loading; its blocks are not in the trace";
  RecordInfo("malloc", text.view());
}

}  // namespace

constinit const Part kAllocatorsPart = {
    .start = Start, .on_tick = HookOtherAllocators, .on_detach = LeaveOtherAllocators};

const char* OtherAllocatorPath() { return g_path.c_str(); }
size_t OtherAllocatorSlots() { return g_slots.load(std::memory_order_relaxed); }

}  // namespace plateau
