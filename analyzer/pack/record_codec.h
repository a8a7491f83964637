// The packed form of records, in both directions: what is predicted from what.
//
// RecordCodec<BitEncoder> packs and RecordCodec<BitDecoder> unpacks with the same code. Every field is either
// one of a few guesses (a decision each) or a number, always under contexts that both sides know. Where the
// packer must find something out first, such as which object lives at an address, the code asks kEncodes.
//
// Decoding takes bytes from anywhere: Code() returns false when they make no sense, and a record that came
// out is valid by itself. Memory: bounded by the records coded, and about 30 MiB of tables.
#ifndef PLATEAU_ANALYZER_PACK_RECORD_CODEC_H_
#define PLATEAU_ANALYZER_PACK_RECORD_CODEC_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "analyzer/pack/bit_coder.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/column_layout.h"
#include "analyzer/pack/extension_codec.h"
#include "analyzer/pack/guess.h"
#include "analyzer/pack/heap_codec.h"
#include "analyzer/pack/mixed_model.h"
#include "analyzer/pack/packed_record.h"
#include "analyzer/pack/site_codec.h"
#include "analyzer/pack/stack_codec.h"
#include "analyzer/pack/stack_model.h"

namespace plateau {

template <typename Coder>
class RecordCodec {
 public:
  // `tick`: most times are a multiple of it apart. `raw_bytes`: of the records, as the block's header says.
  RecordCodec(Coder* coder, uint64_t first_tsc, uint64_t tick, uint32_t raw_bytes,
              uint8_t version = kColumnsVersion)
      : RecordCodec(coder, first_tsc, tick, TableBits(raw_bytes)) {
    if (version == kColumnsZstdExtensions) return;
    extensions_.emplace(&state_, raw_bytes, TextTableBits(raw_bytes));
    state_.match.emplace(TableBits(raw_bytes));
    if (version >= kColumnsGlibc) heap_.ImitateGlibc();
  }
  RecordCodec(const RecordCodec&) = delete;
  RecordCodec& operator=(const RecordCodec&) = delete;

  // From version 5 on, before the first record: what the heap was, or nullptr. False at damage.
  bool CodeStart(const HeapStart* start) { return heap_.CodeStart(start); }
  // Packs *record, or unpacks into it. False at damage.
  bool Code(PackedRecord* r) {
    if (state_.AfterNode()) {
      const bool is_next = stack_codec_.CodeNextNode(r);
      state_.Charge(PackColumn::kNodeLocation);
      if (is_next) {
        state_.kinds = state_.kinds << 4 | static_cast<uint32_t>(r->kind);
        return true;
      }
    }
    CodeKind(&r->kind);
    state_.Charge(PackColumn::kKind);
    bool ok = true;
    switch (r->kind) {
      case PackedKind::kAlloc:
      case PackedKind::kAllocIn:
        CodeAlloc(r);
        break;
      case PackedKind::kFree:
      case PackedKind::kFreeIn: {
        uint64_t bytes = 0;
        ok = heap_.CodeFree(r, r->kind == PackedKind::kFree ? Heap::kMalloc : Heap::kPymalloc, &bytes);
        CodeEventTime(r, bytes);
        break;
      }
      case PackedKind::kNode:
      case PackedKind::kOtherNode:
        ok = stack_codec_.CodeNode(r);
        break;
      case PackedKind::kPc:
      case PackedKind::kPythonLocation:
        stack_codec_.CodeLocation(r);
        break;
      case PackedKind::kTime:
        CodeTime(r);
        break;
      case PackedKind::kTensor:
        heap_.CodeTensor(r);
        state_.Charge(PackColumn::kTensor);
        break;
      case PackedKind::kTensorGone:
        ok = heap_.CodeTensorGone(r);
        state_.Charge(PackColumn::kTensor);
        break;
      case PackedKind::kExtension:
        ok = !extensions_.has_value() || extensions_->Code(&r->extension);
        state_.Repeat(HashOf(1, 10), r->kind, kNoObject, 0);
        state_.Charge(PackColumn::kExtension);
        break;
      case PackedKind::kEnd:
        break;
      default:
        return false;
    }
    state_.kinds = state_.kinds << 4 | static_cast<uint32_t>(r->kind);
    return ok;
  }

  // From now on `costs` grows by what each column takes.
  void CountCosts(PackCosts* costs) { state_.costs = costs; }
  uint32_t last_node() const { return stacks_.last_node(); }
  uint64_t last_tsc() const { return last_tsc_; }

 private:
  RecordCodec(Coder* coder, uint64_t first_tsc, uint64_t tick, int table_bits)
      : state_{*coder},
        tick_(tick),
        last_tsc_(first_tsc),
        stacks_(table_bits),
        heap_(&state_, table_bits),
        sites_(&state_, &stacks_, &heap_.objects(), table_bits),
        stack_codec_(&state_, &stacks_, table_bits),
        kind_guesses_{GuessTable<PackedKind>(table_bits), GuessTable<PackedKind>(table_bits)} {}

  // The kind that followed here the last time, by two ideas of "here"; otherwise its number.
  void CodeKind(PackedKind* kind) {
    const EventMatch::Event* const repeated = state_.Repeated();
    const bool is_sure = repeated != nullptr && state_.match->IsSure();
    if (is_sure && CodeRepeatedKind(*repeated, kind)) return;  // nothing new to learn
    const uint32_t last = state_.kinds & 15;
    const std::array<Guess<PackedKind>*, 2> guesses = {
        kind_guesses_[0].At(HashOf(state_.kinds & 0xff, state_.place, state_.history[0])),
        kind_guesses_[1].At(HashOf(last, state_.place))};
    const bool agrees = repeated != nullptr && guesses[0]->Exists() && guesses[0]->value == repeated->kind;
    bool is_guessed = false;
    for (size_t i = 0; i < 2 && !is_guessed; ++i) {
      Guess<PackedKind>& guess = *guesses[i];
      if (i == 1 && repeated != nullptr && !is_sure && !agrees) {
        is_guessed = CodeRepeatedKind(*repeated, kind);
        if (is_guessed) break;
      }
      if (!guess.Exists() || (i == 1 && guesses[0]->Exists() && guess.value == guesses[0]->value)) continue;
      if (repeated != nullptr && guess.value == repeated->kind && (is_sure || !agrees)) continue;
      const size_t support = repeated == nullptr ? 0 : (agrees ? 1 : 3) + (is_sure ? 1 : 0);
      const size_t context =
          (((support * 2 + i) * kTrusts + guess.Trust()) * 16 + static_cast<size_t>(guess.value)) * 16 + last;
      is_guessed = kind_flags_.Flag(state_.coder, guess.value == *kind, &guess.chance, context);
      if (is_guessed) *kind = guess.value;
    }
    if (!is_guessed) {
      uint32_t node = 1;
      for (int i = 3; i >= 0; --i) {
        const bool bit = (static_cast<uint32_t>(*kind) >> i & 1) != 0;
        node = node << 1 | (kind_tree_.Flag(state_.coder, bit, last * 16 + node) ? 1 : 0);
      }
      *kind = static_cast<PackedKind>(node - 16);
    }
    for (Guess<PackedKind>* guess : guesses) guess->Learn(*kind);
  }

  // The kind that followed the last time when the same events happened.
  bool CodeRepeatedKind(const EventMatch::Event& repeated, PackedKind* kind) {
    const bool is_it =
        repeat_flags_.Flag(state_.coder, repeated.kind == *kind,
                           &repeat_chances_[state_.match->Trust() * 16 + static_cast<size_t>(repeated.kind)],
                           (state_.kinds & 15) * 64 + (repeat_hits_ & 63));
    repeat_hits_ = repeat_hits_ << 1 | (is_it ? 1 : 0);
    if (is_it) *kind = repeated.kind;
    return is_it;
  }

  void CodeAlloc(PackedRecord* r) {
    const Heap heap = r->kind == PackedKind::kAlloc ? Heap::kMalloc : Heap::kPymalloc;
    sites_.Code(r, heap);
    stacks_.OnStack(r->stack);
    state_.place = stacks_.PlaceOf(r->stack);
    heap_.CodeAlloc(r, heap, state_.place);
    CodeEventTime(r, r->bytes);
  }

  // The shim stamps every so many events, and large ones.
  void CodeEventTime(PackedRecord* r, uint64_t bytes) {
    events_since_time_ = std::min(events_since_time_ + 1, kMostEvents);
    const size_t context = ((static_cast<size_t>(r->kind) & 7) * (kMostEvents + 1) + events_since_time_) * 2;
    r->has_time = time_flags_.Flag(state_.coder, r->has_time, context + (bytes >= 4096 ? 1 : 0));
    state_.Charge(PackColumn::kTimeFlag);
    if (r->has_time) CodeTime(r);
  }
  // Never runs backwards.
  void CodeTime(PackedRecord* r) {
    const uint64_t delta = r->tsc > last_tsc_ ? r->tsc - last_tsc_ : 0;
    const uint64_t scale = odd_time_.Flag(state_.coder, delta % tick_ != 0, 0) ? 1 : tick_;
    const int width = static_cast<int>(std::bit_width(last_delta_));
    const uint64_t number = times_.Number(
        state_.coder, delta / scale,
        HashOf(events_since_time_, scale,
               static_cast<uint64_t>(r->kind) << 4 | std::min(state_.fresh_pages, 15u)),
        HashOf(static_cast<uint64_t>(width), last_delta_ >> std::max(0, width - 3), events_since_time_), 8);
    last_tsc_ += number * scale;
    r->tsc = last_tsc_;
    last_delta_ = number;
    state_.fresh_pages = 0;
    events_since_time_ = 0;
    state_.Charge(PackColumn::kTime);
  }

  static constexpr uint32_t kMostEvents = 63;

  CodecState<Coder> state_;
  const uint64_t tick_;
  uint64_t last_tsc_;
  StackModel stacks_;
  HeapCodec<Coder> heap_;
  SiteCodec<Coder> sites_;
  StackCodec<Coder> stack_codec_;
  std::optional<ExtensionCodec<Coder>> extensions_;
  std::array<GuessTable<PackedKind>, 2> kind_guesses_;
  MixedFlags kind_flags_{5 * 2 * kTrusts * 16 * 16};
  FlagModel kind_tree_{256};
  MixedFlags repeat_flags_{16 * 64};
  std::array<Chance, 256> repeat_chances_;
  uint32_t repeat_hits_ = 0;
  FlagModel time_flags_{8 * (kMostEvents + 1) * 2};
  FlagModel odd_time_{1};
  MixedNumbers times_{10};
  uint64_t last_delta_ = 0;
  uint32_t events_since_time_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_RECORD_CODEC_H_
