#include "analyzer/symbols/symbol_table.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <tuple>

namespace plateau::symbols {
namespace {

// Which of two names of the same code is preferred.
uint8_t BindingRank(unsigned char info) {
  switch (GELF_ST_BIND(info)) {
    case STB_GLOBAL:
      return 3;
    case STB_WEAK:
      return 2;
    case STB_LOCAL:
      return 1;
    default:
      return 0;
  }
}

bool IsCodeOrData(const char* name, const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return name != nullptr && name[0] != '\0' && symbol.st_shndx != SHN_UNDEF && type != STT_SECTION &&
         type != STT_FILE && type != STT_TLS;
}

}  // namespace

void SymbolTable::Sorted::Sort() {
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, a.index) < std::tie(b.begin, b.index);
  });
  uint64_t reach = 0;
  for (Symbol& symbol : symbols_) symbol.reach = reach = std::max(reach, symbol.end);
}

const SymbolTable::Symbol* SymbolTable::Sorted::Before(uint64_t address) const {
  const auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t value, const Symbol& symbol) { return value < symbol.begin; });
  return after == symbols_.begin() ? nullptr : &*std::prev(after);
}

const SymbolTable::Symbol* SymbolTable::Sorted::Containing(uint64_t address,
                                                           std::vector<const Symbol*>* scratch) const {
  const Symbol* symbol = Before(address);
  if (symbol == nullptr) return nullptr;
  scratch->clear();
  for (; symbol->reach > address; --symbol) {
    if (symbol->end > address) scratch->push_back(symbol);
    if (symbol == symbols_.data()) break;
  }
  std::sort(scratch->begin(), scratch->end(),
            [](const Symbol* a, const Symbol* b) { return a->index < b->index; });
  const Symbol* best = nullptr;
  for (const Symbol* next : *scratch) {
    if (best == nullptr || next->begin > best->begin || next->binding > best->binding ||
        (next->begin == best->begin && next->binding == best->binding && next->end < best->end)) {
      best = next;
    }
  }
  return best;
}

void SymbolTable::Read() {
  is_read_ = true;
  const int count = dwfl_module_getsymtab(module_);
  const int first_global = dwfl_module_getsymtab_first_global(module_);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    const char* name = dwfl_module_getsym_info(module_, i, &symbol, &begin, nullptr, nullptr, nullptr);
    if (!IsCodeOrData(name, symbol) || begin + symbol.st_size < begin) continue;
    const Symbol found{begin, begin + symbol.st_size, 0, i, BindingRank(symbol.st_info)};
    if (symbol.st_size == 0) {
      labels_.Add(found);
    } else if (i < first_global) {
      locals_.Add(found);
    } else {
      globals_.Add(found);
    }
  }
  for (Sorted* symbols : {&globals_, &locals_, &labels_}) symbols->Sort();
}

std::optional<SymbolTable::Found> SymbolTable::At(uint64_t address) {
  if (!is_read_) Read();
  for (const Sorted* symbols : {&globals_, &locals_}) {
    if (const Symbol* symbol = symbols->Containing(address, &scratch_)) return Take(*symbol, address);
  }
  const Symbol* label = labels_.Before(address);
  if (label == nullptr) return std::nullopt;
  for (const Sorted* symbols : {&globals_, &locals_}) {
    const Symbol* neighbour = symbols->Before(address);
    if (neighbour != nullptr && neighbour->reach > label->begin) return std::nullopt;
  }
  return IsInSectionOf(*label, address) ? Take(*label, address) : std::nullopt;
}

std::optional<SymbolTable::Found> SymbolTable::Take(const Symbol& symbol, uint64_t address) {
  GElf_Sym info;
  GElf_Addr begin = 0;
  const char* name = dwfl_module_getsym_info(module_, symbol.index, &info, &begin, nullptr, nullptr, nullptr);
  if (name == nullptr) return std::nullopt;
  return Found{name, address - symbol.begin, info.st_size != 0};
}

bool SymbolTable::IsInSectionOf(const Symbol& symbol, uint64_t address) {
  GElf_Sym info;
  GElf_Addr begin = 0;
  GElf_Word section = SHN_UNDEF;
  dwfl_module_getsym_info(module_, symbol.index, &info, &begin, &section, nullptr, nullptr);
  if (section >= SHN_LORESERVE) return begin == address;
  Dwarf_Addr relative = address, bias = 0;
  Elf_Scn* const around = dwfl_module_address_section(module_, &relative, &bias);
  return around != nullptr && elf_ndxscn(around) == section;
}

}  // namespace plateau::symbols
