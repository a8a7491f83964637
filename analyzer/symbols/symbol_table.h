// The symbols of one module, sorted once, so that an address finds its symbol without going through them all.
//
// Answers as libdwfl does: of the symbols that say how long they are, the one that contains the address,
// global ones before local ones; else the nearest one without a length, unless another symbol ends behind it
// or it is in another section. The names belong to the module.
//
// Reads the symbols when first asked. Memory: 32 bytes a symbol. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_
#define PLATEAU_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

struct Dwfl_Module;

namespace plateau::symbols {

class SymbolTable {
 public:
  // `module` must outlive this object.
  explicit SymbolTable(Dwfl_Module* module) : module_(module) {}

  // Once, before the first question or by it.
  void Read();

  struct Found {
    const char* name;
    uint64_t offset;  // of the address in the symbol
    bool has_length;
  };
  std::optional<Found> At(uint64_t address);

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;    // equal to begin when the length is unknown
    uint64_t reach;  // the highest end of this and all before it
    int32_t index;   // in the module
    uint8_t binding;
  };
  // Ascending by begin, then by index.
  class Sorted {
   public:
    void Add(const Symbol& symbol) { symbols_.push_back(symbol); }
    void Sort();
    // Of those that contain the address; nullptr when none does.
    const Symbol* Containing(uint64_t address, std::vector<const Symbol*>* scratch) const;
    // The last one that begins at or before the address; nullptr when there is none.
    const Symbol* Before(uint64_t address) const;

   private:
    std::vector<Symbol> symbols_;
  };

  std::optional<Found> Take(const Symbol& symbol, uint64_t address);
  bool IsInSectionOf(const Symbol& symbol, uint64_t address);

  Dwfl_Module* module_;
  bool is_read_ = false;
  Sorted globals_, locals_;
  Sorted labels_;  // without a length, global and local
  std::vector<const Symbol*> scratch_;
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_
