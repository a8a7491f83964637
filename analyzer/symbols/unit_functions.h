// The functions of a compilation unit by address, from its debug information.
//
// libdw finds the scopes of an address by walking over the unit, which may have a million entries, again for
// each address. Here that is done once for a unit. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SYMBOLS_UNIT_FUNCTIONS_H_
#define PLATEAU_ANALYZER_SYMBOLS_UNIT_FUNCTIONS_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

namespace plateau::symbols {

class UnitFunctions {
 public:
  // The unit's debug information must outlive this object.
  explicit UnitFunctions(Dwarf_Die unit);

  // The function whose code is at `address`, and what was inlined there into it, the innermost first. Blocks
  // are left out. Empty when no function is known.
  std::vector<Dwarf_Die> At(uint64_t address) const;

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t reach;  // the largest end up to this one
    Dwarf_Die function;
  };
  void Collect(Dwarf_Die parent);

  std::vector<Range> ranges_;  // by their begin
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_UNIT_FUNCTIONS_H_
