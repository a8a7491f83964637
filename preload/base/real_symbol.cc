#include "preload/base/real_symbol.h"

#include <link.h>
#include <string.h>

#include <type_traits>

#include "preload/base/elf_view.h"
#include "preload/base/module_walk.h"

namespace plateau {

constinit bool g_opened_late = false;
constinit CodeOnTheWay g_code_on_the_way = {};

namespace {

static_assert(std::is_trivially_destructible_v<RealSymbol>);

// Objects a library needs, directly or not, that are looked at before giving up on rule 1. PyTorch's largest
// graph has about 120.
constexpr int kMaxNeeded = 384;

template <typename Visit>
void ForEachObject(Visit& visit) {
  WalkModules(
      [](dl_phdr_info* info, size_t, void* data) { return (*static_cast<Visit*>(data))(*info) ? 0 : 1; },
      &visit);
}

struct Search {
  const char* name;
  const void* return_address;
  void* found = nullptr;
  const char* needed[kMaxNeeded];
  int needed_count = 0;

  // Visits the loaded objects in order, telling for each whether it comes after ours.
  template <typename Visit>
  void ForEachPlaced(Visit&& visit) {
    bool is_after_us = g_opened_late;
    auto placed = [&](const dl_phdr_info& info) {
      const ElfView object(info);
      const bool is_ours = object.Contains(reinterpret_cast<const void*>(&FindRealSymbol));
      const bool go_on = visit(object, is_after_us && !is_ours);
      is_after_us |= is_ours;
      return go_on;
    };
    ForEachObject(placed);
  }

  void AddNeeded(const ElfView& object) {
    object.ForEachNeeded([this](const char* library) {
      for (int i = 0; i < needed_count; ++i) {
        if (strcmp(needed[i], library) == 0) return true;
      }
      if (needed_count < kMaxNeeded) needed[needed_count++] = library;
      return true;
    });
  }

  void LookIn(const ElfView& object, bool is_after_us) {
    if (is_after_us) found = object.FindFunction(name);
  }

  // Runs inside one dl_iterate_phdr() call, whose recursive lock keeps every object loaded until we are done.
  void Run() {
    if (return_address != nullptr) {
      ForEachPlaced([this](const ElfView& object, bool is_after_us) {
        if (!object.Contains(return_address)) return true;
        LookIn(object, is_after_us);
        AddNeeded(object);
        return false;
      });
    }
    for (int i = 0; found == nullptr && i < needed_count; ++i) {
      ForEachPlaced([this, i](const ElfView& object, bool is_after_us) {
        if (!object.IsNamed(needed[i])) return true;
        LookIn(object, is_after_us);
        AddNeeded(object);
        return false;
      });
    }
    if (found != nullptr) return;
    ForEachPlaced([this](const ElfView& object, bool is_after_us) {
      LookIn(object, is_after_us);
      return found == nullptr;
    });
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
