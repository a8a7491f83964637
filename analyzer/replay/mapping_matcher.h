// Mappings of the process as changes of their pools.
//
// Mappings are intervals: an unmap may end parts of several, a remap moves and resizes. pymalloc's arenas are
// recognised, because they are not counted where their contents are. Memory: live mappings. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_
#define PLATEAU_ANALYZER_REPLAY_MAPPING_MATCHER_H_

#include <cstdint>

#include "analyzer/replay/change_queue.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/replay/mapping_table.h"
#include "preload/trace/record.h"

namespace plateau::replay {

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
  void AppendPlaces(uint32_t moment);

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
