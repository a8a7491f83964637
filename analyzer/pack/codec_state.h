// What all parts of the packed form share: the coder and what happened last.
#ifndef PLATEAU_ANALYZER_PACK_CODEC_STATE_H_
#define PLATEAU_ANALYZER_PACK_CODEC_STATE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "analyzer/pack/event_match.h"
#include "analyzer/pack/mixed_model.h"
#include "analyzer/pack/packed_record.h"

namespace plateau {

template <typename Coder>
struct CodecState {
  static constexpr bool kEncodes = Coder::kEncodes;

  Coder& coder;
  PackCosts* costs = nullptr;
  double charged_bits = 0;

  uint32_t kinds = 0;                    // of the last records, 4 bits each, the newest lowest
  std::array<uint64_t, 3> history = {};  // of allocations and frees, the newest first
  uint32_t fresh_pages = 0;              // that malloc reached since the last time stamp: each costs a fault
  uint64_t place = 0;                    // where the last node or allocation was
  std::optional<EventMatch> match;       // from version 4 on

  PackedKind last_kind() const { return static_cast<PackedKind>(kinds & 15); }
  bool AfterNode() const { return last_kind() == PackedKind::kNode || last_kind() == PackedKind::kOtherNode; }
  // What happened the last time after the same events, or nullptr.
  const EventMatch::Event* Repeated() const { return match.has_value() ? match->predicted() : nullptr; }
  void Remember(uint64_t symbol) { history = {symbol, history[0], history[1]}; }
  // A record that may be repeated.
  void Repeat(uint64_t symbol, PackedKind kind, uint32_t object, uint32_t stack) {
    if (match.has_value()) match->Advance({static_cast<uint32_t>(symbol >> 32), object, stack, kind});
  }
  // A hash of the last three events, two or one: rank 0, 1, 2.
  uint64_t HistoryHash(size_t rank, uint64_t salt) const {
    uint64_t hash = HashOf(history[0], salt, rank);
    if (rank < 2) hash = HashOf(hash, history[1]);
    if (rank < 1) hash = HashOf(hash, history[2]);
    return hash;
  }

  // Puts what was written since the last call down to `column`.
  void Charge(PackColumn column) {
    if constexpr (kEncodes) {
      if (costs == nullptr) return;
      const double bits = coder.Bits();
      (*costs)[static_cast<size_t>(column)] += bits - std::exchange(charged_bits, bits);
    }
  }
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_CODEC_STATE_H_
