// What a site did within one bucket, added up while the bucket lasts: millions of changes become one sum for
// those who keep series of sites.
//
//   born          -> allocated, sizes               the order of changes counts for one thing alone: the
//   died          -> temporary, or the deaths of    most that the site held, which high_bytes follows.
//                    the bucket it was born in
//
// Objects of older buckets die in runs of one birth, so the sum of a run is kept here and told when another
// birth comes (DeathRun). Two cache lines hold what every change needs.
#ifndef PLATEAU_ANALYZER_REPLAY_SITE_TALLY_H_
#define PLATEAU_ANALYZER_REPLAY_SITE_TALLY_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace plateau::replay {

// Bytes and a count of objects, always read and written together: a processor waits when it has to read two
// numbers at once that were written one by one. Both are weighted (doubles); whole numbers below 2^53, as in
// exact mode, are exact.
using Amount [[gnu::vector_size(16)]] = double;
inline constexpr int kBytes = 0;
inline constexpr int kObjects = 1;

// The amount of a block of `bytes` that stands for `weight` like it; a part of an object has no count.
inline Amount AmountOf(double bytes, double weight, bool is_object) {
  return Amount{bytes, is_object ? 1.0 : 0.0} * weight;
}

// Which request sizes were seen, by a hash: 256 bits.
class SizeSet {
 public:
  // False when it, or another of its hash, was there before.
  bool Add(uint64_t bytes) {
    const uint8_t number = bytes < kSmall.size() ? kSmall[bytes] : static_cast<uint8_t>(Hash(bytes));
    uint64_t& word = words_[number >> 6];
    const uint64_t bit = uint64_t{1} << (number & 63);
    if ((word & bit) != 0) [[likely]]
      return false;
    word |= bit;
    return true;
  }
  void Add(const SizeSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  // How many different sizes there were, estimated from the bits that are set.
  double Estimate() const {
    constexpr int kBits = 256;
    int bits = 0;
    for (const uint64_t word : words_) bits += std::popcount(word);
    return bits >= kBits ? kBits * std::log(kBits) : -kBits * std::log1p(-static_cast<double>(bits) / kBits);
  }

 private:
  static constexpr uint64_t Hash(uint64_t bytes) {
    uint64_t x = bytes + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  static constexpr std::array<uint8_t, 2048> HashSmall() {
    std::array<uint8_t, 2048> hashes{};
    for (size_t bytes = 0; bytes < hashes.size(); ++bytes) hashes[bytes] = static_cast<uint8_t>(Hash(bytes));
    return hashes;
  }
  static const std::array<uint8_t, 2048> kSmall;

  std::array<uint64_t, 4> words_{};
};

constinit inline const std::array<uint8_t, 2048> SizeSet::kSmall = SizeSet::HashSmall();

// Objects of a site, all born in one bucket, that died in a later one.
struct DeathRun {
  Amount died;
  uint32_t site;
  uint32_t birth;
};

// One change of a site of which not every object was recorded: what sampling adds to its variance follows
// from each.
struct SampledChange {
  double bytes;   // of one object
  double weight;  // how many such objects it stands for
  uint32_t site;
  uint32_t birth;  // bucket in which the bytes were born
  bool is_object;  // else a part of one, without the count
  bool is_birth;
};

struct alignas(64) SiteTally {
  Amount alloc{};           // born in this bucket
  Amount temporary{};       // of these: died in it as well
  double change_bytes = 0;  // what the site holds more now than when the tally was empty
  double high_bytes = 0;    // the most that was
  uint32_t run_birth = 0;
  bool is_plain = false;    // has changes, and just adds those to come that are not sampled
  bool is_sampled = false;  // stays
  bool is_listed = false;   // for its owner, who knows by it which ones had changes in this bucket
  Amount run{};             // died of what was born in run_birth
  double square_bytes = 0;  // of the objects born: bytes * bytes
  double power_of_two_count = 0;
  SizeSet sizes;  // of all buckets: stays
  // What few changes touch.
  double grown_bytes = 0;     // of alloc: came to objects that were there
  double new_size_bytes = 0;  // of alloc: the first request of its size

  [[gnu::always_inline]] void Born(uint64_t bytes, double weight, bool is_object) {
    const double size = static_cast<double>(bytes);
    const Amount amount = AmountOf(size, weight, is_object);
    alloc += amount;
    change_bytes += amount[kBytes];
    high_bytes = std::max(high_bytes, change_bytes);
    if (!is_object) [[unlikely]] {
      grown_bytes += amount[kBytes];
      return;
    }
    if (sizes.Add(bytes)) [[unlikely]]
      new_size_bytes += amount[kBytes];
    square_bytes += size * amount[kBytes];
    power_of_two_count += static_cast<double>(std::has_single_bit(bytes)) * weight;  // hard to predict
  }

  // Temporary: born in this bucket. Else it was born in run_birth.
  [[gnu::always_inline]] void Died(uint64_t bytes, double weight, bool is_object, bool is_temporary) {
    const Amount amount = AmountOf(static_cast<double>(bytes), weight, is_object);
    change_bytes -= amount[kBytes];
    (is_temporary ? temporary : run) += amount;
  }
  bool has_run() const { return run[kBytes] != 0 || run[kObjects] != 0; }
  void BeginRun(uint32_t birth) {
    run = Amount{};
    run_birth = birth;
  }

  // What belongs to the bucket is told.
  void Clear() {
    alloc = temporary = run = Amount{};
    change_bytes = high_bytes = square_bytes = power_of_two_count = grown_bytes = new_size_bytes = 0;
    is_plain = false;
  }
};
static_assert(sizeof(SiteTally) == 192);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_SITE_TALLY_H_
