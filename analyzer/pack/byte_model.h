// Predicts bytes from many contexts at once: what text and tables are packed with.
//
// Every context has, for each half of the byte, a line of probabilities in one table; a line knows whose it
// is, so a context that is new has no opinion. One more opinion comes from the last place where the same
// bytes stood. They meet in the logistic domain under weights that are trained on the way, a set of weights
// for each kind of bytes and for each input one by how often its probability was asked before.
#ifndef PLATEAU_ANALYZER_PACK_BYTE_MODEL_H_
#define PLATEAU_ANALYZER_PACK_BYTE_MODEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/pack/mixed_model.h"

namespace plateau {

// Where the bytes before the next one stood the last time, and what followed them there.
class ByteMatch {
 public:
  static constexpr size_t kShortest = 5;

  explicit ByteMatch(int table_bits) : shift_(64 - table_bits), places_(size_t{1} << table_bits) {}

  // 0: nothing is known.
  size_t length() const { return length_; }
  uint8_t Predicted(const std::string& bytes) const { return static_cast<uint8_t>(bytes[place_]); }
  // A byte was appended to `bytes`.
  void Advance(const std::string& bytes) {
    if (length_ > 0 && bytes[place_] == bytes.back()) {
      ++length_;
      ++place_;
    } else {
      length_ = 0;
    }
    if (bytes.size() < kShortest) return;
    uint64_t tail = 0;
    for (size_t i = bytes.size() - kShortest; i < bytes.size(); ++i)
      tail = tail << 8 | static_cast<uint8_t>(bytes[i]);
    uint32_t& place = places_[HashOf(tail, 1) >> shift_];
    if (length_ == 0 && place > 0) {
      place_ = place;
      while (length_ < kLongest && length_ < place_ &&
             bytes[place_ - 1 - length_] == bytes[bytes.size() - 1 - length_]) {
        ++length_;
      }
    }
    place = static_cast<uint32_t>(bytes.size());
  }

 private:
  static constexpr size_t kLongest = 32;

  int shift_;
  std::vector<uint32_t> places_;
  size_t place_ = 0;
  size_t length_ = 0;
};

class ByteModel {
 public:
  static constexpr size_t kContexts = 5;
  using Contexts = std::array<uint64_t, kContexts>;

  // `kinds`: of bytes, each with its own weights.
  ByteModel(int table_bits, size_t kinds)
      : shift_(64 - table_bits),
        match_(table_bits),
        lines_(size_t{1} << table_bits),
        weights_(kinds * kMatchClasses * kInputs * kSeenClasses, kOne * 3 / 10),
        order0_(kinds * 256) {}

  // The byte coded so far before the next one, 0 when there is none.
  uint8_t Before(size_t distance) const {
    return distance == 0 || distance > bytes_.size() ? 0
                                                     : static_cast<uint8_t>(bytes_[bytes_.size() - distance]);
  }

  template <typename Coder>
  uint8_t Code(Coder& coder, uint8_t byte, const Contexts& contexts, size_t kind) {
    const size_t match_class = MatchClass();
    const uint32_t predicted = match_class == 0 ? 0 : match_.Predicted(bytes_) | 0x100u;
    int32_t* const weights = &weights_[(kind * kMatchClasses + match_class) * kInputs * kSeenClasses];
    std::array<Line*, kContexts> lines = {};
    uint32_t node = 1;
    for (int i = 7; i >= 0; --i) {
      if (i == 7 || i == 3) {
        for (size_t c = 0; c < kContexts; ++c) lines[c] = Find(HashOf(contexts[c], c, i == 7 ? 0 : node));
      }
      const uint32_t slot = i > 3 ? node : (node & ((1u << (3 - i)) - 1)) | 1u << (3 - i);
      std::array<Chance*, kInputs> chances;
      for (size_t c = 0; c < kContexts; ++c) chances[c] = &lines[c]->chances[slot - 1];
      chances[kContexts] = &order0_[kind * 256 + node];
      const bool is_matched = match_class != 0 && predicted >> (i + 1) == node;
      const uint32_t expected = predicted >> i & 1;
      chances[kContexts + 1] = is_matched ? &match_chances_[match_class * 2 + expected] : &no_match_;
      node = node << 1 | (Mix(coder, (byte >> i & 1) != 0, chances, weights) ? 1 : 0);
      if (!is_matched) no_match_ = Chance();
    }
    bytes_.push_back(static_cast<char>(node));
    match_.Advance(bytes_);
    return static_cast<uint8_t>(node);
  }

 private:
  static constexpr size_t kInputs = kContexts + 2;
  static constexpr int32_t kOne = 1 << 16;
  static constexpr int32_t kMost = 16 * kOne;
  static constexpr size_t kSeenClasses = 6;
  static constexpr size_t kMatchClasses = 8;
  static constexpr std::array<uint8_t, Chance::kMostSeen + 1> kSeenClass = [] {
    std::array<uint8_t, Chance::kMostSeen + 1> classes{};
    for (uint32_t n = 0; n <= Chance::kMostSeen; ++n)
      classes[n] = n == 0 ? 0 : n < 2 ? 1 : n < 4 ? 2 : n < 10 ? 3 : n < 40 ? 4 : 5;
    return classes;
  }();

  struct alignas(64) Line {
    uint32_t owner = 0;
    std::array<Chance, 15> chances;
  };

  size_t MatchClass() const {
    const size_t length = match_.length();
    return length == 0   ? 0
           : length < 6  ? 1
           : length < 8  ? 2
           : length < 12 ? 3
           : length < 16 ? 4
           : length < 24 ? 5
           : length < 32 ? 6
                         : 7;
  }
  Line* Find(uint64_t hash) {
    Line* const line = &lines_[hash >> shift_];
    const uint32_t owner = static_cast<uint32_t>(hash) | 1;
    if (line->owner != owner) *line = {owner, {}};
    return line;
  }
  template <typename Coder>
  static bool Mix(Coder& coder, bool bit, const std::array<Chance*, kInputs>& chances, int32_t* weights) {
    std::array<int32_t, kInputs> logits;
    std::array<int32_t*, kInputs> used;
    int64_t sum = 0;
    for (size_t i = 0; i < kInputs; ++i) {
      logits[i] = logistic::Stretch(chances[i]->Of4096());
      used[i] = &weights[i * kSeenClasses + kSeenClass[chances[i]->seen()]];
      sum += int64_t{*used[i]} * logits[i];
    }
    const uint32_t probability = logistic::Squash(sum >> 16);
    bit = coder.Code(bit, probability);
    const int32_t error = ((bit ? 65535 : 0) - static_cast<int32_t>(probability)) >> 1;
    for (size_t i = 0; i < kInputs; ++i) {
      *used[i] = std::clamp(*used[i] + ((logits[i] * error + (1 << 14)) >> 15), -kMost, kMost);
      chances[i]->Learn(bit);
    }
    return bit;
  }

  int shift_;
  std::string bytes_;
  ByteMatch match_;
  std::vector<Line> lines_;
  std::vector<int32_t> weights_;
  std::vector<Chance> order0_;
  std::array<Chance, kMatchClasses * 2> match_chances_;
  Chance no_match_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_BYTE_MODEL_H_
