// Tables of what followed a context the last time, with how far that may be trusted.
#ifndef PLATEAU_ANALYZER_PACK_GUESS_H_
#define PLATEAU_ANALYZER_PACK_GUESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/pack/mixed_model.h"

namespace plateau {

template <typename Value>
struct Guess {
  Value value = {};
  Chance chance;        // of being right
  uint8_t right = 255;  // how often in a row; 255: there is no guess yet

  bool Exists() const { return right != 255; }
  // 0 to 10.
  uint32_t Trust() const { return right < 8 ? right : right < 32 ? 8 : right < 254 ? 9 : 10; }
  void Learn(const Value& actual) {
    if (Exists() && value == actual) {
      if (right < 254) ++right;
    } else {
      value = actual;
      right = 0;
    }
  }
};
inline constexpr uint32_t kTrusts = 11;

// Found by hash; contexts that meet overwrite each other.
template <typename Value>
class GuessTable {
 public:
  explicit GuessTable(int bits) : shift_(64 - bits), guesses_(size_t{1} << bits) {}
  Guess<Value>* At(uint64_t hash) { return &guesses_[hash >> shift_]; }

 private:
  int shift_;
  std::vector<Guess<Value>> guesses_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_GUESS_H_
