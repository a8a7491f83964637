#include "analyzer/replay/mapping_matcher.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "analyzer/replay/heap_replay.h"

namespace plateau::replay {
namespace {

using trace::RecordKind;

constexpr uint64_t kPageBytes = 4096;

uint64_t EndOf(uint64_t begin, uint64_t bytes) {
  const uint64_t end = begin + std::min<uint64_t>(bytes, uint64_t{1} << 48);
  return (end + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void Append(ChangeKind kind, const Mapping& mapping, uint64_t bytes, ChangeWriter* out) {
  const uint8_t flags = mapping.is_first ? 0 : kChangePiece;
  const Change change{mapping.stack, mapping.birth, 0, kind, static_cast<Pool>(mapping.kind),
                      kNotSampled,   flags};
  out->Append(change, {.bytes = bytes, .object_bytes = bytes, .label = kNoLabel});
}

}  // namespace

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

// ---- Records ----

bool MappingMatcher::Apply(const trace::Record& r, uint32_t bucket) {
  bucket_ = bucket;
  switch (r.kind) {
    case RecordKind::kMap:
      MapAt(PoolOf(r.map), r.map.address, EndOf(r.map.address, r.map.bytes), r.map.stack, true);
      return true;
    case RecordKind::kUnmap:
      Unmap(r.unmap.address, EndOf(r.unmap.address, r.unmap.bytes));
      return true;
    case RecordKind::kRemap:
      Remap(r.remap);
      return true;
    case RecordKind::kBreak: {
      const uint64_t change = static_cast<uint64_t>(r.brk.change_bytes);
      if (r.brk.change_bytes > 0) {
        MapAt(Pool::kMmap, r.brk.new_break - change, r.brk.new_break, r.brk.stack, true);
      } else {
        Unmap(r.brk.new_break, r.brk.new_break - change);
      }
      return true;
    }
    default:
      return false;
  }
}

void MappingMatcher::AppendRetained() {
  mappings_.ForEach([this](const MappingPiece& piece) {
    if (!HasRows(static_cast<Pool>(piece.mapping.kind))) return;
    Append(ChangeKind::kRetained, piece.mapping, piece.bytes(), &out_);
  });
}

void MappingMatcher::AppendPlaced(uint32_t moment) {
  mappings_.ForEach([&](const MappingPiece& piece) {
    if (!HasRows(static_cast<Pool>(piece.mapping.kind))) return;
    const Change change{
        piece.mapping.stack, moment, 0, ChangeKind::kPlaced, static_cast<Pool>(piece.mapping.kind),
        kNotSampled,         0};
    out_.Append(change, {.bytes = piece.bytes(), .address = piece.begin, .label = kNoLabel});
  });
}

Pool MappingMatcher::PoolOf(const trace::MapRecord& map) const {
  if (map.kind == trace::MapKind::kFile) return Pool::kFile;
  if (map.kind == trace::MapKind::kShared) return Pool::kShared;
  if (map.kind == trace::MapKind::kArena) return Pool::kArena;
  if (map.prot == 0) return Pool::kReserved;
  // pymalloc takes arenas of 256 KiB, since Python 3.10 of 1 MiB.
  if (map.bytes == 256 * 1024 || map.bytes == 1024 * 1024) {
    constexpr uint64_t kGranule = Definitions::kArenaGranuleBytes;
    for (uint64_t g = map.address / kGranule; g <= (map.address + map.bytes - 1) / kGranule; ++g) {
      if (definitions_.pymalloc_granules.contains(g)) return Pool::kArena;
    }
  }
  return Pool::kMmap;
}

void MappingMatcher::MapAt(Pool pool, uint64_t begin, uint64_t end, uint32_t stack, bool is_first) {
  if (begin >= end) return;
  const Mapping mapping{stack, bucket_, static_cast<uint8_t>(pool), is_first};
  for (const MappingPiece& piece : mappings_.Map(begin, end, mapping)) EndPiece(piece);
  const ChangeKind kind = !HasRows(pool) ? ChangeKind::kPoolGrew
                          : is_first     ? ChangeKind::kBorn
                                         : ChangeKind::kGrown;
  Append(kind, mapping, end - begin, &out_);
}

void MappingMatcher::EndPiece(const MappingPiece& piece) {
  const ChangeKind kind = !HasRows(static_cast<Pool>(piece.mapping.kind)) ? ChangeKind::kPoolShrank
                          : piece.mapping.is_first                        ? ChangeKind::kDied
                                                                          : ChangeKind::kPieceDied;
  Append(kind, piece.mapping, piece.bytes(), &out_);
}

void MappingMatcher::Unmap(uint64_t begin, uint64_t end) {
  for (const MappingPiece& piece : mappings_.Unmap(begin, end)) EndPiece(piece);
}

void MappingMatcher::Remap(const trace::RemapRecord& r) {
  const uint64_t old_end = EndOf(r.old_address, r.old_bytes);
  const uint64_t new_end = EndOf(r.new_address, r.new_bytes);
  const std::vector<MappingPiece> moved = mappings_.Unmap(r.old_address, old_end);
  Unmap(r.new_address, new_end);
  Pool pool = Pool::kMmap;
  for (const MappingPiece& piece : moved) {
    pool = static_cast<Pool>(piece.mapping.kind);
    const uint64_t begin = r.new_address + (piece.begin - r.old_address);
    const uint64_t end = std::min(r.new_address + (piece.end - r.old_address), new_end);
    if (begin < end) mappings_.Map(begin, end, piece.mapping);
    if (const uint64_t kept = begin < end ? end - begin : 0; kept < piece.bytes()) {
      EndPiece({piece.begin + kept,
                piece.end,
                {piece.mapping.stack, piece.mapping.birth, piece.mapping.kind,
                 kept == 0 && piece.mapping.is_first}});
    }
  }
  const uint64_t old_span = old_end - r.old_address;
  if (!moved.empty() && new_end - r.new_address > old_span) {
    MapAt(pool, r.new_address + old_span, new_end, r.stack, false);
  }
}

}  // namespace plateau::replay
