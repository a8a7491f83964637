#include "preload/torch/real_symbol.h"

#include <link.h>
#include <string.h>

#include <type_traits>

#include "preload/torch/elf_view.h"

namespace plateau {
namespace {

static_assert(std::is_trivially_destructible_v<RealSymbol>);

// Objects a library needs, directly or not, that are looked at before giving up on rule 1. PyTorch's largest
// graph has about 120.
constexpr int kMaxNeeded = 384;

template <typename Visit>
void ForEachObject(Visit& visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) { return (*static_cast<Visit*>(data))(*info) ? 0 : 1; },
      &visit);
}

struct Search {
  const char* name;
  const void* return_address;
  void* found = nullptr;
  const char* needed[kMaxNeeded];
  int needed_count = 0;

  void AddNeeded(const ElfView& object) {
    object.ForEachNeeded([this](const char* library) {
      for (int i = 0; i < needed_count; ++i) {
        if (strcmp(needed[i], library) == 0) return true;
      }
      if (needed_count < kMaxNeeded) needed[needed_count++] = library;
      return true;
    });
  }

  void LookIn(const ElfView& object) {
    if (!object.Contains(reinterpret_cast<const void*>(&FindRealSymbol))) found = object.FindFunction(name);
  }

  // Runs inside one dl_iterate_phdr() call, whose recursive lock keeps every object loaded until we are done.
  void Run() {
    auto find_caller = [this](const dl_phdr_info& info) {
      const ElfView object(info);
      if (!object.Contains(return_address)) return true;
      LookIn(object);
      AddNeeded(object);
      return false;
    };
    if (return_address != nullptr) ForEachObject(find_caller);
    for (int i = 0; found == nullptr && i < needed_count; ++i) {
      auto find_needed = [this, i](const dl_phdr_info& info) {
        const ElfView object(info);
        if (!object.IsNamed(needed[i])) return true;
        LookIn(object);
        AddNeeded(object);
        return false;
      };
      ForEachObject(find_needed);
    }
    auto find_anywhere = [this](const dl_phdr_info& info) {
      LookIn(ElfView(info));
      return found == nullptr;
    };
    if (found == nullptr) ForEachObject(find_anywhere);
  }
};

}  // namespace

void* FindRealSymbol(const char* name, const void* return_address) {
  Search search{name, return_address};
  auto once = [&search](const dl_phdr_info&) {
    search.Run();
    return false;
  };
  ForEachObject(once);
  return search.found;
}

void* FindInLibrary(const char* base_name_prefix, const char* name) {
  void* found = nullptr;
  const size_t prefix_length = strlen(base_name_prefix);
  auto visit = [&](const dl_phdr_info& info) {
    const ElfView object(info);
    if (strncmp(object.base_name(), base_name_prefix, prefix_length) == 0) found = object.FindFunction(name);
    return found == nullptr;
  };
  ForEachObject(visit);
  return found;
}

void* RealSymbol::Search(const void* return_address) {
  void* found = FindRealSymbol(name_, return_address);
  if (found == nullptr) found = kMissing();
  found_.store(found, std::memory_order_release);
  return found;
}

}  // namespace plateau
