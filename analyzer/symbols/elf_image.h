// One ELF file with its symbols and line information, its own or from a separate debug file (.build-id or
// debuglink under /usr/lib/debug; of another system, by build id under that folder of its root).
//
// Addresses are those of the ELF file (PcRecord::offset). Nothing is read before it is asked for. The file is
// input from outside: what makes no sense gives no answer. Never uses the network. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SYMBOLS_ELF_IMAGE_H_
#define PLATEAU_ANALYZER_SYMBOLS_ELF_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/symbols/symbol_table.h"
#include "analyzer/symbols/sysroot.h"

struct Dwfl;
struct Dwfl_Module;

namespace plateau::symbols {

class UnitFunctions;

// One level of an address: a function, and where in it.
struct SourceFrame {
  std::string function;  // as in the file, mangled; empty when unknown
  std::string file;      // empty when there is no line information
  int line = 0;
};

// Where debug files of a build id are kept: "/usr/lib/debug/.build-id/ab/cdef.debug".
std::string DebugFile(const std::string& build_id);

class ElfImage {
 public:
  // FailedPrecondition when the file is not the one that was loaded (build id) or is no ELF file; NotFound
  // when there is none. An empty `build_id` is not compared.
  static absl::StatusOr<std::unique_ptr<ElfImage>> Open(const std::string& path, const std::string& build_id,
                                                        const Sysroot& sysroot = Sysroot());
  ~ElfImage();

  // What the first question would do.
  void ReadSymbols() { symbols_->Read(); }

  // Innermost inlined function first, the function that has the code last. Empty when nothing is known.
  std::vector<SourceFrame> Resolve(uint64_t address);

  // The symbol at an address without line information: much cheaper. Empty when there is none.
  std::string SymbolAt(uint64_t address);

 private:
  ElfImage();

  Sysroot sysroot_;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  std::unique_ptr<SymbolTable> symbols_;
  absl::flat_hash_map<const void*, std::unique_ptr<UnitFunctions>> functions_;  // by where a unit begins
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_ELF_IMAGE_H_
