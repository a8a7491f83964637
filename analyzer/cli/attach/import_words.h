// The words of a target through which its modules call the allocator, read from outside.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_IMPORT_WORDS_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_IMPORT_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/cli/attach/target_process.h"

namespace plateau::cli {

struct ImportWord {
  uint64_t at;
  uint64_t
      held;  // when it was read: the real function, or a stub of the module that binds it at the first call
  uint64_t real;      // the function behind it
  uint32_t function;  // index into `names`
};

// Addresses that a killed injector's words may hold.
struct AddressRange {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

// Of all modules but the loader, the vDSO, the C library and `skipped`. `real[i]` is the function that stands behind
// `names[i]`, 0 when there is none. Of a module one of whose words holds something else, none is taken.
std::vector<ImportWord> FindImportWords(const TargetProcess& target, const TargetModules& modules,
                                        const std::vector<std::string>& names,
                                        const std::vector<uint64_t>& real, const TargetModule* skipped,
                                        AddressRange blob);

// Writes `to` into a word that still holds what it held, or what it is bound to: a thread may have made the first call since
// it was read. False when it holds something else.
bool LeadWord(const TargetProcess& target, const ImportWord& word, uint64_t to);
// Puts back what the word held, if it leads into `blob`.
bool PutWordBack(const TargetProcess& target, const ImportWord& word, AddressRange blob);

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_IMPORT_WORDS_H_
