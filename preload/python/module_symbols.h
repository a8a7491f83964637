// The dynamic symbols of one loaded module, read from memory.
//
// dlsym() would take the loader's lock, sees nothing of a module opened with RTLD_LOCAL, and may be
// somebody's wrapper. Valid while the module stays loaded. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_PYTHON_MODULE_SYMBOLS_H_
#define PLATEAU_PRELOAD_PYTHON_MODULE_SYMBOLS_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace plateau::python {

struct ModuleSymbol {
  void* address;  // null: not defined here
  size_t bytes;
};

class ModuleSymbols {
 public:
  ModuleSymbols() = default;
  // `info` as dl_iterate_phdr() gives it.
  explicit ModuleSymbols(const dl_phdr_info& info);

  ModuleSymbol Find(const char* name) const;

  uintptr_t begin() const { return begin_; }
  uintptr_t end() const { return end_; }

 private:
  bool Matches(uint32_t index, const char* name) const;

  uintptr_t bias_ = 0;
  uintptr_t begin_ = 0;
  uintptr_t end_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* sysv_hash_ = nullptr;
};

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_MODULE_SYMBOLS_H_
