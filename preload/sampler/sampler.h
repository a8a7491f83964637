// Draws the gaps of a Poisson process over allocated bytes.
//
// A thread counts a gap down by the size of each request; the request that takes it below 0 is sampled and a
// new gap is drawn. Gaps are exponential with mean T, so a request of s bytes is sampled with p(s) = 1 -
// e^(-s/T), independently of all others, and 1/p(s) is its weight. Requests of 0 bytes are never sampled;
// they weigh nothing.
//
// One object per thread. Allocates: never. Needs no math library.
#ifndef PLATEAU_PRELOAD_SAMPLER_SAMPLER_H_
#define PLATEAU_PRELOAD_SAMPLER_SAMPLER_H_

#include <bit>
#include <cstdint>

namespace plateau {

class GapRandom {
 public:
  void Seed(uint64_t seed) { state_ = seed; }

  // SplitMix64: every seed gives a good sequence, and nearby seeds unrelated ones.
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Bytes until the next sample, rounded down; under 64 times the mean. A request of s bytes takes the
  // countdown below 0 when s > Gap, that is when the unrounded gap is under s (sizes are whole).
  uint64_t Gap(uint64_t mean_bytes) {
    // A uniform number in (0, 1] of 53 bits.
    const double uniform = (static_cast<double>(Next() >> 11) + 1.0) * 0x1p-53;
    return static_cast<uint64_t>(-Log(uniform) * static_cast<double>(mean_bytes));
  }

  // Whether the sample at the end of a gap of mean `old_mean` counts when the mean is `new_mean` by now. A
  // Poisson process of which each point is kept with probability q is a Poisson process of q times the rate,
  // so no gap needs to be drawn again when the rate changes.
  bool Keeps(uint64_t old_mean, uint64_t new_mean) {
    if (old_mean >= new_mean || old_mean == 0) [[likely]]
      return true;
    return static_cast<double>(Next() >> 11) * 0x1p-53 * static_cast<double>(new_mean) <
           static_cast<double>(old_mean);
  }

  // How many requests of `bytes` a sampled one stands for: 1 / (1 - e^-x), x = bytes / mean.
  static double Weight(uint64_t bytes, uint64_t mean_bytes) {
    const double x = static_cast<double>(bytes) / static_cast<double>(mean_bytes);
    if (x > 40) return 1;
    // q = 1 - e^-y by its series, for a small y. Then 1 - e^-2y = q (2 - q) doubles y twelve times.
    const double y = x / 4096;
    double q = y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4)));
    for (int i = 0; i < 12; ++i) q *= 2 - q;
    return 1 / q;
  }

  // Natural logarithm of a positive normal number, to 1e-9 relative to 1.
  static double Log(double x) {
    uint64_t bits = std::bit_cast<uint64_t>(x);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    double m = std::bit_cast<double>(bits);  // [1, 2)
    if (m > 1.4142135623730951) {
      m *= 0.5;
      ++exponent;
    }
    // The series of ln m = 2 atanh z, with |z| < 0.172.
    const double z = (m - 1) / (m + 1);
    const double w = z * z;
    const double series =
        1 + w * (1.0 / 3 + w * (1.0 / 5 + w * (1.0 / 7 + w * (1.0 / 9 + w * (1.0 / 11 + w / 13)))));
    return exponent * 0.6931471805599453 + 2 * z * series;
  }

 private:
  uint64_t state_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_SAMPLER_SAMPLER_H_
