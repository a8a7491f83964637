// Reads the dynamic symbol table of a loaded object straight from memory.
//
// The shim asks "which function would this caller have reached without us?" at moments when dlsym() and
// dlopen() must not be called: under torch's allocator mutex, inside dlsym itself, before constructors ran.
// Everything here only reads the tables the loader keeps mapped.
//
// Safety: valid while the object stays loaded; ask inside a dl_iterate_phdr() callback, which keeps it
// loaded. Allocates: never. Locks: never. Throws: never. errno: untouched. On a table it cannot read, a view
// finds nothing.
#ifndef PLATEAU_PRELOAD_BASE_ELF_VIEW_H_
#define PLATEAU_PRELOAD_BASE_ELF_VIEW_H_

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

namespace plateau {

// The hash of a DT_GNU_HASH table.
inline uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

// The hash of a DT_HASH table.
inline uint32_t SysvHash(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<uint8_t>(*name);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

class ElfView {
 public:
  // `info` as dl_iterate_phdr() hands it over.
  explicit ElfView(const dl_phdr_info& info);

  // Address of the function `name`, its default version if there are several; null when it is not defined
  // here or is chosen at run time (IFUNC).
  void* FindFunction(const char* name) const;

  // Address and size of the variable `name`; null when it is not defined here.
  void* FindData(const char* name, size_t* bytes) const;

  // The number of the symbol of this name in the GNU hash table, 0 when there is none. The table also has functions of
  // others whose address the program takes: those that the program's own stub stands for.
  uint32_t FindSymbolNumber(const char* name) const;

  // True if `address` lies in one of the loaded segments.
  bool Contains(const void* address) const;

  // True if a DT_NEEDED entry `name` of some other object means this one: by its SONAME, else by its file
  // name.
  bool IsNamed(const char* name) const;

  // The file name without its folder; empty for the main program.
  const char* base_name() const { return base_name_; }

  // Calls visit(const char* needed_name) for each DT_NEEDED entry until it returns false.
  template <typename Visit>
  void ForEachNeeded(Visit&& visit) const {
    if (dynamic_ == nullptr || strings_ == nullptr) return;
    for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && !visit(strings_ + entry->d_un.d_val)) return;
    }
  }

 private:
  const ElfW(Sym) * FindSymbol(const char* name) const;
  const ElfW(Sym) * FindByGnuHash(const char* name) const;
  const ElfW(Sym) * FindBySysvHash(const char* name) const;
  bool IsDefault(const ElfW(Sym) * symbol) const;
  bool Matches(const ElfW(Sym) * symbol, const char* name) const;

  uintptr_t base_ = 0;
  const ElfW(Phdr) * headers_ = nullptr;
  uint16_t header_count_ = 0;
  const char* base_name_ = "";
  const char* soname_ = nullptr;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const char* strings_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const uint16_t* versions_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* sysv_hash_ = nullptr;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_ELF_VIEW_H_
