// The mappings a program made with mmap, as disjoint intervals: they can be unmapped in parts, moved, and
// mapped over.
//
//   [ a ........ )      Map         Unmap of the middle leaves both ends with their birth and stack
//   [ a )    [ a )
//
// Every change is reported as bytes that ended, with the piece they belonged to. O(log n + pieces touched).
#ifndef PLATEAU_ANALYZER_REPLAY_MAPPING_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_MAPPING_TABLE_H_

#include <cstdint>
#include <map>
#include <vector>

namespace plateau::replay {

struct Mapping {
  uint32_t stack;  // node of the trace, or whatever the caller keeps there
  uint32_t birth;  // bucket
  uint8_t kind;    // the caller's
  bool is_first;   // carries the count of the object: pieces of one mapping count once
};

struct MappingPiece {
  uint64_t begin;
  uint64_t end;
  Mapping mapping;
  uint64_t bytes() const { return end - begin; }
};

class MappingTable {
 public:
  // Maps [begin, end); what was there before is returned as ended.
  std::vector<MappingPiece> Map(uint64_t begin, uint64_t end, const Mapping& mapping);
  // Ends whatever is in [begin, end).
  std::vector<MappingPiece> Unmap(uint64_t begin, uint64_t end);

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [begin, piece] : pieces_) visit(MappingPiece{begin, piece.end, piece.mapping});
  }

 private:
  struct Piece {
    uint64_t end;
    Mapping mapping;
  };
  std::map<uint64_t, Piece> pieces_;  // by begin
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_MAPPING_TABLE_H_
