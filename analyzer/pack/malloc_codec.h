// The addresses that malloc returns. From version 5 on glibc's malloc is imitated and asked first; what it
// does not know is found among the blocks freed last, behind the last one, or written out.
#ifndef PLATEAU_ANALYZER_PACK_MALLOC_CODEC_H_
#define PLATEAU_ANALYZER_PACK_MALLOC_CODEC_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/pack/allocator_model.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/far_address.h"
#include "analyzer/pack/glibc_model.h"
#include "analyzer/pack/glibc_state.h"
#include "analyzer/pack/mixed_model.h"

namespace plateau {

template <typename Coder>
class MallocCodec {
 public:
  MallocCodec(CodecState<Coder>* state, FarAddresses* far_addresses)
      : state_(*state), far_addresses_(*far_addresses), bin_flags_(MallocModel::kBins * 8) {}

  // From version 5 on.
  void ImitateGlibc() { glibc_.emplace(); }
  // What is free before the first event. False at damage.
  bool CodeStart(const GlibcModel* start) {
    if (start != nullptr) *glibc_ = *start;
    return GlibcStateCodec<Coder>(&state_.coder).Code(&*glibc_);
  }

  // The address of an allocation whose class and size are known. Returns by how many units of 16 its chunk is
  // larger than it need be.
  uint8_t CodeAddress(PackedRecord* r, uint32_t class_id) {
    const uint64_t need = GlibcModel::ChunkBytes(r->bytes);
    uint64_t got = need;
    if (!glibc_.has_value() || !CodeByGlibc(r, class_id, need, &got)) CodeByBins(r);
    last_address_ = r->address;
    return static_cast<uint8_t>((got - need) / 16);
  }
  // `slack`: what CodeAddress() returned for it.
  void OnFree(uint64_t address, uint64_t bytes, uint8_t slack, bool is_realloc) {
    last_freed_ = address;
    bins_.OnFree(bytes, address);
    if (glibc_.has_value()) glibc_->OnFree(address, GlibcModel::ChunkBytes(bytes) + slack * 16u, is_realloc);
  }
  // Of an object that was not born here. `units`: of 16 that its chunk has, 0 when that is not known.
  void OnUnknownFree(uint64_t address, uint32_t units, bool is_realloc) {
    last_freed_ = address;
    bins_.OnUnknownFree(address);
    if (glibc_.has_value()) glibc_->OnFree(address, uint64_t{units} * 16, is_realloc);
  }

 private:
  static constexpr bool kEncodes = Coder::kEncodes;

  struct Beliefs {
    Chance is_cached, is_taken;
  };

  // False when it is not where glibc would put it.
  bool CodeByGlibc(PackedRecord* r, uint32_t class_id, uint64_t need, uint64_t* got) {
    if (beliefs_.size() <= class_id) beliefs_.resize(class_id + 1);
    Beliefs& beliefs = beliefs_[class_id];
    const uint64_t cached = glibc_->Cached(need, r->is_realloc);
    if (cached != 0) {
      // Not every function asks the cache: calloc does not.
      const bool is_cached =
          cache_flags_.Flag(state_.coder, r->address == cached, &beliefs.is_cached, cache_hits_ & 255);
      cache_hits_ = cache_hits_ << 1 | (is_cached ? 1 : 0);
      if (is_cached) {
        glibc_->TakeCached(need);
        OnFound(r, cached);
        return true;
      }
    }
    const GlibcModel::Chunk chunk = glibc_->Take(need, r->is_realloc);
    bool is_taken = false;
    if (chunk.bytes != 0) {
      is_taken = take_flags_.Flag(state_.coder, r->address == chunk.address(), &beliefs.is_taken,
                                  static_cast<size_t>(chunk.source) * 256 + (take_hits_ & 255));
      take_hits_ = take_hits_ << 1 | (is_taken ? 1 : 0);
    }
    if (!is_taken) {
      refused_ = {chunk, cached != 0};
      return false;
    }
    *got = chunk.bytes;
    OnFound(r, chunk.address());
    if (chunk.source == GlibcModel::Source::kTop) OnNewEnd();
    return true;
  }
  void OnFound(PackedRecord* r, uint64_t address) {
    r->address = address;
    bins_.OnAlloc(r->bytes, address, bins_.Find(r->bytes, address));
  }

  void CodeByBins(PackedRecord* r) {
    enum Outcome : uint32_t { kTop, kBump, kLastFreed, kDeep, kUnsized, kFar };
    const size_t bin = bins_.BinOf(r->bytes);
    const size_t depth = bins_.Depth(r->bytes);
    size_t step = 0;
    const auto flag = [&](bool bit) {
      Chance* const own = &bin_flags_[bin * 8 + step];
      const size_t context =
          ((step * 2 + (r->is_realloc ? 1 : 0)) * 2 + (depth == 0 ? 1 : 0)) * 512 + (outcomes_ & 511);
      ++step;
      return address_flags_.Flag(state_.coder, bit, own, context);
    };
    const int found = kEncodes ? bins_.Find(r->bytes, r->address) : -1;
    Outcome outcome = kFar;
    int rank = -1;
    if (r->is_realloc && flag(r->address == last_freed_)) {
      outcome = kLastFreed;
      r->address = last_freed_;
      rank = bins_.Find(r->bytes, r->address);
    } else if (depth > 0 && flag(found == 0)) {
      outcome = kTop;
      rank = 0;
    } else if (flag(r->address == bins_.Bump())) {
      outcome = kBump;
      r->address = bins_.Bump();
      rank = bins_.Find(r->bytes, r->address);
    } else if (depth > 1 && flag(found > 0)) {
      outcome = kDeep;
      const uint64_t deep = depths_.Number(state_.coder, static_cast<uint64_t>(found - 1), 0);
      rank = 1 + static_cast<int>(std::min<uint64_t>(deep, depth - 2));
    } else {
      size_t i = 0;
      while (i < MallocModel::kUnsized && !flag(r->address == bins_.Unsized(i))) ++i;
      if (i < MallocModel::kUnsized) {
        outcome = kUnsized;
        r->address = bins_.Unsized(i);
      } else {
        r->address = far_addresses_.Code(state_.coder, r->address, &last_address_, FarAddresses::kMalloc);
      }
    }
    if (rank >= 0) r->address = bins_.At(r->bytes, static_cast<size_t>(rank));
    bins_.OnAlloc(r->bytes, r->address, rank);
    if (outcome == kBump) OnNewEnd();
    outcomes_ = outcomes_ << 3 | outcome;
    if (glibc_.has_value()) {
      glibc_->Correct(refused_.chunk, refused_.was_cached, r->address, GlibcModel::ChunkBytes(r->bytes));
    }
  }

  // An object was put behind all others.
  void OnNewEnd() {
    const uint64_t page = bins_.Bump() >> 12;
    if (page > last_page_ && page - last_page_ < 16)
      state_.fresh_pages += static_cast<uint32_t>(page - last_page_);
    last_page_ = page;
  }

  CodecState<Coder>& state_;
  FarAddresses& far_addresses_;
  std::optional<GlibcModel> glibc_;
  std::vector<Beliefs> beliefs_;  // by class
  MixedFlags cache_flags_{256};
  MixedFlags take_flags_{GlibcModel::kSources * 256};
  uint32_t cache_hits_ = 0, take_hits_ = 0;
  struct {
    GlibcModel::Chunk chunk;
    bool was_cached;
  } refused_ = {};  // what glibc would have done
  MallocModel bins_;
  std::vector<Chance> bin_flags_;
  MixedFlags address_flags_{10 * 4 * 512};
  NumberModel depths_{1};
  uint32_t outcomes_ = 0;
  uint64_t last_address_ = 0, last_freed_ = 0, last_page_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_MALLOC_CODEC_H_
