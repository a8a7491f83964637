#include "preload/attach/import_patcher.h"

#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "preload/attach/hooked_functions.h"
#include "preload/attach/writable_maps.h"
#include "preload/base/elf_view.h"
#include "preload/base/import_slots.h"
#include "preload/base/module_walk.h"
#include "preload/base/real_functions.h"
#include "preload/base/real_symbol.h"

namespace plateau {
namespace {

// The symbols of one module that are hooked: few, looked up by a small filter in front of a list.
class WantedSymbols {
 public:
  WantedSymbols(const ElfView& object, const ImportView& imports) {
    // Undefined symbols come first in the table; of those that the module defines, its hash table knows.
    const uint32_t first_defined = imports.first_defined_symbol();
    if (first_defined == UINT32_MAX) {
      names_all_ = true;
      return;
    }
    for (uint32_t i = 1; i < first_defined; ++i) Add(i, HookedFunctionNamed(imports.NameOf(i)));
    for (size_t i = 0; i < HookedFunctionCount(); ++i) {
      const uint32_t symbol = object.FindSymbolNumber(GetHookedFunction(i).name);
      if (symbol != 0) Add(symbol, static_cast<int>(i));
    }
  }

  int FunctionOf(uint32_t symbol, const ImportView& imports) const {
    if (names_all_) return HookedFunctionNamed(imports.NameOf(symbol));
    if ((filter_[symbol / 64 % kFilterWords] >> symbol % 64 & 1) == 0) return -1;
    for (size_t i = 0; i < count_; ++i) {
      if (symbols_[i] == symbol) return functions_[i];
    }
    return -1;
  }
  bool empty() const { return count_ == 0 && !names_all_; }

 private:
  static constexpr size_t kMax = 2 * kMaxHookedFunctions;
  static constexpr size_t kFilterWords = 64;

  void Add(uint32_t symbol, int function) {
    if (function < 0 || count_ == kMax) return;
    symbols_[count_] = symbol;
    functions_[count_++] = static_cast<int16_t>(function);
    filter_[symbol / 64 % kFilterWords] |= uint64_t{1} << symbol % 64;
  }

  bool names_all_ = false;
  size_t count_ = 0;
  uint32_t symbols_[kMax];
  int16_t functions_[kMax];
  uint64_t filter_[kFilterWords] = {};
};

// Makes read-only words writable at the first one, and read-only again at the end.
class WordWriter {
 public:
  explicit WordWriter(const ImportView& imports) : imports_(imports) {}
  ~WordWriter() {
    if (is_open_) imports_.SetWritable(false);
  }
  WordWriter(const WordWriter&) = delete;
  WordWriter& operator=(const WordWriter&) = delete;

  bool Replace(uintptr_t* word, uintptr_t old_value, uintptr_t value) {
    if (imports_.IsReadOnly(word) && !is_open_) {
      if (!imports_.SetWritable(true)) return false;
      is_open_ = true;
    }
    return __atomic_compare_exchange_n(word, &old_value, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }

 private:
  const ImportView& imports_;
  bool is_open_ = false;
};

enum class Holds : uint8_t { kHook, kReal, kNotBound, kNothing, kForeign };

struct Look {
  const WritableMaps* maps;
  PatchResult result;
  ImportView program = ImportView({});  // of the main program, which is looked at first

  Holds WhatIsIn(uintptr_t value, const HookedFunction& function, const ImportView& imports, uint32_t symbol,
                 WordKind kind) const {
    if (value == reinterpret_cast<uintptr_t>(function.hook)) return Holds::kHook;
    if (function.kind == HookedFunction::kWeak) return value == 0 ? Holds::kReal : Holds::kForeign;
    if (function.real == nullptr) return Holds::kNothing;
    if (value == reinterpret_cast<uintptr_t>(function.real) || g_code_on_the_way.Contains(value))
      return Holds::kReal;
    if (kind == WordKind::kCall && imports.Contains(value) && value != imports.DefinitionOf(symbol))
      return Holds::kNotBound;
    // A program that takes the address of a function has a stub that stands for it everywhere. It leads through the
    // program's own word.
    if (program.Contains(value)) return Holds::kNothing;
    return Holds::kForeign;
  }
};

bool IsLeftAlone(const dl_phdr_info& info, const ElfView& object) {
  if (object.Contains(reinterpret_cast<const void*>(&IsLeftAlone))) return true;
  // By their addresses, because a container may call them anything.
  const uintptr_t loader = getauxval(AT_BASE), vdso = getauxval(AT_SYSINFO_EHDR);
  if (loader != 0 && info.dlpi_addr == loader) return true;
  return vdso != 0 && object.Contains(reinterpret_cast<const void*>(vdso));
}

// The C library's own words are among those that are led to hooks: strdup, getline and fopen allocate for the program.
bool IsOtherAllocator(const ElfView& object) {
  if (AllocatorIsGlibc())
    return object.FindFunction("mallocx") != nullptr || object.FindFunction("tc_malloc") != nullptr;
  return object.Contains(reinterpret_cast<const void*>(g_real.malloc));
}

// A program that only hands over to a library, as the python of a shared libpython does, has no calls to be missed.
bool IsStub(const dl_phdr_info& info) {
  constexpr size_t kMostCode = 64 * 1024;
  size_t code = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_LOAD && (info.dlpi_phdr[i].p_flags & PF_X))
      code += info.dlpi_phdr[i].p_memsz;
  }
  return code < kMostCode;
}

int LookAt(dl_phdr_info* info, size_t, void* data) {
  auto* const look = static_cast<Look*>(data);
  const ElfView object(*info);
  const bool is_program =
      look->result.modules == 0 && (info->dlpi_name == nullptr || info->dlpi_name[0] == 0);
  if (IsLeftAlone(*info, object) || IsOtherAllocator(object)) return 0;
  const ImportView imports(*info);
  if (is_program) {
    look->program = imports;
    look->result.program_imports = IsStub(*info);
  }
  ++look->result.modules;
  const WantedSymbols wanted(object, imports);
  if (wanted.empty()) return 0;
  if (imports.has_read_only_pages() && look->maps->Contains(imports.read_only_begin())) {
    ++look->result.modules_in_work;
    return 0;
  }
  bool is_foreign = false, has_words = false, allocates = false;
  imports.ForEachWord([&](uint32_t symbol, uintptr_t* word, WordKind kind) {
    const int number = wanted.FunctionOf(symbol, imports);
    if (number < 0) return;
    const HookedFunction& function = GetHookedFunction(static_cast<size_t>(number));
    const Holds holds =
        look->WhatIsIn(__atomic_load_n(word, __ATOMIC_RELAXED), function, imports, symbol, kind);
    has_words |= holds != Holds::kNothing;
    if (function.kind != HookedFunction::kAllocator) return;
    allocates = true;
    is_foreign |= holds == Holds::kForeign && kind != WordKind::kVariable;
  });
  if (is_program) look->result.program_imports |= allocates;
  if (is_foreign) ++look->result.modules_left_out;
  if (!has_words) return 0;
  WordWriter writer(imports);
  imports.ForEachWord([&](uint32_t symbol, uintptr_t* word, WordKind kind) {
    const int number = wanted.FunctionOf(symbol, imports);
    if (number < 0) return;
    const HookedFunction& function = GetHookedFunction(static_cast<size_t>(number));
    uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    Holds holds = look->WhatIsIn(value, function, imports, symbol, kind);
    // Once more when somebody bound the word while we looked.
    for (int tries = 0; tries < 3 && holds != Holds::kHook; ++tries) {
      if (holds != Holds::kReal && holds != Holds::kNotBound) return;
      if (is_foreign && function.kind == HookedFunction::kAllocator) return;
      if (writer.Replace(word, value, reinterpret_cast<uintptr_t>(function.hook))) break;
      value = __atomic_load_n(word, __ATOMIC_RELAXED);
      holds = look->WhatIsIn(value, function, imports, symbol, kind);
    }
    ++look->result.words;
  });
  return 0;
}

int LeadModuleBack(dl_phdr_info* info, size_t, void* data) {
  const ElfView object(*info);
  if (IsLeftAlone(*info, object)) return 0;
  const ImportView imports(*info);
  const WantedSymbols wanted(object, imports);
  if (wanted.empty()) return 0;
  WordWriter writer(imports);
  imports.ForEachWord([&](uint32_t symbol, uintptr_t* word, WordKind) {
    const int number = wanted.FunctionOf(symbol, imports);
    if (number < 0) return;
    const HookedFunction& function = GetHookedFunction(static_cast<size_t>(number));
    const uintptr_t hook = reinterpret_cast<uintptr_t>(function.hook);
    if (function.kind == HookedFunction::kWeak || __atomic_load_n(word, __ATOMIC_RELAXED) != hook) return;
    if (writer.Replace(word, hook, reinterpret_cast<uintptr_t>(function.real)))
      ++*static_cast<uint32_t*>(data);
  });
  return 0;
}

int ReadAdds(dl_phdr_info* info, size_t, void* data) {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

}  // namespace

PatchResult LeadToHooks() {
  const int saved_errno = errno;
  FindHookedFunctions();
  const WritableMaps maps;
  Look look = {&maps};
  // Without the maps nobody can tell what the loader is at work on.
  if (maps.is_known()) WalkModules(LookAt, &look);
  errno = saved_errno;
  return look.result;
}

uint32_t LeadBack() {
  const int saved_errno = errno;
  uint32_t words = 0;
  WalkModules(LeadModuleBack, &words);
  errno = saved_errno;
  return words;
}

unsigned long long ModulesLoadedSoFar() {
  const int saved_errno = errno;
  unsigned long long adds = 0;
  WalkModules(ReadAdds, &adds);
  errno = saved_errno;
  return adds;
}

}  // namespace plateau
