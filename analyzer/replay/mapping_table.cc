#include "analyzer/replay/mapping_table.h"

#include <algorithm>
#include <iterator>

namespace plateau::replay {

std::vector<MappingPiece> MappingTable::Map(uint64_t begin, uint64_t end, const Mapping& mapping) {
  std::vector<MappingPiece> ended = Unmap(begin, end);
  if (begin < end) pieces_.insert_or_assign(begin, Piece{end, mapping});
  return ended;
}

std::vector<MappingPiece> MappingTable::Unmap(uint64_t begin, uint64_t end) {
  std::vector<MappingPiece> ended;
  if (begin >= end) return ended;
  auto it = pieces_.upper_bound(begin);
  if (it != pieces_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != pieces_.end() && it->first < end) {
    const uint64_t piece_begin = it->first;
    const Piece piece = it->second;
    it = pieces_.erase(it);
    Mapping cut = piece.mapping;
    if (piece_begin < begin) {  // the front stays and keeps the count
      pieces_.emplace(piece_begin, Piece{begin, piece.mapping});
      cut.is_first = false;
    }
    if (piece.end > end) {  // the back stays; it takes the count over when the front went
      Mapping rest = piece.mapping;
      rest.is_first = cut.is_first;
      cut.is_first = false;
      it = std::next(pieces_.emplace(end, Piece{piece.end, rest}).first);
    }
    ended.push_back({std::max(piece_begin, begin), std::min(piece.end, end), cut});
  }
  return ended;
}

}  // namespace plateau::replay
