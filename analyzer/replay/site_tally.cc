#include "analyzer/replay/site_tally.h"

#include <bit>
#include <cmath>

namespace plateau::replay {

constinit const std::array<uint8_t, 2048> SizeSet::kSmall = SizeSet::HashSmall();

double SizeSet::Estimate() const {
  constexpr int kBits = 256;
  int bits = 0;
  for (const uint64_t word : words_) bits += std::popcount(word);
  return bits >= kBits ? kBits * std::log(kBits) : -kBits * std::log1p(-static_cast<double>(bits) / kBits);
}

}  // namespace plateau::replay
