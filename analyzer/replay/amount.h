// Bytes and a count of objects, always read and written together: a processor waits when it has to read two
// numbers at once that were written one by one.
//
// Both are weighted (doubles); whole numbers below 2^53, as in exact mode, are exact.
#ifndef PLATEAU_ANALYZER_REPLAY_AMOUNT_H_
#define PLATEAU_ANALYZER_REPLAY_AMOUNT_H_

namespace plateau::replay {

using Amount [[gnu::vector_size(16)]] = double;
inline constexpr int kBytes = 0;
inline constexpr int kObjects = 1;

// Of a block of `bytes` that stands for `weight` like it; a part of an object has no count.
inline Amount AmountOf(double bytes, double weight, bool is_object) {
  return Amount{bytes, is_object ? 1.0 : 0.0} * weight;
}

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_AMOUNT_H_
