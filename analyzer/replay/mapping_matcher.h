// Mappings of the process as changes of their pools.
//
// Mappings are intervals: an unmap may end parts of several, a remap moves and resizes. pymalloc's arenas are
// recognised, because they are not counted where their contents are. Memory: live mappings. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_
#define PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/residency_book.h"
#include "preload/trace/record.h"

namespace plateau::replay {

// Bytes that came into memory in one bucket.
struct Arrival {
  uint32_t birth;
  uint64_t bytes;
};

struct Mapping {
  uint32_t stack;                 // node of the trace, or whatever the caller keeps there
  uint32_t birth;                 // bucket
  uint8_t kind;                   // the caller's
  bool is_first;                  // carries the count of the object: pieces of one mapping count once
  bool is_followed = false;       // what is in memory counts, which is
  std::vector<Arrival> arrivals;  // this, the oldest first
};

struct MappingPiece {
  uint64_t begin;
  uint64_t end;
  Mapping mapping;
  uint64_t size() const { return end - begin; }
  // The bytes that count.
  uint64_t bytes() const;
};

// The mappings a program made with mmap, as disjoint intervals: they can be unmapped in parts, moved, and
// mapped over.
//
//   [ a ........ )      Map         Unmap of the middle leaves both ends with their birth and stack
//   [ a )    [ a )
//
// Every change is reported as bytes that ended, with the piece they belonged to. Of a piece that is followed,
// as much as can be stays with the part that stays: allocators give back what they have not used. O(log n +
// pieces touched).
class MappingTable {
 public:
  // Maps [begin, end); what was there before is returned as ended.
  std::vector<MappingPiece> Map(uint64_t begin, uint64_t end, const Mapping& mapping);
  // Ends whatever is in [begin, end).
  std::vector<MappingPiece> Unmap(uint64_t begin, uint64_t end);

  // Calls `visit` with begin, end and Mapping of each piece that overlaps [begin, end), to be changed in place.
  template <typename Visit>
  void ForEachIn(uint64_t begin, uint64_t end, Visit&& visit) {
    auto it = pieces_.upper_bound(begin);
    if (it != pieces_.begin() && std::prev(it)->second.end > begin) --it;
    for (; it != pieces_.end() && it->first < end; ++it)
      visit(it->first, it->second.end, &it->second.mapping);
  }

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
  // All must outlive this object.
  MappingMatcher(const Definitions* definitions, const ResidencyBook* residency, ChangeWriter* out)
      : definitions_(*definitions), residency_(*residency), out_(*out) {}

  // True when the record was about mappings. `bucket` is the one it happened in.
  bool Apply(const trace::Record& record, uint32_t bucket);

  // Of the maps in the region, so much is in memory now. What they had in mind before stays as old as it is.
  void ApplyResidency(const trace::ResidencyRecord& reading, uint32_t bucket);

  // Appends what is mapped now as kRetained.
  void AppendRetained();
  // And as kPlaced.
  void AppendPlaced(uint32_t moment);

 private:
  Pool PoolOf(const trace::MapRecord& map) const;
  void Map(const trace::Record& record);
  void MapAt(Pool pool, uint64_t begin, uint64_t end, uint32_t stack, bool is_first);
  void Add(uint64_t begin, uint64_t end, Mapping mapping);
  void SetResident(uint64_t size, uint64_t resident_bytes, Mapping* mapping);
  void Unmap(uint64_t begin, uint64_t end);
  void Remap(const trace::RemapRecord& remap);
  void EndPiece(const MappingPiece& piece);

  const Definitions& definitions_;
  const ResidencyBook& residency_;
  ChangeWriter& out_;
  MappingTable mappings_;
  uint32_t bucket_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_
