// The functions in front of which an attached library stands, by name: the hook, and what is behind it.
//
// A library that is opened late cannot take names from the loader any more. It writes the addresses of its hooks into the
// import words of all modules instead (import_patcher.h), and needs to know for each name what such a word holds now.
#ifndef PLATEAU_PRELOAD_ATTACH_HOOKED_FUNCTIONS_H_
#define PLATEAU_PRELOAD_ATTACH_HOOKED_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace plateau {

struct HookedFunction {
  const char* name;
  void (*hook)();  // an address only: each has a type of its own
  // kWeak: nobody but us defines it, and programs ask whether it is there (plateau/mark.h). Its words hold 0, and keep our
  // function after a detach, because a program may have asked and not called yet.
  enum Kind : uint8_t { kPlain, kAllocator, kWeak } kind;
  void* real;  // the first definition in the order of loading; null while there is none
};

inline constexpr size_t kMaxHookedFunctions = 80;

// Finds what is behind the names that have nothing behind them yet. Called before a look at the modules.
void FindHookedFunctions();

// The number of the function with this name, -1 when it is not hooked.
int HookedFunctionNamed(const char* name);
size_t HookedFunctionCount();
const HookedFunction& GetHookedFunction(size_t number);

// True once after the program has opened a library.
bool TookModuleNews();

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_ATTACH_HOOKED_FUNCTIONS_H_
