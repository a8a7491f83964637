#include "preload/cuda/loader_state.h"

#include <link.h>
#include <string.h>

#include "preload/base/elf_view.h"
#include "preload/base/module_walk.h"

// First and last byte of our own object, from the linker.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace plateau::cuda {

uint64_t UnloadCount() {
  uint64_t unloads = 0;
  WalkModules(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<uint64_t*>(data) = info->dlpi_subs;
        return 1;
      },
      &unloads);
  return unloads;
}

bool IsOurs(const void* address) { return address >= __ehdr_start && address < _end; }

bool IsInLibrary(const void* address, const char* base_name_prefix) {
  struct Question {
    const void* address;
    const char* prefix;
    bool answer;
  } question{address, base_name_prefix, false};
  WalkModules(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* asked = static_cast<Question*>(data);
        const ElfView object(*info);
        if (!object.Contains(asked->address)) return 0;
        asked->answer = strncmp(object.base_name(), asked->prefix, strlen(asked->prefix)) == 0;
        return 1;
      },
      &question);
  return question.answer;
}

}  // namespace plateau::cuda
