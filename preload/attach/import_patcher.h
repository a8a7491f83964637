// Leads the calls of all loaded modules to our hooks, by their import words, and back.
//
//   module's call --> PLT or call *word --> word: [real function]  becomes  [hook]
//
// A word is written only when it holds what is expected: the real function, the injector's blob, or, in a word that is
// bound at its first call, an address inside its own module that is not the module's own function. Anything
// else belongs to another tool, or to the loader, which is relocating the module at this moment; such a module is left
// alone as a whole where words of the allocator disagree, because its malloc and its free must go the same way.
//
// Not touched: the loader itself, the vDSO, this library, allocators (their calls of each other are their own business).
//
// Under the hook guard, one thread at a time, inside dl_iterate_phdr(), whose lock keeps modules loaded. Allocates: never
// from the traced heap. Throws: never. errno: untouched.
#ifndef PLATEAU_PRELOAD_ATTACH_IMPORT_PATCHER_H_
#define PLATEAU_PRELOAD_ATTACH_IMPORT_PATCHER_H_

#include <cstdint>

namespace plateau {

struct PatchResult {
  uint32_t words = 0;  // that lead to hooks now
  uint32_t modules = 0;
  uint32_t modules_left_out = 0;  // something unexpected was in their words
  uint32_t modules_in_work = 0;   // the loader has not finished with them: look again
  bool program_imports =
      false;  // the main program imports functions of the allocator, or has hardly any code
};

PatchResult LeadToHooks();
// Puts the real functions back wherever a hook of ours is. Returns how many words.
uint32_t LeadBack();

// How many modules have been loaded in this process so far.
unsigned long long ModulesLoadedSoFar();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_ATTACH_IMPORT_PATCHER_H_
