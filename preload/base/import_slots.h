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

// kCall is bound at the first call, kAddress when the object is loaded. kVariable is an initialised pointer of the program,
// which may have been given another value since.
enum class WordKind : uint8_t { kCall, kAddress, kVariable };

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
  // The same with the number of the symbol in place of its name: visit(uint32_t symbol, uintptr_t* word, WordKind kind).
  // Reads no name, which takes most of the time.
  template <typename Visit>
  void ForEachWord(Visit&& visit) const {
    ForEachWordOf(calls_, call_count_, visit);
    ForEachWordOf(relocations_, relocation_count_, visit);
  }
  const char* NameOf(uint32_t symbol) const { return strings_ + symbols_[symbol].st_name; }
  // The object's own definition of the symbol, 0 when it has none.
  uintptr_t DefinitionOf(uint32_t symbol) const {
    return symbols_[symbol].st_shndx == SHN_UNDEF ? 0 : base_ + symbols_[symbol].st_value;
  }
  // Symbols with lower numbers are those that other objects define; all there are when the tables do not say.
  uint32_t first_defined_symbol() const { return first_defined_symbol_; }

  bool Contains(uintptr_t address) const { return address - begin_ < end_ - begin_; }
  // Pages that the loader makes read-only when the object is relocated, its last act on it; 0 when there are none.
  uintptr_t read_only_begin() const { return read_only_begin_; }
  bool has_read_only_pages() const { return read_only_begin_ < read_only_end_; }
  bool IsReadOnly(const uintptr_t* word) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(word);
    return address >= read_only_begin_ && address < read_only_end_;
  }
  // Makes these pages writable, and read-only again. False when the kernel does not let us.
  bool SetWritable(bool is_writable) const;
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
    auto named = [&](uint32_t symbol, uintptr_t* word, WordKind kind) {
      if (symbols_[symbol].st_name != 0) visit(ImportSlot{NameOf(symbol), word, kind == WordKind::kCall});
    };
    ForEachWordOf(entries, count, named);
  }
  template <typename Visit>
  void ForEachWordOf(const ElfW(Rela) * entries, size_t count, Visit& visit) const {
    for (size_t i = 0; i < count; ++i) {
      const unsigned type = static_cast<unsigned>(ELF64_R_TYPE(entries[i].r_info));
      if (type != kCall && type != kData && (type != kAbsolute || entries[i].r_addend != 0)) continue;
      visit(static_cast<uint32_t>(ELF64_R_SYM(entries[i].r_info)),
            reinterpret_cast<uintptr_t*>(base_ + entries[i].r_offset),
            type == kCall   ? WordKind::kCall
            : type == kData ? WordKind::kAddress
                            : WordKind::kVariable);
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
  uint32_t first_defined_symbol_ = UINT32_MAX;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_IMPORT_SLOTS_H_
