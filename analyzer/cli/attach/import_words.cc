#include "analyzer/cli/attach/import_words.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace plateau::cli {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{256} << 20;

#if defined(__x86_64__)
constexpr uint32_t kData = R_X86_64_GLOB_DAT, kCall = R_X86_64_JUMP_SLOT;
#else
constexpr uint32_t kData = R_AARCH64_GLOB_DAT, kCall = R_AARCH64_JUMP_SLOT;
#endif

// Whole tables at once: a name at a time takes a second for a program of torch.
template <typename T>
std::vector<T> Table(const TargetProcess& target, uint64_t address, uint64_t bytes) {
  std::vector<T> table;
  if (address == 0 || bytes > kMaxTableBytes) return table;
  table.resize(bytes / sizeof(T));
  if (!target.Read(address, table.data(), table.size() * sizeof(T))) table.clear();
  return table;
}

struct Relocations {
  std::vector<Elf64_Rela> entries;
  uint32_t last_symbol = 0;
};

Relocations ReadRelocations(const TargetProcess& target, const TargetModule& module) {
  Relocations all;
  const uint64_t relative =
      std::min(module.relative_count, module.relocation_bytes / sizeof(Elf64_Rela)) * sizeof(Elf64_Rela);
  const auto add = [&](const std::vector<Elf64_Rela>& table) {
    for (const Elf64_Rela& entry : table) {
      const uint32_t type = ELF64_R_TYPE(entry.r_info),
                     symbol = static_cast<uint32_t>(ELF64_R_SYM(entry.r_info));
      if ((type != kData && type != kCall) || symbol == 0) continue;
      all.entries.push_back(entry);
      all.last_symbol = std::max(all.last_symbol, symbol);
    }
  };
  add(Table<Elf64_Rela>(target, module.relocations == 0 ? 0 : module.relocations + relative,
                        module.relocation_bytes - relative));
  add(Table<Elf64_Rela>(target, module.calls, module.call_bytes));
  return all;
}

}  // namespace

std::vector<ImportWord> FindImportWords(const TargetProcess& target, const TargetModules& modules,
                                        const std::vector<std::string>& names,
                                        const std::vector<uint64_t>& real, const TargetModule* skipped,
                                        AddressRange blob) {
  std::vector<ImportWord> words;
  const TargetModule& program = modules.all().front();
  for (const TargetModule& module : modules.all()) {
    if (modules.IsLoader(module) || modules.IsVdso(module) || &module == modules.libc() || &module == skipped)
      continue;
    if (module.symbols == 0 || module.strings == 0) continue;
    const Relocations relocations = ReadRelocations(target, module);
    if (relocations.entries.empty()) continue;
    const auto symbols =
        Table<Elf64_Sym>(target, module.symbols, (uint64_t{relocations.last_symbol} + 1) * sizeof(Elf64_Sym));
    const auto strings = Table<char>(target, module.strings, module.string_bytes);
    if (symbols.empty() || strings.empty()) continue;
    std::unordered_map<uint32_t, uint32_t> functions;
    for (uint32_t i = 1; i < symbols.size(); ++i) {
      if (symbols[i].st_name >= strings.size()) continue;
      const char* name = strings.data() + symbols[i].st_name;
      const size_t room = strings.size() - symbols[i].st_name;
      for (uint32_t k = 0; k < names.size(); ++k) {
        if (real[k] != 0 && names[k].size() < room &&
            memcmp(name, names[k].c_str(), names[k].size() + 1) == 0)
          functions[i] = k;
      }
    }
    const size_t before = words.size();
    bool is_foreign = false;
    for (const Elf64_Rela& entry : relocations.entries) {
      const uint32_t symbol = static_cast<uint32_t>(ELF64_R_SYM(entry.r_info));
      const auto known = functions.find(symbol);
      if (known == functions.end()) continue;
      const uint64_t at = module.base + entry.r_offset;
      const auto held = target.Get<uint64_t>(at);
      if (!held) continue;
      const uint64_t own = symbols[symbol].st_shndx == SHN_UNDEF ? 0 : module.base + symbols[symbol].st_value;
      const bool is_stub = ELF64_R_TYPE(entry.r_info) == kCall && module.Contains(*held) && *held != own;
      const uint64_t function = real[known->second];
      if (blob.Contains(*held)) {
        words.push_back({at, function, function, known->second});
      } else if (*held == function || is_stub) {
        words.push_back({at, *held, function, known->second});
      } else if (!program.Contains(*held) &&
                 *held != own) {  // the program's stub leads through the program's word
        is_foreign = true;
      }
    }
    if (is_foreign) words.resize(before);
  }
  return words;
}

bool LeadWord(const TargetProcess& target, const ImportWord& word, uint64_t to) {
  const auto now = target.Get<uint64_t>(word.at);
  return now && (*now == word.held || *now == word.real) && target.Write(word.at, &to, sizeof(to));
}

bool PutWordBack(const TargetProcess& target, const ImportWord& word, AddressRange blob) {
  const auto now = target.Get<uint64_t>(word.at);
  return now && blob.Contains(*now) && target.Write(word.at, &word.held, sizeof(word.held));
}

}  // namespace plateau::cli
