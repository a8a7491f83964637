// An arithmetic coder for single decisions: each costs as many bits as its probability says, down to 1/45000
// of a bit for one that was certain.
//
// BitEncoder and BitDecoder have the same Code(): one takes the decision and writes it, the other reads it
// and ignores the argument. So one piece of code, written once as a template over the coder, is both
// directions of a format and they cannot differ. Integers only: same input, same output, on every machine.
//
//   BitEncoder encoder;            BitDecoder decoder(bytes);
//   encoder.Code(true, 60000);     decoder.Code({}, 60000) == true
//   bytes = encoder.Finish();
//
// Not thread-safe; the decoder's bytes stay the caller's. A decoder never reads outside them: behind the end
// it sees zeros, and overrun() tells.
#ifndef PLATEAU_ANALYZER_PACK_BIT_CODER_H_
#define PLATEAU_ANALYZER_PACK_BIT_CODER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace plateau {

// Probabilities are of "true", in units of 1/65536, from 1 to 65535.
inline constexpr int kProbabilityBits = 16;

class BitEncoder {
 public:
  static constexpr bool kEncodes = true;

  bool Code(bool bit, uint32_t probability) {
    const uint64_t middle = low_ + ((high_ - low_) >> kProbabilityBits) * probability;
    if (bit) {
      high_ = middle;
    } else {
      low_ = middle + 1;
    }
    while (((low_ ^ high_) >> 56) == 0) {
      bytes_.push_back(static_cast<char>(high_ >> 56));
      low_ <<= 8;
      high_ = high_ << 8 | 0xff;
    }
    return bit;
  }
  // So many bytes are written for sure; the rest is in the coder's state.
  size_t bytes() const { return bytes_.size(); }
  // Bits written so far, with the part that is still in the state.
  double Bits() const { return static_cast<double>(bytes_.size()) * 8 + std::countl_zero(high_ - low_); }
  std::string Finish() {
    // The shortest number between low and high: zeros follow it.
    bytes_.push_back(static_cast<char>((low_ >> 56) + 1));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  uint64_t low_ = 0;
  uint64_t high_ = UINT64_MAX;
};

class BitDecoder {
 public:
  static constexpr bool kEncodes = false;

  explicit BitDecoder(std::string_view bytes) : bytes_(bytes) {
    for (int i = 0; i < 8; ++i) value_ = value_ << 8 | NextByte();
  }

  bool Code(bool /*bit*/, uint32_t probability) {
    const uint64_t middle = low_ + ((high_ - low_) >> kProbabilityBits) * probability;
    const bool bit = value_ <= middle;
    if (bit) {
      high_ = middle;
    } else {
      low_ = middle + 1;
    }
    while (((low_ ^ high_) >> 56) == 0) {
      low_ <<= 8;
      high_ = high_ << 8 | 0xff;
      value_ = value_ << 8 | NextByte();
    }
    return bit;
  }
  // More decisions were asked for than the bytes can hold.
  bool overrun() const { return past_end_ > 8; }
  // All bytes have been looked at.
  bool AtEnd() const { return offset_ == bytes_.size(); }

 private:
  uint8_t NextByte() {
    if (offset_ < bytes_.size()) return static_cast<uint8_t>(bytes_[offset_++]);
    ++past_end_;
    return 0;
  }

  std::string_view bytes_;
  size_t offset_ = 0;
  size_t past_end_ = 0;
  uint64_t low_ = 0;
  uint64_t high_ = UINT64_MAX;
  uint64_t value_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_BIT_CODER_H_
