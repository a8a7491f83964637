// Definitions of stack nodes and locations.
#ifndef PLATEAU_ANALYZER_PACK_STACK_CODEC_H_
#define PLATEAU_ANALYZER_PACK_STACK_CODEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/guess.h"
#include "analyzer/pack/stack_model.h"
#include "preload/trace/varint.h"

namespace plateau {

template <typename Coder>
class StackCodec {
 public:
  StackCodec(CodecState<Coder>* state, StackModel* stacks, int table_bits)
      : state_(*state),
        stacks_(*stacks),
        up_guesses_(table_bits),
        followed_(table_bits),
        location_numbers_(std::min(table_bits, 14)),
        called_flags_own_(size_t{1} << 14) {}

  // After a node: whether its child follows that followed it the last time. False: anything may follow.
  bool CodeNextNode(PackedRecord* r) {
    const uint32_t parent = stacks_.last_node();
    const NodeTable::Node* known = stacks_.nodes().Find(parent);
    if (known == nullptr) return false;
    const StackModel::Place place{known->location, stacks_.nodes().LocationOf(known->parent)};
    Guess<uint32_t>* const guess = followed_.At(HashOf(place.parent_location, place.beside, 2));
    if (!guess->Exists()) return false;
    const bool is_it = next_flags_.Flag(
        state_.coder, r->kind == PackedKind::kNode && r->parent == parent && r->location == guess->value,
        &next_chances_[(HashOf(place.parent_location, place.beside) >> (64 - kNextBits))],
        guess->Trust() * 8 + (next_hits_ & 7));
    next_hits_ = next_hits_ << 1 | (is_it ? 1 : 0);
    if (!is_it) return false;
    r->kind = PackedKind::kNode;
    r->node = parent + 1;
    r->parent = parent;
    r->location = guess->value;
    guess->Learn(r->location);
    stacks_.OnNode(r->node, r->parent, r->location, place);
    state_.place = HashOf(r->location, place.parent_location);
    return true;
  }

  // False at damage.
  bool CodeNode(PackedRecord* r) {
    const uint32_t last_node = stacks_.last_node();
    if (r->kind == PackedKind::kNode) {
      r->node = last_node + 1;
    } else {
      r->node = last_node + CodeSigned(static_cast<int32_t>(r->node - last_node), kNodeId);
    }
    StackModel::Place place{0, 0};
    if (!CodeParent(r, &place)) return false;
    state_.Charge(PackColumn::kNodeParent);
    CodeNodeLocation(r, place);
    state_.Charge(PackColumn::kNodeLocation);
    stacks_.OnNode(r->node, r->parent, r->location, place);
    state_.place = HashOf(r->location, place.parent_location);
    return true;
  }

  void CodeLocation(PackedRecord* r) {
    r->location = last_location_ +=
        1 + CodeSigned(static_cast<int32_t>(r->location - last_location_ - 1), kLocationId);
    if (r->kind == PackedKind::kPc) {
      r->module_or_code = static_cast<uint32_t>(location_numbers_.Number(
          state_.coder, r->module_or_code, HashOf(last_module_, 21), HashOf(state_.place, 22), 8));
      last_module_ = r->module_or_code;
      uint64_t& base = module_offsets_[last_module_];
      const uint64_t delta =
          numbers_.Number(state_.coder, trace::ZigZag(static_cast<int64_t>(r->offset - base)), kOffset);
      r->offset = base += static_cast<uint64_t>(trace::UnZigZag(delta));
    } else {
      r->module_or_code = last_code_ +=
          CodeSigned(static_cast<int32_t>(r->module_or_code - last_code_), kCode);
      r->offset = static_cast<uint32_t>(
          numbers_.Number(state_.coder, static_cast<uint32_t>(r->offset + 1), kCodeOffset) - 1);
    }
    state_.Charge(PackColumn::kLocation);
  }

 private:
  static constexpr bool kEncodes = Coder::kEncodes;
  static constexpr int kNextBits = 15;
  static constexpr uint64_t kUpExplicit = StackModel::kMaxUp + 1;
  enum NumberContext : size_t {
    kNodeId,
    kParentId,
    kUp,
    kLocationId,
    kOffset,
    kCode,
    kCodeOffset,
    kNumberCount
  };

  uint32_t CodeSigned(int32_t value, size_t context) {
    return static_cast<uint32_t>(
        trace::UnZigZag(numbers_.Number(state_.coder, trace::ZigZag(value), context)));
  }

  // By its distance from the last stack.
  bool CodeParent(PackedRecord* r, StackModel::Place* place) {
    uint64_t up = kUpExplicit;
    if constexpr (kEncodes) {
      const int found = stacks_.FindParent(r->parent);
      if (found >= 0) up = static_cast<uint64_t>(found);
    }
    if (state_.AfterNode() && flags_.Flag(state_.coder, up == 0, 0)) {
      up = 0;
    } else {
      Guess<uint32_t>* guess = up_guesses_.At(HashOf(state_.place, state_.kinds & 15));
      if (guess->Exists() &&
          up_flags_.Flag(state_.coder, guess->value == up, &guess->chance, guess->Trust())) {
        up = guess->value;
      } else {
        up = numbers_.Number(state_.coder, up, kUp);
      }
      guess->Learn(static_cast<uint32_t>(up));
    }
    if (up >= kUpExplicit) {
      r->parent = r->node - static_cast<uint32_t>(numbers_.Number(
                                state_.coder, static_cast<uint32_t>(r->node - r->parent), kParentId));
    } else if (!stacks_.GetParent(up, &r->parent, &place->beside)) {
      return false;
    }
    if (const NodeTable::Node* parent = stacks_.nodes().Find(r->parent); parent != nullptr) {
      place->parent_location = parent->location;
      if (up == 0) place->beside = stacks_.nodes().LocationOf(parent->parent);
    }
    return true;
  }

  void CodeNodeLocation(PackedRecord* r, const StackModel::Place& place) {
    const PackedKind last = state_.last_kind();
    Guess<uint32_t>* const guess = followed_.At(HashOf(place.parent_location, place.beside, 2));
    bool is_known = false;
    if (last == PackedKind::kPc || last == PackedKind::kPythonLocation) {
      is_known = flags_.Flag(state_.coder, r->location == last_location_, 1);
      if (is_known) r->location = last_location_;
    }
    if (!is_known && guess->Exists()) {
      is_known = location_flags_.Flag(state_.coder, r->location == guess->value, &guess->chance,
                                      (guess->Trust() * 8 + (hits_ & 7)) * 2 + (state_.AfterNode() ? 1 : 0));
      hits_ = hits_ << 1 | (is_known ? 1 : 0);
      if (is_known) r->location = guess->value;
    }
    const auto& called = stacks_.Called(place);
    for (size_t i = 0; i < called.size() && !is_known; ++i) {
      if (called[i] == 0 || (guess->Exists() && called[i] == guess->value)) continue;
      is_known = called_flags_.Flag(state_.coder, r->location == called[i],
                                    &called_flags_own_[HashOf(place.parent_location, i) >> (64 - 14)],
                                    (i * 8 + (hits_ & 7)) * 2 + (state_.AfterNode() ? 1 : 0));
      if (is_known) r->location = called[i];
    }
    if (!is_known) {
      r->location = static_cast<uint32_t>(
          location_numbers_.Number(state_.coder, r->location, 1, HashOf(place.parent_location, 1), 16));
    }
    guess->Learn(r->location);
  }

  CodecState<Coder>& state_;
  StackModel& stacks_;
  GuessTable<uint32_t> up_guesses_;
  GuessTable<uint32_t> followed_;
  MixedNumbers location_numbers_;
  std::vector<Chance> called_flags_own_;
  std::vector<Chance> next_chances_ = std::vector<Chance>(size_t{1} << kNextBits);
  FlagModel flags_{2};
  MixedFlags next_flags_{kTrusts * 8};
  MixedFlags up_flags_{kTrusts};
  MixedFlags location_flags_{kTrusts * 16};
  MixedFlags called_flags_{StackModel::kLocations * 16};
  NumberModel numbers_{kNumberCount};
  absl::flat_hash_map<uint32_t, uint64_t> module_offsets_;
  uint32_t hits_ = 0, next_hits_ = 0;
  uint32_t last_location_ = 0, last_module_ = 0, last_code_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_STACK_CODEC_H_
