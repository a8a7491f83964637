// Predicts decisions from several contexts at once and learns which of them to believe.
//
// Every context has a probability of its own, which moves fast while it is young and slowly later. Two of
// them meet in the logistic domain with weights that are trained on the way; which weights are used depends
// on how often each context was seen, so that a context that is new says nothing and one that was always
// right is trusted. Numbers are coded as decisions: zero or not, their length, then their bits from the top.
//
// Contexts that meet in one place of a table disturb each other, no more.
#ifndef PLATEAU_ANALYZER_PACK_MIXED_MODEL_H_
#define PLATEAU_ANALYZER_PACK_MIXED_MODEL_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/pack/bit_coder.h"

namespace plateau {

// Mixes two numbers to a hash; the upper bits are the good ones.
inline uint64_t HashOf(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ 0x9e3779b97f4a7c15u) * 0xc2b2ae3d27d4eb4fu;
  hash = (hash ^ (hash >> 29) ^ b) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}
inline uint64_t HashOf(uint64_t a, uint64_t b, uint64_t c) { return HashOf(HashOf(a, b), c); }

namespace logistic {

// Logits in 1/128: Stretch(p) = ln(p / (1 - p)), Squash is its inverse. The tables are made of IEEE sums,
// products and quotients by the compiler, so they are the same everywhere.
inline constexpr int kMostLogit = 1407;  // 11: 1/60000

struct Tables {
  std::array<uint16_t, 2 * kMostLogit + 1> squash{};
  std::array<int16_t, 4096> stretch{};
};

constexpr Tables MakeTables() {
  Tables tables;
  constexpr double kStep = 1.0078430972064479777;  // e to the 1/128
  double power = 1;                                // e to the logit
  for (int logit = 0; logit <= kMostLogit; ++logit, power *= kStep) {
    const uint32_t p = static_cast<uint32_t>(65536 * (power / (1 + power)));
    const uint32_t high = p > 65535 ? 65535 : p;
    tables.squash[static_cast<size_t>(kMostLogit + logit)] = static_cast<uint16_t>(high);
    tables.squash[static_cast<size_t>(kMostLogit - logit)] = static_cast<uint16_t>(65536 - high);
  }
  int logit = -kMostLogit;
  for (uint32_t p = 0; p < 4096; ++p) {  // of (p + 1/2) / 4096
    while (logit < kMostLogit && tables.squash[static_cast<size_t>(kMostLogit + logit)] < p * 16 + 8) ++logit;
    tables.stretch[p] = static_cast<int16_t>(logit);
  }
  return tables;
}

inline constexpr Tables kTables = MakeTables();

inline int Stretch(uint32_t probability12) { return kTables.stretch[probability12]; }
inline uint32_t Squash(int64_t logit) {
  return kTables
      .squash[static_cast<size_t>(std::clamp<int64_t>(logit, -kMostLogit, kMostLogit) + kMostLogit)];
}

}  // namespace logistic

// A probability that learns: 22 bits of it and 10 of how often it was asked.
class Chance {
 public:
  static constexpr uint32_t kMostSeen = 255;

  uint32_t Of4096() const { return state_ >> 20; }
  uint32_t Of65536() const { return std::clamp<uint32_t>(state_ >> 16, 1, 65535); }
  uint32_t seen() const { return state_ & 1023; }
  void Learn(bool bit) {
    const uint32_t n = seen();
    const int32_t p = static_cast<int32_t>(state_ >> 10);
    const int32_t target = bit ? (1 << 22) - 1 : 0;
    const int32_t moved = p + static_cast<int32_t>(int64_t{target - p} * kRate[n] >> 16);
    state_ = static_cast<uint32_t>(moved) << 10 | (n + (n < kMostSeen ? 1 : 0));
  }

 private:
  static constexpr std::array<int32_t, kMostSeen + 1> kRate = [] {
    std::array<int32_t, kMostSeen + 1> rate{};
    for (uint32_t n = 0; n <= kMostSeen; ++n) rate[n] = static_cast<int32_t>(65536 * 2 / (2 * n + 3));
    return rate;
  }();

  uint32_t state_ = 1u << 31;  // one half, never seen
};

template <typename Coder>
inline bool CodeChance(Coder& coder, bool bit, Chance* chance) {
  bit = coder.Code(bit, chance->Of65536());
  chance->Learn(bit);
  return bit;
}

// Decisions that hardly ever surprise: one context each, counted from 0.
class FlagModel {
 public:
  explicit FlagModel(size_t contexts) : chances_(contexts) {}

  template <typename Coder>
  bool Flag(Coder& coder, bool bit, size_t context) {
    return CodeChance(coder, bit, &chances_[context]);
  }

 private:
  std::vector<Chance> chances_;
};

// Numbers that hardly follow anything: their length and the three bits below the leading one in one context,
// counted from 0, the others by their place.
class NumberModel {
 public:
  explicit NumberModel(size_t contexts) : contexts_(contexts) {}

  template <typename Coder>
  uint64_t Number(Coder& coder, uint64_t value, size_t context) {
    Context& c = contexts_[context];
    if (CodeChance(coder, value == 0, &c.width[0])) return 0;
    const uint32_t value_width = static_cast<uint32_t>(std::bit_width(value)) - 1;
    uint32_t node = 1;
    for (int i = 5; i >= 0; --i) {
      node = node << 1 | (CodeChance(coder, (value_width >> i & 1) != 0, &c.width[node]) ? 1 : 0);
    }
    const uint32_t width = node & 63;
    uint64_t result = 1;
    for (int i = static_cast<int>(width) - 1; i >= 0; --i) {
      Chance* const chance =
          result < 8 ? &c.top[width * 8 + result] : &c.place[width * 64 + static_cast<uint32_t>(i)];
      result = result << 1 | (CodeChance(coder, (value >> i & 1) != 0, chance) ? 1 : 0);
    }
    return result;
  }

 private:
  struct Context {
    std::array<Chance, 64> width;
    std::array<Chance, 64 * 8> top;
    std::array<Chance, 64 * 64> place;
  };
  std::vector<Context> contexts_;
};

// Believes two probabilities as far as experience says, by how often each was asked before.
class Mixer {
 public:
  Mixer() { weights_.fill({kOne * 3 / 5, kOne * 3 / 5}); }

  template <typename Coder>
  bool Code(Coder& coder, bool bit, Chance* a, Chance* b) {
    const int32_t logit_a = logistic::Stretch(a->Of4096()), logit_b = logistic::Stretch(b->Of4096());
    Weights& w = weights_[kSeenClass[a->seen()] * kSeenClasses + kSeenClass[b->seen()]];
    const uint32_t probability = logistic::Squash((int64_t{w.a} * logit_a + int64_t{w.b} * logit_b) >> 16);
    bit = coder.Code(bit, probability);
    const int32_t error = ((bit ? 65535 : 0) - static_cast<int32_t>(probability)) >> 1;
    w.a = std::clamp(w.a + ((logit_a * error + (1 << 13)) >> 14), -kMost, kMost);
    w.b = std::clamp(w.b + ((logit_b * error + (1 << 13)) >> 14), -kMost, kMost);
    a->Learn(bit);
    b->Learn(bit);
    return bit;
  }

 private:
  static constexpr int32_t kOne = 1 << 16;
  static constexpr int32_t kMost = 16 * kOne;
  static constexpr size_t kSeenClasses = 4;
  // Never, hardly ever, some times, often.
  static constexpr std::array<uint8_t, Chance::kMostSeen + 1> kSeenClass = [] {
    std::array<uint8_t, Chance::kMostSeen + 1> classes{};
    for (uint32_t n = 0; n <= Chance::kMostSeen; ++n) classes[n] = n == 0 ? 0 : n < 3 ? 1 : n < 20 ? 2 : 3;
    return classes;
  }();
  struct Weights {
    int32_t a, b;
  };

  std::array<Weights, kSeenClasses * kSeenClasses> weights_;
};

// Decisions that have a probability of their own elsewhere, beside a guess for example, and one by a small
// context.
class MixedFlags {
 public:
  explicit MixedFlags(size_t contexts) : chances_(contexts) {}

  template <typename Coder>
  bool Flag(Coder& coder, bool bit, Chance* own, size_t context) {
    return mixer_.Code(coder, bit, own, &chances_[context]);
  }

 private:
  std::vector<Chance> chances_;
  Mixer mixer_;
};

// Numbers under two contexts, which are hashes. The probabilities of four decisions in a row lie in one cache
// line.
class MixedNumbers {
 public:
  explicit MixedNumbers(int table_bits) : shift_(64 - table_bits), lines_(size_t{2} << table_bits) {}

  // The first `modelled_bits` bits below the leading one are predicted by what precedes them, the others by
  // their place alone.
  template <typename Coder>
  uint64_t Number(Coder& coder, uint64_t value, uint64_t context_a, uint64_t context_b, int modelled_bits) {
    LinePair lines = Find(context_a, context_b, 1);
    if (Bit(coder, value == 0, lines, 0)) return 0;
    const uint32_t value_width = static_cast<uint32_t>(std::bit_width(value)) - 1;
    uint32_t width = 0;
    for (int half = 1; half >= 0; --half) {
      if (half == 0) lines = Find(context_a, context_b, 2 + width);
      width = width << 3 | Tree(coder, value_width >> (half * 3) & 7, 3, lines);
    }
    uint64_t result = 1;
    int left = static_cast<int>(width);
    for (int modelled = 0; left > 0 && modelled < modelled_bits; modelled += 4) {
      const int bits = std::min(left, 4);
      lines = Find(context_a, context_b, HashOf(result, width) | 16);
      left -= bits;
      result = result << bits |
               Tree(coder, static_cast<uint32_t>(value >> left) & ((1u << bits) - 1), bits, lines);
    }
    while (left-- > 0) {
      const bool bit =
          CodeChance(coder, (value >> left & 1) != 0, &places_[width * 64 + static_cast<uint32_t>(left)]);
      result = result << 1 | (bit ? 1 : 0);
    }
    return result;
  }

 private:
  using Line = std::array<Chance, 16>;
  struct LinePair {
    Line *a, *b;
  };

  LinePair Find(uint64_t context_a, uint64_t context_b, uint64_t part) {
    const size_t a = HashOf(context_a, part) >> shift_, b = HashOf(context_b, part) >> shift_;
    return {&lines_[2 * a], &lines_[2 * b + 1]};
  }
  template <typename Coder>
  bool Bit(Coder& coder, bool bit, const LinePair& lines, size_t node) {
    return mixer_.Code(coder, bit, &(*lines.a)[node], &(*lines.b)[node]);
  }
  template <typename Coder>
  uint32_t Tree(Coder& coder, uint32_t value, int bits, const LinePair& lines) {
    uint32_t node = 1;
    for (int i = bits - 1; i >= 0; --i)
      node = node << 1 | (Bit(coder, (value >> i & 1) != 0, lines, node) ? 1 : 0);
    return node - (1u << bits);
  }

  int shift_;
  std::vector<Line> lines_;
  std::vector<Chance> places_ = std::vector<Chance>(64 * 64);
  Mixer mixer_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_MIXED_MODEL_H_
