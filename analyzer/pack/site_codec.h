// Which stack allocates, and how much: by what followed the last events, or the stack that was just defined,
// or one used lately; the size by what its line of code asked for before.
#ifndef PLATEAU_ANALYZER_PACK_SITE_CODEC_H_
#define PLATEAU_ANALYZER_PACK_SITE_CODEC_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/guess.h"
#include "analyzer/pack/object_model.h"
#include "analyzer/pack/stack_model.h"
#include "preload/trace/varint.h"

namespace plateau {

template <typename Coder>
class SiteCodec {
 public:
  SiteCodec(CodecState<Coder>* state, const StackModel* stacks, const ObjectModel* objects, int table_bits)
      : state_(*state),
        stacks_(*stacks),
        objects_(*objects),
        guesses_{Sites(table_bits), Sites(table_bits - 1), Sites(table_bits - 2)},
        sizes_{Sizes(table_bits - 1), Sizes(table_bits - 1), Sizes(table_bits - 2)},
        stack_numbers_(std::min(table_bits, 12)),
        bytes_numbers_(std::min(table_bits, 13)) {}

  void Code(PackedRecord* r, Heap heap) {
    const EventMatch::Event* const repeated = state_.Repeated();
    bool is_known = repeated != nullptr && repeated->kind == r->kind && CodeRepeated(r, *repeated);
    if (is_known && state_.match->IsSure()) {  // nothing new to learn
      state_.Charge(PackColumn::kSite);
      UseStack(r->stack);
      return;
    }
    std::array<Guess<Site>*, kOrders> guesses;
    for (size_t rank = 0; rank < kOrders; ++rank) {
      guesses[rank] = guesses_[rank].At(state_.HistoryHash(rank, 10 + static_cast<uint64_t>(heap)));
    }
    if (is_known) {
      // Its tables learn all the same.
    } else if (state_.AfterNode() && stack_flags_.Flag(state_.coder, r->stack == stacks_.last(), 0)) {
      r->stack = stacks_.last();
    } else if (CodeGuess(r, guesses)) {
      is_known = true;
    } else {
      CodeOldStack(r);
    }
    state_.Charge(PackColumn::kSite);
    CodeBytes(r, heap, is_known);
    state_.Charge(PackColumn::kBytes);
    for (Guess<Site>* guess : guesses) guess->Learn({r->bytes, r->stack});
    UseStack(r->stack);
  }

 private:
  static constexpr bool kEncodes = Coder::kEncodes;
  static constexpr size_t kOrders = 3;

  struct Site {
    uint64_t bytes = 0;
    uint32_t stack = 0;
    bool operator==(const Site&) const = default;
  };
  using Sites = GuessTable<Site>;
  using Sizes = GuessTable<uint64_t>;
  static constexpr size_t kSizes = 3;

  bool CodeRepeated(PackedRecord* r, const EventMatch::Event& repeated) {
    const Site site{objects_.Get(repeated.object).bytes, repeated.stack};
    const bool is_it = repeat_flags_.Flag(state_.coder, site == Site{r->bytes, r->stack},
                                          &repeat_chances_[state_.match->Trust()], repeat_hits_ & 255);
    repeat_hits_ = repeat_hits_ << 1 | (is_it ? 1 : 0);
    if (is_it) {
      r->bytes = site.bytes;
      r->stack = site.stack;
    }
    return is_it;
  }

  bool CodeGuess(PackedRecord* r, const std::array<Guess<Site>*, kOrders>& guesses) {
    for (size_t rank = 0; rank < kOrders; ++rank) {
      Guess<Site>& guess = *guesses[rank];
      bool is_new = guess.Exists();
      for (size_t i = 0; i < rank; ++i) is_new &= !(guesses[i]->Exists() && guesses[i]->value == guess.value);
      if (!is_new) continue;
      const bool is_it =
          guess_flags_.Flag(state_.coder, guess.value == Site{r->bytes, r->stack}, &guess.chance,
                            (rank * kTrusts + guess.Trust()) * 64 + (hits_ & 63));
      hits_ = hits_ << 1 | (is_it ? 1 : 0);
      if (is_it) {
        r->bytes = guess.value.bytes;
        r->stack = guess.value.stack;
        return true;
      }
    }
    return false;
  }

  // By its place among those used lately.
  void CodeOldStack(PackedRecord* r) {
    const auto use = kEncodes ? uses_.find(r->stack) : uses_.end();
    const bool is_known = stack_flags_.Flag(state_.coder, use != uses_.end(), state_.AfterNode() ? 1 : 2);
    if (is_known && recent_.members() > 0) {
      const uint64_t rank = stack_numbers_.Number(state_.coder, kEncodes ? recent_.RankOf(use->second) : 0,
                                                  HashOf(last_rank_, 1), HashOf(state_.history[0], 2), 8);
      last_rank_ = rank;
      r->stack = rank < recent_.members() ? stack_of_use_[recent_.Select(static_cast<uint32_t>(rank))] : 0;
    } else {
      const uint64_t distance = stack_numbers_.Number(
          state_.coder, trace::ZigZag(static_cast<int32_t>(r->stack - stacks_.last_node())), 3,
          state_.kinds & 255, 4);
      r->stack = stacks_.last_node() + static_cast<uint32_t>(trace::UnZigZag(distance));
    }
  }
  void UseStack(uint32_t stack) {
    const auto [it, is_new] = uses_.try_emplace(stack, 0);
    if (!is_new) {
      if (it->second + 1 == stack_of_use_.size()) return;  // still the last one
      recent_.Remove(it->second);
    }
    it->second = recent_.Add();
    stack_of_use_.push_back(stack);
  }

  // `is_known`: nothing to code, but to learn.
  void CodeBytes(PackedRecord* r, Heap heap, bool is_known) {
    const NodeTable::Node* leaf = stacks_.nodes().Find(r->stack);
    const uint64_t location =
        HashOf(leaf == nullptr ? HashOf(r->stack, 3) : leaf->location, static_cast<uint64_t>(heap));
    const uint64_t caller = leaf == nullptr ? 0 : stacks_.nodes().LocationOf(leaf->parent);
    Guess<uint64_t>* const last = sizes_[2].At(location);
    // By the caller; by the size before; the size before.
    const std::array<Guess<uint64_t>*, kSizes> guesses = {
        sizes_[0].At(HashOf(location, caller, 1)), sizes_[1].At(HashOf(location, last->value, 2)), last};
    bool is_guessed = is_known;
    for (size_t i = 0; i < kSizes && !is_guessed; ++i) {
      Guess<uint64_t>& guess = *guesses[i];
      bool is_new = guess.Exists();
      for (size_t j = 0; j < i; ++j) is_new &= !(guesses[j]->Exists() && guesses[j]->value == guess.value);
      if (!is_new) continue;
      is_guessed = bytes_flags_.Flag(state_.coder, guess.value == r->bytes, &guess.chance,
                                     (i * kTrusts + guess.Trust()) * 2 + static_cast<size_t>(heap));
      if (is_guessed) r->bytes = guess.value;
    }
    if (!is_guessed) {
      r->bytes = bytes_numbers_.Number(state_.coder, r->bytes, static_cast<uint64_t>(heap), location, 12);
    }
    for (Guess<uint64_t>* guess : guesses) guess->Learn(r->bytes);
  }

  CodecState<Coder>& state_;
  const StackModel& stacks_;
  const ObjectModel& objects_;
  std::array<Sites, kOrders> guesses_;
  std::array<Sizes, kSizes> sizes_;
  FlagModel stack_flags_{3};
  MixedFlags guess_flags_{kOrders * kTrusts * 64};
  MixedFlags repeat_flags_{256};
  std::array<Chance, 16> repeat_chances_;
  uint32_t repeat_hits_ = 0;
  MixedFlags bytes_flags_{kSizes * kTrusts * 2};
  MixedNumbers stack_numbers_;
  MixedNumbers bytes_numbers_;
  absl::flat_hash_map<uint32_t, uint32_t> uses_;  // the last use of each stack
  std::vector<uint32_t> stack_of_use_;
  RankSet recent_;
  uint64_t last_rank_ = 0;
  uint32_t hits_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_SITE_CODEC_H_
