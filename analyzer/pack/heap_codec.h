// Where an object is put and which one is freed.
#ifndef PLATEAU_ANALYZER_PACK_HEAP_CODEC_H_
#define PLATEAU_ANALYZER_PACK_HEAP_CODEC_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/pack/allocator_model.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/elder_units.h"
#include "analyzer/pack/far_address.h"
#include "analyzer/pack/guess.h"
#include "analyzer/pack/heap_tracker.h"
#include "analyzer/pack/malloc_codec.h"
#include "analyzer/pack/object_model.h"

namespace plateau {

template <typename Coder>
class HeapCodec {
 public:
  HeapCodec(CodecState<Coder>* state, int table_bits)
      : state_(*state),
        table_bits_(table_bits),
        malloc_(state, &far_addresses_),
        free_guesses_{Classes(table_bits), Classes(table_bits - 1), Classes(table_bits - 2)},
        unknown_guesses_{GuessTable<uint64_t>(table_bits - 2), GuessTable<uint64_t>(table_bits - 2)} {}

  // From version 5 on.
  void ImitateGlibc() { malloc_.ImitateGlibc(); }
  // Then too, before the first record: what the heap was, or nullptr. False at damage.
  bool CodeStart(const HeapStart* start) {
    if (!flags_.Flag(state_.coder, start != nullptr, kHasStart)) return true;
    elders_.emplace(table_bits_);
    start_ = start;
    const bool is_good = malloc_.CodeStart(start == nullptr ? nullptr : &start->malloc);
    state_.Charge(PackColumn::kHeapStart);
    return is_good;
  }
  const ObjectModel& objects() const { return objects_; }

  // The address of an allocation whose size is known. `place`: its line of code.
  void CodeAlloc(PackedRecord* r, Heap heap, uint64_t place) {
    const uint32_t class_id = objects_.ClassOf(r->bytes, place, heap);
    uint8_t slack = 0;
    if (heap == Heap::kMalloc) {
      r->is_realloc =
          flags_.Flag(state_.coder, r->is_realloc, after_realloc_ ? kReallocAlloc + 1 : kReallocAlloc);
      slack = malloc_.CodeAddress(r, class_id);
      after_realloc_ = false;
    } else {
      CodePymallocAddress(r);
    }
    objects_.OnAlloc(r->address, r->bytes, class_id, heap, slack, /*index_by_address=*/kEncodes);
    state_.Remember(HashOf(class_id, 0));
    state_.Repeat(state_.history[0], r->kind, objects_.newest(), r->stack);
    state_.Charge(PackColumn::kAddress);
  }

  // False at damage. `bytes` is set to what is freed, 0 when that is not known.
  bool CodeFree(PackedRecord* r, Heap heap, uint64_t* bytes) {
    uint32_t object = kEncodes ? objects_.Find(r->address, heap) : kNoObject;
    const size_t h = static_cast<size_t>(heap);
    bool is_found = gone_tensor_ != kNoObject && heap == Heap::kMalloc &&
                    flags_.Flag(state_.coder, object == gone_tensor_, kGoneTensorFreed);
    if (is_found) object = gone_tensor_;
    gone_tensor_ = kNoObject;
    is_found = is_found || CodeRepeatedFree(&object, r->kind, heap);
    const bool is_unknown =
        !is_found && flags_.Flag(state_.coder, object == kNoObject, kUnknown + h * 64 + (unknowns_ & 63));
    if (!is_found) unknowns_ = unknowns_ << 1 | (is_unknown ? 1 : 0);
    uint8_t slack = 0;
    if (is_unknown) {
      CodeUnknownFree(r, heap);
      *bytes = 0;
      state_.Remember(HashOf(h, 9));
      state_.Repeat(state_.history[0], r->kind, kNoObject, 0);
      state_.Charge(PackColumn::kUnknownFree);
    } else {
      if (!is_found && !CodeObject(&object, heap, 20 + h, &hits_)) return false;
      const ObjectModel::Object& o = objects_.Get(object);
      r->address = o.address;
      *bytes = o.bytes;
      slack = o.slack;
      objects_.OnFree(object, /*is_indexed=*/kEncodes);
      if (heap == Heap::kPymalloc) pymalloc_.OnFree(*bytes, r->address);
      state_.Remember(HashOf(o.class_id, 1));
      state_.Repeat(state_.history[0], r->kind, object, freed_object_);
      freed_object_ = object;
    }
    if (heap == Heap::kMalloc) {
      r->is_realloc = after_realloc_ =
          flags_.Flag(state_.coder, r->is_realloc, kReallocFree + (state_.history[0] >> 32) % kReallocFlags);
      if (is_unknown) {
        malloc_.OnUnknownFree(r->address, last_elder_units_, r->is_realloc);
      } else {
        malloc_.OnFree(r->address, *bytes, slack, r->is_realloc);
      }
    }
    state_.Charge(PackColumn::kObject);
    return true;
  }

  // Nearly always the object allocated last, in its full size.
  void CodeTensor(PackedRecord* r) {
    uint32_t object = objects_.newest();
    const bool is_newest =
        object != kNoObject &&
        flags_.Flag(state_.coder, objects_.Get(object).address == r->address, kNewestIsTensor);
    if (!is_newest) object = kNoObject;
    r->address = is_newest
                     ? objects_.Get(object).address
                     : far_addresses_.Code(state_.coder, r->address, &last_tensor_, FarAddresses::kTensor);
    last_tensor_ = r->address;
    const uint64_t bytes = is_newest ? objects_.Get(object).bytes : 0;
    if (is_newest && flags_.Flag(state_.coder, r->bytes == bytes, kTensorFillsObject)) {
      r->bytes = bytes;
    } else {
      r->bytes = numbers_.Number(state_.coder, r->bytes, kTensorBytes);
    }
    state_.Repeat(HashOf(is_newest ? 1 : 0, 11), r->kind, object, 0);
  }
  // False at damage.
  bool CodeTensorGone(PackedRecord* r) {
    uint32_t object = kEncodes ? objects_.Find(r->address, Heap::kMalloc) : kNoObject;
    if (flags_.Flag(state_.coder, object == kNoObject, kUnknownTensor)) {
      r->address = far_addresses_.Code(state_.coder, r->address, &last_tensor_, FarAddresses::kTensor);
      state_.Repeat(HashOf(0, 12), r->kind, kNoObject, 0);
      return true;
    }
    if (!CodeRepeatedFree(&object, r->kind, Heap::kMalloc) &&
        !CodeObject(&object, Heap::kMalloc, 22, &tensor_hits_)) {
      return false;
    }
    gone_tensor_ = object;
    state_.Repeat(HashOf(objects_.Get(object).class_id, 12), r->kind, object, freed_object_);
    r->address = last_tensor_ = objects_.Get(object).address;
    return true;
  }

 private:
  static constexpr bool kEncodes = Coder::kEncodes;
  static constexpr size_t kOrders = 3;
  static constexpr size_t kSources = kOrders + 3;
  static constexpr size_t kReallocFlags = 1024;
  using Classes = GuessTable<uint32_t>;
  using Hits = std::array<uint32_t, kSources>;  // of each source, 1 bit each

  enum FlagContext : size_t {
    kReallocAlloc,
    kUnknown = kReallocAlloc + 2,
    kReallocFree = kUnknown + 128,
    kNewestIsTensor = kReallocFree + kReallocFlags,
    kTensorFillsObject,
    kUnknownTensor,
    kGoneTensorFreed,
    kHasStart,
    kFlagCount,
  };
  enum NumberContext : size_t {
    kRank,
    kTensorBytes = kRank + 2,
    kNumberCount,
  };

  void CodePymallocAddress(PackedRecord* r) {
    const uint64_t guess = pymalloc_.Guess(r->bytes);
    const bool is_guessed =
        pymalloc_flags_.Flag(state_.coder, r->address == guess,
                             &pymalloc_class_flags_[pymalloc_.ClassOf(r->bytes)], pymalloc_hits_ & 255);
    pymalloc_hits_ = pymalloc_hits_ << 1 | (is_guessed ? 1 : 0);
    r->address = is_guessed ? guess
                            : far_addresses_.Code(state_.coder, r->address, &last_in_address_,
                                                  FarAddresses::kPymalloc);
    last_in_address_ = r->address;
    pymalloc_.OnAlloc(r->bytes, r->address);
  }

  // Units of the chunk of an object from before this block, which follow those freed before it.
  void CodeElderUnits(uint64_t address) {
    if (!elders_.has_value()) return;
    uint32_t units = 0;
    if (start_ != nullptr && elder_ < start_->elders.size() && start_->elders[elder_].address == address)
      units = start_->elders[elder_++].units;
    last_elder_units_ = elders_->Code(state_.coder, units);
    if (last_elder_units_ < 2) last_elder_units_ = 0;
  }

  // Of another thread, or from before this block: what followed the last such address before, or the address.
  void CodeUnknownFree(PackedRecord* r, Heap heap) {
    std::array<uint64_t, 2>& last = last_unknown_[static_cast<size_t>(heap)];
    const std::array<Guess<uint64_t>*, 2> guesses = {unknown_guesses_[0].At(HashOf(last[0], last[1])),
                                                     unknown_guesses_[1].At(HashOf(last[0], 0))};
    uint64_t address = 0;
    bool is_guessed = false;
    if (heap == Heap::kMalloc) {
      const uint32_t units_before = last_elder_units_;
      CodeElderUnits(r->address);
      if (units_before != 0) {
        address = last[0] + uint64_t{units_before} * 16;
        is_guessed = unknown_flags_.Flag(state_.coder, address == r->address, &next_elder_,
                                         2 * kTrusts + (next_elders_ & 255));
        next_elders_ = next_elders_ << 1 | (is_guessed ? 1 : 0);
      }
    }
    for (size_t i = 0; i < 2 && !is_guessed; ++i) {
      Guess<uint64_t>& guess = *guesses[i];
      if (!guess.Exists() || (i == 1 && guess.value == guesses[0]->value && guesses[0]->Exists())) continue;
      is_guessed = unknown_flags_.Flag(state_.coder, guess.value == r->address, &guess.chance,
                                       i * kTrusts + guess.Trust());
      address = guess.value;
    }
    if (!is_guessed) {
      address = last[0];
      far_addresses_.Code(
          state_.coder, r->address, &address,
          FarAddresses::kUnknown + static_cast<size_t>(heap) * FarAddresses::kUnknownWidths + unknown_width_);
      unknown_width_ =
          std::min<size_t>(std::bit_width(address > last[0] ? address - last[0] : last[0] - address) / 4,
                           FarAddresses::kUnknownWidths - 1);
    }
    r->address = address;
    for (Guess<uint64_t>* guess : guesses) guess->Learn(address);
    last = {address, last[0]};
    if (heap == Heap::kPymalloc) pymalloc_.OnFree(0, address);
  }

  // The object that plays the part of the one that was freed here the last time: by its birth, or born as far
  // from the one freed before it.
  bool CodeRepeatedFree(uint32_t* object, PackedKind kind, Heap heap) {
    const EventMatch::Event* const repeated = state_.Repeated();
    if (repeated == nullptr || repeated->kind != kind || repeated->object == kNoObject) return false;
    const std::array<uint32_t, 2> candidates = {state_.match->TwinOf(repeated->object),
                                                freed_object_ + (repeated->object - repeated->stack)};
    for (size_t i = 0; i < 2; ++i) {
      const uint32_t candidate = candidates[i];
      if (!objects_.IsAlive(candidate) || objects_.Get(candidate).heap != heap) continue;
      if (i == 1 && candidate == candidates[0]) continue;
      const bool is_it = repeat_flags_.Flag(state_.coder, *object == candidate,
                                            &repeat_chances_[i * 16 + state_.match->Trust()],
                                            i * 256 + (repeat_hits_[i] & 255));
      repeat_hits_[i] = repeat_hits_[i] << 1 | (is_it ? 1 : 0);
      if (is_it) {
        *object = candidate;
        return true;
      }
    }
    return false;
  }

  // Guesses from what was allocated and freed before, then from the order of birth; then its place in it.
  // `purpose`: what it is that happens to the object.
  bool CodeObject(uint32_t* object, Heap heap, uint64_t purpose, Hits* hits) {
    std::array<uint32_t, kSources> tried;
    std::array<Guess<uint32_t>*, kOrders> guesses;
    bool is_found = false;
    for (size_t source = 0; source < kSources; ++source) {
      uint32_t candidate = kNoObject;
      uint32_t trust = 0;
      Chance* own = &source_chances_[source];
      if (source < kOrders) {
        Guess<uint32_t>* guess = guesses[source] =
            free_guesses_[source].At(state_.HistoryHash(source, purpose));
        if (guess->Exists()) {
          candidate = objects_.Next(guess->value);
          trust = guess->Trust();
          own = &guess->chance;
        }
      } else {
        candidate = source == kOrders       ? objects_.next_newer()
                    : source == kOrders + 1 ? objects_.newest()
                                            : objects_.next_older();
        own = &source_chances_[source * 256 + (state_.history[0] >> 32) % 256];
      }
      tried[source] = candidate;
      if (is_found || candidate == kNoObject || objects_.Get(candidate).heap != heap) continue;
      if (std::find(tried.begin(), tried.begin() + source, candidate) != tried.begin() + source) continue;
      const size_t context = ((source * kTrusts + trust) * 8 + ((*hits)[source] & 7)) * 16 +
                             ((*hits)[kOrders] & 3) * 4 + ((*hits)[kOrders + 1] & 3);
      is_found = object_flags_.Flag(state_.coder, *object == candidate, own, context);
      if (is_found) *object = candidate;
    }
    if (!is_found) {
      const uint64_t rank = numbers_.Number(state_.coder, kEncodes ? objects_.RankOf(*object) : 0,
                                            kRank + static_cast<size_t>(heap));
      if (rank >= objects_.live()) return false;
      *object = objects_.Select(static_cast<uint32_t>(rank));
      if (objects_.Get(*object).heap != heap) return false;
    }
    for (size_t source = 0; source < kSources; ++source) {
      if (tried[source] != kNoObject)
        (*hits)[source] = (*hits)[source] << 1 | (tried[source] == *object ? 1 : 0);
    }
    for (Guess<uint32_t>* guess : guesses) guess->Learn(objects_.Get(*object).class_id);
    return true;
  }

  CodecState<Coder>& state_;
  const int table_bits_;
  ObjectModel objects_;
  FarAddresses far_addresses_;
  MallocCodec<Coder> malloc_;
  PymallocModel pymalloc_;
  std::array<Classes, kOrders> free_guesses_;
  std::array<GuessTable<uint64_t>, 2> unknown_guesses_;
  std::vector<Chance> source_chances_ = std::vector<Chance>(kSources * 256);
  std::array<Chance, PymallocModel::kClasses> pymalloc_class_flags_;
  MixedFlags pymalloc_flags_{256};
  MixedFlags unknown_flags_{2 * kTrusts + 256};
  MixedFlags repeat_flags_{2 * 256};
  std::array<Chance, 2 * 16> repeat_chances_;
  std::array<uint32_t, 2> repeat_hits_ = {};
  uint32_t freed_object_ = 0;
  MixedFlags object_flags_{kSources * kTrusts * 128};
  FlagModel flags_{kFlagCount};
  NumberModel numbers_{kNumberCount};
  std::array<std::array<uint64_t, 2>, 2> last_unknown_ = {};  // of each heap, the newest first
  Hits hits_ = {}, tensor_hits_ = {};
  uint32_t gone_tensor_ = kNoObject;  // since the last free
  size_t unknown_width_ = 0;
  const HeapStart* start_ = nullptr;  // packer only
  std::optional<ElderUnits> elders_;  // when there is a start
  size_t elder_ = 0;
  uint32_t last_elder_units_ = 0;
  Chance next_elder_;  // lies behind the last one
  uint32_t next_elders_ = 0;
  uint64_t last_in_address_ = 0, last_tensor_ = 0;
  uint32_t pymalloc_hits_ = 0, unknowns_ = 0;
  bool after_realloc_ = false;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_HEAP_CODEC_H_
