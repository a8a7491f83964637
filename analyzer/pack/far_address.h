// Addresses that nothing predicts: how far they are from the last one.
#ifndef PLATEAU_ANALYZER_PACK_FAR_ADDRESS_H_
#define PLATEAU_ANALYZER_PACK_FAR_ADDRESS_H_

#include <cstddef>
#include <cstdint>

#include "analyzer/pack/mixed_model.h"
#include "preload/trace/varint.h"

namespace plateau {

class FarAddresses {
 public:
  static constexpr size_t kUnknownWidths = 8;
  enum Context : size_t {
    kMalloc,
    kPymalloc,
    kUnknown,
    kTensor = kUnknown + 2 * kUnknownWidths,
    kContexts,
  };

  // Counts from *base, which becomes the address, in units of 16 where that is possible.
  template <typename Coder>
  uint64_t Code(Coder& coder, uint64_t address, uint64_t* base, size_t context) {
    const int64_t delta = static_cast<int64_t>(address - *base);
    const bool is_odd = CodeChance(coder, delta % 16 != 0, &odd_);
    const uint64_t number = numbers_.Number(coder, trace::ZigZag(is_odd ? delta : delta / 16), context);
    const uint64_t coded = static_cast<uint64_t>(trace::UnZigZag(number));
    return *base += is_odd ? coded : coded * 16;
  }

 private:
  Chance odd_;
  NumberModel numbers_{kContexts};
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_FAR_ADDRESS_H_
