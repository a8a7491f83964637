// The words of a loaded object that hold the addresses of functions it imports, and how to change one.
//
// A function that another allocator exports beside malloc (operator new, mallocx, mi_malloc) is reached
// through such a word in each object that calls it. Writing the address of a hook there puts the hook in
// front of that one function, without a symbol of ours that a program could take for the allocator's.
//
// Safety: inside a dl_iterate_phdr() callback, which keeps the object loaded. Allocates: never. Throws:
// never. errno: untouched. A table that cannot be read has no imports.
#ifndef PLATEAU_PRELOAD_BASE_IMPORT_SLOTS_H_
#define PLATEAU_PRELOAD_BASE_IMPORT_SLOTS_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace plateau {

struct ImportSlot {
  const char* name;
  uintptr_t* word;
  bool is_call;  // bound at the first call: until then it points into its own object
};

class ImportView {
 public:
  // `info` as dl_iterate_phdr() hands it over.
  explicit ImportView(const dl_phdr_info& info);

  // Calls visit(const ImportSlot&) for each imported name.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    ForEachOf(calls_, call_count_, visit);
    ForEachOf(relocations_, relocation_count_, visit);
  }
  bool Contains(uintptr_t address) const { return address - begin_ < end_ - begin_; }
  // Writes a word that may lie in pages which are read-only since the object was relocated. False when the
  // kernel does not let us.
  bool Write(uintptr_t* word, uintptr_t value) const;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kAbsolute = R_X86_64_64, kData = R_X86_64_GLOB_DAT, kCall = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
  static constexpr unsigned kAbsolute = R_AARCH64_ABS64, kData = R_AARCH64_GLOB_DAT,
                            kCall = R_AARCH64_JUMP_SLOT;
#endif

  template <typename Visit>
  void ForEachOf(const ElfW(Rela) * entries, size_t count, Visit& visit) const {
    for (size_t i = 0; i < count; ++i) {
      const unsigned type = static_cast<unsigned>(ELF64_R_TYPE(entries[i].r_info));
      if (type != kCall && type != kData && (type != kAbsolute || entries[i].r_addend != 0)) continue;
      const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(entries[i].r_info)];
      if (symbol.st_name == 0) continue;
      visit(ImportSlot{strings_ + symbol.st_name, reinterpret_cast<uintptr_t*>(base_ + entries[i].r_offset),
                       type == kCall});
    }
  }

  uintptr_t base_ = 0;
  uintptr_t begin_ = 0, end_ = 0;  // of everything that is loaded
  uintptr_t read_only_begin_ = 0, read_only_end_ = 0;
  const char* strings_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  size_t call_count_ = 0;
  const ElfW(Rela) * relocations_ = nullptr;
  size_t relocation_count_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_IMPORT_SLOTS_H_
