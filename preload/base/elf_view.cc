#include "preload/base/elf_view.h"

#include <string.h>

namespace plateau {
namespace {

constexpr uint16_t kHiddenVersion = 0x8000;

}  // namespace

ElfView::ElfView(const dl_phdr_info& info)
    : base_(info.dlpi_addr), headers_(info.dlpi_phdr), header_count_(info.dlpi_phnum) {
  if (info.dlpi_name != nullptr) {
    const char* slash = strrchr(info.dlpi_name, '/');
    base_name_ = slash != nullptr ? slash + 1 : info.dlpi_name;
  }
  for (uint16_t i = 0; i < header_count_; ++i) {
    if (headers_[i].p_type == PT_DYNAMIC) {
      dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(base_ + headers_[i].p_vaddr);
    }
  }
  if (dynamic_ == nullptr) return;
  // The loader relocates these pointers in place, except in the vDSO, where they stay relative to the base.
  const auto relocated = [this](ElfW(Addr) value) { return value < base_ ? base_ + value : value; };
  ElfW(Xword) soname_offset = 0;
  bool has_soname = false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t pointer = relocated(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(pointer);
        break;
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const uint32_t*>(pointer);
        break;
      case DT_HASH:
        sysv_hash_ = reinterpret_cast<const uint32_t*>(pointer);
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const uint16_t*>(pointer);
        break;
      case DT_SONAME:
        soname_offset = entry->d_un.d_val;
        has_soname = true;
        break;
      default:
        break;
    }
  }
  if (has_soname && strings_ != nullptr) soname_ = strings_ + soname_offset;
}

bool ElfView::IsDefault(const ElfW(Sym) * symbol) const {
  return versions_ == nullptr || (versions_[symbol - symbols_] & kHiddenVersion) == 0;
}

bool ElfView::Matches(const ElfW(Sym) * symbol, const char* name) const {
  const unsigned type = symbol->st_info & 0xf;
  const unsigned binding = symbol->st_info >> 4;
  return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && (type == STT_FUNC || type == STT_NOTYPE) &&
         (binding == STB_GLOBAL || binding == STB_WEAK) && strcmp(strings_ + symbol->st_name, name) == 0;
}

const ElfW(Sym) * ElfView::FindByGnuHash(const char* name) const {
  const uint32_t bucket_count = gnu_hash_[0];
  const uint32_t first_symbol = gnu_hash_[1];
  const uint32_t bloom_words = gnu_hash_[2];
  const uint32_t bloom_shift = gnu_hash_[3];
  if (bucket_count == 0 || bloom_words == 0) return nullptr;
  const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(gnu_hash_ + 4);
  const auto* buckets = reinterpret_cast<const uint32_t*>(bloom + bloom_words);
  const uint32_t* chains = buckets + bucket_count;

  constexpr uint32_t kWordBits = sizeof(ElfW(Addr)) * 8;
  const uint32_t hash = GnuHash(name);
  const ElfW(Addr) word = bloom[(hash / kWordBits) % bloom_words];
  const ElfW(Addr) mask =
      (ElfW(Addr){1} << (hash % kWordBits)) | (ElfW(Addr){1} << ((hash >> bloom_shift) % kWordBits));
  if ((word & mask) != mask) return nullptr;
  const uint32_t start = buckets[hash % bucket_count];
  if (start < first_symbol) return nullptr;
  const ElfW(Sym)* fallback = nullptr;
  for (uint32_t index = start;; ++index) {
    const uint32_t chained = chains[index - first_symbol];
    const ElfW(Sym)* symbol = symbols_ + index;
    if ((chained | 1) == (hash | 1) && Matches(symbol, name)) {
      if (IsDefault(symbol)) return symbol;
      fallback = symbol;
    }
    if ((chained & 1) != 0) return fallback;
  }
}

const ElfW(Sym) * ElfView::FindBySysvHash(const char* name) const {
  const uint32_t bucket_count = sysv_hash_[0];
  const uint32_t* buckets = sysv_hash_ + 2;
  const uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  const ElfW(Sym)* fallback = nullptr;
  for (uint32_t index = buckets[SysvHash(name) % bucket_count]; index != 0; index = chains[index]) {
    const ElfW(Sym)* symbol = symbols_ + index;
    if (!Matches(symbol, name)) continue;
    if (IsDefault(symbol)) return symbol;
    fallback = symbol;
  }
  return fallback;
}

const ElfW(Sym) * ElfView::FindSymbol(const char* name) const {
  if (symbols_ == nullptr || strings_ == nullptr) return nullptr;
  if (gnu_hash_ != nullptr) return FindByGnuHash(name);
  return sysv_hash_ != nullptr ? FindBySysvHash(name) : nullptr;
}

uint32_t ElfView::FindSymbolNumber(const char* name) const {
  if (symbols_ == nullptr || strings_ == nullptr || gnu_hash_ == nullptr || gnu_hash_[0] == 0) return 0;
  const uint32_t first_symbol = gnu_hash_[1];
  const uint32_t* buckets = gnu_hash_ + 4 + gnu_hash_[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chains = buckets + gnu_hash_[0];
  const uint32_t hash = GnuHash(name);
  uint32_t index = buckets[hash % gnu_hash_[0]];
  if (index < first_symbol) return 0;
  for (;; ++index) {
    const uint32_t chained = chains[index - first_symbol];
    if ((chained | 1) == (hash | 1) && strcmp(strings_ + symbols_[index].st_name, name) == 0) return index;
    if ((chained & 1) != 0) return 0;
  }
}

void* ElfView::FindFunction(const char* name) const {
  const ElfW(Sym)* symbol = FindSymbol(name);
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(base_ + symbol->st_value);
}

void* ElfView::FindData(const char* name, size_t* bytes) const {
  const uint32_t number = FindSymbolNumber(name);
  if (number == 0 || symbols_[number].st_shndx == SHN_UNDEF) return nullptr;
  *bytes = symbols_[number].st_size;
  return reinterpret_cast<void*>(base_ + symbols_[number].st_value);
}

bool ElfView::Contains(const void* address) const {
  const auto value = reinterpret_cast<uintptr_t>(address);
  for (uint16_t i = 0; i < header_count_; ++i) {
    if (headers_[i].p_type != PT_LOAD) continue;
    const uintptr_t start = base_ + headers_[i].p_vaddr;
    if (value >= start && value < start + headers_[i].p_memsz) return true;
  }
  return false;
}

bool ElfView::IsNamed(const char* name) const {
  if (soname_ != nullptr && strcmp(soname_, name) == 0) return true;
  const char* slash = strrchr(name, '/');
  return strcmp(base_name_, slash != nullptr ? slash + 1 : name) == 0;
}

}  // namespace plateau
