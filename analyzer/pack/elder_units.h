// How large the chunks are of objects that were born before a packed block, in the order in which it frees
// them.
//
// Guessed from what followed the last twenty sizes the last time. Else by rhythm: a loop allocates objects of
// several kinds in turn, so the size as many frees ago as there are kinds tells most. How many that is
// follows from which distance was right most often of late.
#ifndef PLATEAU_ANALYZER_PACK_ELDER_UNITS_H_
#define PLATEAU_ANALYZER_PACK_ELDER_UNITS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/pack/guess.h"
#include "analyzer/pack/mixed_model.h"

namespace plateau {

class ElderUnits {
 public:
  explicit ElderUnits(int table_bits) : guesses_(table_bits) {}

  // Encodes `units`, or decodes and returns them.
  template <typename Coder>
  uint32_t Code(Coder& coder, uint32_t units) {
    Guess<uint32_t>* const guess = guesses_.At(history_ * 0x9e3779b97f4a7c15u);
    const bool is_guessed =
        guess->Exists() && flags_.Flag(coder, units == guess->value, &guess->chance, guess->Trust());
    if (is_guessed) {
      units = guess->value;
    } else {
      const uint32_t like = Before(distance_);
      units = static_cast<uint32_t>(
          numbers_.Number(coder, units, HashOf(like, 0), HashOf(like, Before(2 * distance_)), 8));
    }
    guess->Learn(units);
    Remember(units);
    return units;
  }

 private:
  static constexpr int kNumberTableBits = 12;
  // Each multiplication shifts by 3 bits, so that the last 21 count.
  static constexpr uint64_t kHistoryFactor = 0x2545f4914f6cdd1du << 3;
  static constexpr size_t kFarthest = 8;
  static constexpr uint32_t kHit = 1024;
  static constexpr uint32_t kRecent = 32;                // about how many count
  static constexpr uint32_t kHalf = kHit * kRecent / 2;  // of them were right

  // The one so many frees ago.
  uint32_t Before(size_t distance) const { return ring_[(next_ - distance) % ring_.size()]; }

  void Remember(uint32_t units) {
    for (size_t i = 0; i < kFarthest; ++i)
      hits_[i] += (Before(i + 1) == units ? kHit : 0) - hits_[i] / kRecent;
    const auto best = std::max_element(hits_.begin(), hits_.end());
    distance_ = *best >= kHalf ? static_cast<size_t>(best - hits_.begin()) + 1 : 1;
    ring_[next_++ % ring_.size()] = units;
    history_ = history_ * kHistoryFactor + units;
  }

  GuessTable<uint32_t> guesses_;
  MixedFlags flags_{kTrusts};
  MixedNumbers numbers_{kNumberTableBits};
  uint64_t history_ = 0;
  std::array<uint32_t, 2 * kFarthest> ring_ = {};
  size_t next_ = 0;
  std::array<uint32_t, kFarthest> hits_ = {};  // how often each distance was right, the latest counting most
  size_t distance_ = 1;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_ELDER_UNITS_H_
