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

void Append(ChangeKind kind, const Mapping& mapping, const Arrival& arrival, const ChangeDetail& detail,
            uint8_t flags, ChangeWriter* out) {
  const Change change{mapping.stack, arrival.birth, 0, kind, static_cast<Pool>(mapping.kind),
                      kNotSampled,   flags};
  ChangeDetail with_bytes = detail;
  with_bytes.bytes = arrival.bytes;
  out->Append(change, with_bytes);
}

// Says of all bytes of a piece that count what happened to them; `rest` is the kind for those that do not
// carry the count.
void AppendAll(ChangeKind kind, ChangeKind rest, const MappingPiece& piece, ChangeWriter* out) {
  const Mapping& mapping = piece.mapping;
  const ChangeDetail detail{.bytes = 0,
                            .object_bytes = piece.bytes(),
                            .label = kNoLabel,
                            .reserved = mapping.is_followed ? piece.size() : 0};
  if (mapping.arrivals.empty()) {
    const Arrival all{mapping.birth, piece.bytes()};
    return Append(mapping.is_first ? kind : rest, mapping, all, detail, mapping.is_first ? 0 : kChangePiece,
                  out);
  }
  bool has_count = mapping.is_first;
  for (const Arrival& arrival : mapping.arrivals) {
    Append(has_count ? kind : rest, mapping, arrival, detail, has_count ? 0 : kChangePiece, out);
    has_count = false;
  }
}

uint64_t BytesIn(const std::vector<Arrival>& arrivals) {
  uint64_t bytes = 0;
  for (const Arrival& arrival : arrivals) bytes += arrival.bytes;
  return bytes;
}

// Takes the youngest bytes out; the oldest of them come first.
std::vector<Arrival> TakeYoungest(uint64_t bytes, std::vector<Arrival>* arrivals) {
  std::vector<Arrival> taken;
  while (bytes > 0 && !arrivals->empty()) {
    Arrival& youngest = arrivals->back();
    const uint64_t cut = std::min(bytes, youngest.bytes);
    taken.push_back({youngest.birth, cut});
    youngest.bytes -= cut;
    bytes -= cut;
    if (youngest.bytes == 0) arrivals->pop_back();
  }
  std::reverse(taken.begin(), taken.end());
  return taken;
}

// What [keep_begin, keep_end) of a piece cannot hold is taken from it.
std::vector<Arrival> Overflow(uint64_t room, std::vector<Arrival>* arrivals) {
  const uint64_t bytes = BytesIn(*arrivals);
  return TakeYoungest(bytes > room ? bytes - room : 0, arrivals);
}

}  // namespace

uint64_t MappingPiece::bytes() const { return mapping.is_followed ? BytesIn(mapping.arrivals) : size(); }

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
      Mapping front = piece.mapping;
      cut.arrivals = Overflow(begin - piece_begin, &front.arrivals);
      pieces_.emplace(piece_begin, Piece{begin, std::move(front)});
      cut.is_first = false;
    }
    if (piece.end > end) {  // the back stays; it takes the count over when the front went
      Mapping rest = piece.mapping;
      rest.is_first = cut.is_first;
      rest.arrivals = std::move(cut.arrivals);
      cut.arrivals = Overflow(piece.end - end, &rest.arrivals);
      cut.is_first = false;
      it = std::next(pieces_.emplace(end, Piece{piece.end, std::move(rest)}).first);
    }
    ended.push_back({std::max(piece_begin, begin), std::min(piece.end, end), std::move(cut)});
  }
  return ended;
}

// ---- Records ----

bool MappingMatcher::Apply(const trace::Record& r, uint32_t bucket) {
  bucket_ = bucket;
  switch (r.kind) {
    case RecordKind::kMap:
      Map(r);
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
    AppendAll(ChangeKind::kRetained, ChangeKind::kRetained, piece, &out_);
  });
}

void MappingMatcher::AppendPlaced(uint32_t moment) {
  mappings_.ForEach([&](const MappingPiece& piece) {
    if (!HasRows(static_cast<Pool>(piece.mapping.kind))) return;
    const Change change{
        piece.mapping.stack, moment, 0, ChangeKind::kPlaced, static_cast<Pool>(piece.mapping.kind),
        kNotSampled,         0};
    out_.Append(change, {.bytes = piece.size(), .address = piece.begin, .label = kNoLabel});
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

// An anonymous map that was looked at is followed. One that nobody may touch is memory all the same if pages
// of it were seen: the allocator that reserved it opened parts of it later.
void MappingMatcher::Map(const trace::Record& r) {
  const uint64_t begin = r.map.address;
  const uint64_t end = EndOf(begin, r.map.bytes);
  Pool pool = PoolOf(r.map);
  const bool may_be_followed = pool == Pool::kMmap || pool == Pool::kReserved;
  const auto first = may_be_followed ? residency_.FirstOfMap(begin, end, r.tsc) : std::nullopt;
  if (!first.has_value()) return MapAt(pool, begin, end, r.map.stack, true);
  Mapping mapping{r.map.stack, bucket_, static_cast<uint8_t>(Pool::kMmap), true, /*is_followed=*/true, {}};
  if (*first > 0) mapping.arrivals.push_back({bucket_, *first});
  Add(begin, end, std::move(mapping));
}

void MappingMatcher::MapAt(Pool pool, uint64_t begin, uint64_t end, uint32_t stack, bool is_first) {
  Add(begin, end, {stack, bucket_, static_cast<uint8_t>(pool), is_first, /*is_followed=*/false, {}});
}

void MappingMatcher::Add(uint64_t begin, uint64_t end, Mapping mapping) {
  if (begin >= end) return;
  for (const MappingPiece& piece : mappings_.Map(begin, end, mapping)) EndPiece(piece);
  const bool has_rows = HasRows(static_cast<Pool>(mapping.kind));
  AppendAll(has_rows ? ChangeKind::kBorn : ChangeKind::kPoolGrew,
            has_rows ? ChangeKind::kGrown : ChangeKind::kPoolGrew, {begin, end, std::move(mapping)}, &out_);
}

void MappingMatcher::EndPiece(const MappingPiece& piece) {
  const bool has_rows = HasRows(static_cast<Pool>(piece.mapping.kind));
  AppendAll(has_rows ? ChangeKind::kDied : ChangeKind::kPoolShrank,
            has_rows ? ChangeKind::kPieceDied : ChangeKind::kPoolShrank, piece, &out_);
}

// The pieces of one region share what is in memory of it: each takes what it has room for.
void MappingMatcher::ApplyResidency(const trace::ResidencyRecord& reading, uint32_t bucket) {
  bucket_ = bucket;
  uint64_t left = reading.resident_bytes;
  mappings_.ForEachIn(
      reading.address, EndOf(reading.address, reading.bytes), [&](uint64_t begin, uint64_t end, Mapping* m) {
        const Pool pool = static_cast<Pool>(m->kind);
        const bool is_whole = begin >= reading.address && end <= EndOf(reading.address, reading.bytes);
        if (!is_whole || (pool != Pool::kMmap && !m->is_followed)) return;
        const uint64_t resident = std::min(left, end - begin);
        left -= resident;
        SetResident(end - begin, resident, m);
      });
}

void MappingMatcher::SetResident(uint64_t size, uint64_t resident_bytes, Mapping* mapping) {
  if (!mapping->is_followed) {
    mapping->is_followed = true;
    mapping->arrivals = {{mapping->birth, size}};
  }
  const uint64_t before = BytesIn(mapping->arrivals);
  if (resident_bytes > before) {
    const Arrival now{bucket_, resident_bytes - before};
    Append(ChangeKind::kGrown, *mapping, now, {.bytes = 0, .object_bytes = 0, .label = kNoLabel}, 0, &out_);
    if (!mapping->arrivals.empty() && mapping->arrivals.back().birth == bucket_) {
      mapping->arrivals.back().bytes += now.bytes;
    } else {
      mapping->arrivals.push_back(now);
    }
    return;
  }
  for (const Arrival& gone : TakeYoungest(before - resident_bytes, &mapping->arrivals)) {
    Append(ChangeKind::kShrunk, *mapping, gone, {.bytes = 0, .object_bytes = 0, .label = kNoLabel}, 0, &out_);
  }
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
    const uint64_t kept = begin < end ? end - begin : 0;
    MappingPiece gone{piece.begin + kept, piece.end, piece.mapping};
    gone.mapping.is_first = kept == 0 && piece.mapping.is_first;
    if (begin < end) {
      Mapping stays = piece.mapping;
      gone.mapping.arrivals = Overflow(kept, &stays.arrivals);
      mappings_.Map(begin, end, stays);
    }
    if (kept < piece.size()) EndPiece(gone);
  }
  const uint64_t old_span = old_end - r.old_address;
  if (!moved.empty() && new_end - r.new_address > old_span) {
    MapAt(pool, r.new_address + old_span, new_end, r.stack, false);
  }
}

}  // namespace plateau::replay
