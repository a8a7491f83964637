#include "preload/python/module_symbols.h"

#include <elf.h>

#include <cstring>

#include "preload/base/elf_view.h"

namespace plateau::python {

ModuleSymbols::ModuleSymbols(const dl_phdr_info& info) : bias_(info.dlpi_addr), begin_(UINTPTR_MAX) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uintptr_t start = bias_ + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    if (header.p_type != PT_LOAD) continue;
    if (start < begin_) begin_ = start;
    if (start + header.p_memsz > end_) end_ = start + header.p_memsz;
  }
  if (dynamic == nullptr) return;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // The loader has made these absolute, except in the vDSO, which has nothing for us.
    const uintptr_t value = dynamic->d_un.d_ptr;
    if (dynamic->d_tag != DT_SYMTAB && dynamic->d_tag != DT_STRTAB && dynamic->d_tag != DT_GNU_HASH &&
        dynamic->d_tag != DT_HASH) {
      continue;
    }
    if (value < begin_ || value >= end_) continue;
    if (dynamic->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(value);
    if (dynamic->d_tag == DT_STRTAB) strings_ = reinterpret_cast<const char*>(value);
    if (dynamic->d_tag == DT_GNU_HASH) gnu_hash_ = reinterpret_cast<const uint32_t*>(value);
    if (dynamic->d_tag == DT_HASH) sysv_hash_ = reinterpret_cast<const uint32_t*>(value);
  }
}

bool ModuleSymbols::Matches(uint32_t index, const char* name) const {
  const ElfW(Sym)& symbol = symbols_[index];
  return symbol.st_shndx != SHN_UNDEF && strcmp(strings_ + symbol.st_name, name) == 0;
}

ModuleSymbol ModuleSymbols::Find(const char* name) const {
  if (symbols_ == nullptr || strings_ == nullptr) return {};
  uint32_t found = 0;
  if (gnu_hash_ != nullptr) {
    const uint32_t bucket_count = gnu_hash_[0], first = gnu_hash_[1], bloom_words = gnu_hash_[2];
    if (bucket_count == 0) return {};
    const uint32_t* buckets = gnu_hash_ + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = buckets + bucket_count;
    const uint32_t hash = GnuHash(name);
    for (uint32_t i = buckets[hash % bucket_count]; i >= first && found == 0; ++i) {
      const uint32_t entry = chain[i - first];
      if ((entry | 1) == (hash | 1) && Matches(i, name)) found = i;
      if ((entry & 1) != 0) break;
    }
  } else if (sysv_hash_ != nullptr) {
    const uint32_t bucket_count = sysv_hash_[0];
    if (bucket_count == 0) return {};
    const uint32_t* chain = sysv_hash_ + 2 + bucket_count;
    for (uint32_t i = sysv_hash_[2 + SysvHash(name) % bucket_count]; i != 0 && found == 0; i = chain[i]) {
      if (Matches(i, name)) found = i;
    }
  }
  if (found == 0) return {};
  return {reinterpret_cast<void*>(bias_ + symbols_[found].st_value), symbols_[found].st_size};
}

}  // namespace plateau::python
