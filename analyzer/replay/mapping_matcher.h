// Mappings of the process as changes of their pools.
//
// Mappings are intervals: an unmap may end parts of several, a remap moves and resizes. pymalloc's arenas are
// recognised, because they are not counted where their contents are. Memory: live mappings. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_
#define PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/definitions/definitions.h"
#include "preload/trace/record.h"

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

// The mappings a program made with mmap, as disjoint intervals: they can be unmapped in parts, moved, and
// mapped over.
//
//   [ a ........ )      Map         Unmap of the middle leaves both ends with their birth and stack
//   [ a )    [ a )
//
// Every change is reported as bytes that ended, with the piece they belonged to. O(log n + pieces touched).
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

class MappingMatcher {
 public:
  // Both must outlive this object.
  MappingMatcher(const Definitions* definitions, ChangeWriter* out)
      : definitions_(*definitions), out_(*out) {}

  // True when the record was about mappings. `bucket` is the one it happened in.
  bool Apply(const trace::Record& record, uint32_t bucket);

  // Appends what is mapped now as kRetained.
  void AppendRetained();
  // And as kPlaced.
  void AppendPlaced(uint32_t moment);

 private:
  Pool PoolOf(const trace::MapRecord& map) const;
  void MapAt(Pool pool, uint64_t begin, uint64_t end, uint32_t stack, bool is_first);
  void Unmap(uint64_t begin, uint64_t end);
  void Remap(const trace::RemapRecord& remap);
  void EndPiece(const MappingPiece& piece);

  const Definitions& definitions_;
  ChangeWriter& out_;
  MappingTable mappings_;
  uint32_t bucket_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_
