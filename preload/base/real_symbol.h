// Finds the function that a caller would have reached had we not defined the same name.
//
// dlsym(RTLD_NEXT, ...) cannot answer that: Python loads libtorch and libcudart RTLD_LOCAL, so they are in
// nobody's "next". And when two versions of a library are loaded, each caller must get its own. The search
// goes
//   1. the object that holds the return address, then its DT_NEEDED libraries breadth first,
//   2. every loaded object in load order (where dlsym(RTLD_NEXT) looks, and beyond),
// and takes only definitions from objects that come after the one this code is linked into: what comes before
// (another preloaded library that wraps the same name) has been called already and would call us again.
//
//   extern "C" void f(void* p) {
//     static constinit RealSymbol real("f");
//     if (auto* next = real.Get<void(void*)>(__builtin_return_address(0))) next(p);
//   }
//
// A library that was opened while the program ran (g_opened_late) comes after all: there, any definition but its own
// counts, the first in the order of loading. That is what the program's calls are bound to; dlsym(RTLD_NEXT) would pass
// over a preloaded allocator, and dlsym(RTLD_DEFAULT) may answer with a PLT entry of the program that leads back to us.
//
// Allocates: never. Throws: never. errno: untouched. Locks: only the loader's list lock, which is never held
// while foreign code runs; the loader's big lock (held during constructors) is not taken, so hooks may search
// while torch holds its allocator mutex. On failure the answer is null and the hook does without.
#ifndef PLATEAU_PRELOAD_BASE_REAL_SYMBOL_H_
#define PLATEAU_PRELOAD_BASE_REAL_SYMBOL_H_

#include <atomic>
#include <cstdint>

namespace plateau {

// This code is in a library that stands in front of no function by its place in the order of loading. Set before
// anything is looked up.
extern bool g_opened_late;

// The code of whoever attached: words of the program that lead there lead on to the real function.
struct CodeOnTheWay {
  uintptr_t begin, end;
  bool Contains(uintptr_t address) const { return address >= begin && address < end; }
};
extern CodeOnTheWay g_code_on_the_way;

// The search itself, a few microseconds to a millisecond depending on how much is loaded. Callers cache.
void* FindRealSymbol(const char* name, const void* return_address);

// The first definition of `name` in an object whose file name starts with `base_name_prefix` ("libcuda.so"),
// or null.
void* FindInLibrary(const char* base_name_prefix, const char* name);

// One name with one real definition in the process, found at its first use and kept. A miss is kept too. The
// library that defines it must not be unloaded (libtorch and libc10 never are).
class RealSymbol {
 public:
  constexpr explicit RealSymbol(const char* name) : name_(name) {}

  template <typename Function>
  Function* Get(const void* return_address) {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) found = Search(return_address);
    return found == kMissing() ? nullptr : reinterpret_cast<Function*>(found);
  }

  // The same without a search: null also when it was not asked for yet.
  template <typename Function>
  Function* Known() const {
    void* found = found_.load(std::memory_order_relaxed);
    return found == kMissing() ? nullptr : reinterpret_cast<Function*>(found);
  }

 private:
  static void* kMissing() { return reinterpret_cast<void*>(-1); }
  void* Search(const void* return_address);

  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_REAL_SYMBOL_H_
