// Open blocks in ordinary memory, for tests of whatever reads or writes them.
#ifndef PLATEAU_TESTS_SUPPORT_SAMPLE_BLOCK_H_
#define PLATEAU_TESTS_SUPPORT_SAMPLE_BLOCK_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "preload/trace/encoder.h"
#include "preload/trace/format.h"

namespace plateau::trace {

class SampleBlock {
 public:
  explicit SampleBlock(uint32_t stream = 1, uint32_t seq = 0, uint64_t tsc = 1000,
                       size_t capacity = kSlotPayloadBytes)
      : payload_(capacity) {
    writer.Start(&header_, payload_.data(), capacity, stream, seq, tsc);
  }

  std::string_view payload() const {
    return {reinterpret_cast<const char*>(payload_.data()), header_.payload_bytes};
  }
  const BlockHeader& header() const { return header_; }

  // The bytes a sealed block has in the file.
  std::string Sealed() const {
    const BlockHeader sealed = SealedHeader(header_, payload_.data(), writer.last_tsc());
    std::string bytes(sizeof(sealed), '\0');
    std::memcpy(bytes.data(), &sealed, sizeof(sealed));
    return bytes.append(payload());
  }

  BlockWriter writer;

 private:
  BlockHeader header_{};
  std::vector<uint8_t> payload_;
};

}  // namespace plateau::trace

#endif  // PLATEAU_TESTS_SUPPORT_SAMPLE_BLOCK_H_
