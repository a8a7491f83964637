// Extended records: names, paths, line tables, marks, readings.
//
// A record whose fields are those that its kind has in this version is coded field by field: numbers from the
// same field of the last record of the kind, text and tables byte by byte. Any other is coded as bytes.
//
// Decoding takes bytes from anywhere and makes no more than `most_bytes` of records.
#ifndef PLATEAU_ANALYZER_PACK_EXTENSION_CODEC_H_
#define PLATEAU_ANALYZER_PACK_EXTENSION_CODEC_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/pack/byte_model.h"
#include "analyzer/pack/codec_state.h"
#include "analyzer/pack/line_table_model.h"
#include "analyzer/pack/mixed_model.h"
#include "preload/trace/format.h"
#include "preload/trace/varint.h"

namespace plateau {

// The fields of a kind of extended record: n numbers, s text, t a line table, l a list of pairs of numbers
// after their count. nullptr: not described here.
constexpr const char* ExtensionFields(uint32_t kind) {
  using trace::ExtKind;
  switch (static_cast<ExtKind>(kind)) {
    case ExtKind::kInfo:
      return "ss";
    case ExtKind::kModule:
      return "nnnnss";
    case ExtKind::kCode:
      return "nnnsst";
    case ExtKind::kThreadStart:
    case ExtKind::kMark:
      return "nnns";
    case ExtKind::kLedger:
      return "l";
    case ExtKind::kDevice:
      return "nnnnnnnnnnns";
    case ExtKind::kCopiedPages:
      return "s";
    case ExtKind::kThreadEnd:
    case ExtKind::kReallocCancel:
      return "";
    case ExtKind::kModuleGone:
    case ExtKind::kTensorGone:
    case ExtKind::kFork:
      return "n";
    case ExtKind::kUnmap:
    case ExtKind::kTensor:
      return "nn";
    case ExtKind::kBreak:
    case ExtKind::kDrop:
    case ExtKind::kRate:
      return "nnn";
    case ExtKind::kRemap:
    case ExtKind::kFoldTotals:
      return "nnnnn";
    case ExtKind::kMap:
    case ExtKind::kTotals:
      return "nnnnnn";
    case ExtKind::kFoldRow:
      break;
  }
  return nullptr;
}

template <typename Coder>
class ExtensionCodec {
 public:
  ExtensionCodec(CodecState<Coder>* state, uint64_t most_bytes, int table_bits)
      : state_(*state),
        left_bytes_(most_bytes),
        bytes_(table_bits, kByteKinds),
        numbers_(std::min(table_bits, 10)) {}

  // One whole record. Decoded, it is valid until the next call. False at damage.
  bool Code(std::string_view* record) {
    Shape shape;
    if constexpr (kEncodes) shape = ShapeOf(*record);
    out_.clear();
    in_ = *record;
    const bool ok = flags_.Flag(state_.coder, shape.is_described, 0) ? CodeFields(shape) : CodeBytes();
    if (!ok) return false;
    *record = kEncodes ? *record : std::string_view(out_);
    return true;
  }

 private:
  static constexpr bool kEncodes = Coder::kEncodes;
  static constexpr uint32_t kKinds = 31;
  static constexpr size_t kSlots = 64;  // numbers of a record that are told apart
  static constexpr size_t kLongLength = 3;
  enum ByteKind : size_t { kTable, kOther, kText };  // text of each field is its own
  static constexpr size_t kByteKinds = 8;

  struct Shape {
    bool is_described = false;
    uint32_t kind = 0;
    size_t length_bytes = 1;
  };

  // Whether coding the fields of the record gives back all of its bytes.
  static Shape ShapeOf(std::string_view record) {
    Shape shape;
    const auto* p = reinterpret_cast<const uint8_t*>(record.data());
    const uint8_t* const end = p + record.size();
    const uint8_t tag = *p++;
    shape.kind = tag >> 3;
    const char* fields = shape.kind < kKinds ? ExtensionFields(shape.kind) : nullptr;
    uint64_t length = 0;
    const uint8_t* const payload = trace::GetVarint(p, end, &length);
    if (fields == nullptr || payload == nullptr || length != static_cast<uint64_t>(end - payload))
      return shape;
    shape.length_bytes = static_cast<size_t>(payload - p);
    if (shape.length_bytes != 1 && shape.length_bytes != kLongLength) return shape;
    p = payload;
    const auto number = [&](uint64_t* value) {
      uint8_t shortest[trace::kMaxVarintBytes];
      const uint8_t* const next = trace::GetVarint(p, end, value);
      if (next == nullptr || next - p != trace::PutVarint(shortest, *value) - shortest) return false;
      p = next;
      return true;
    };
    for (; *fields != '\0'; ++fields) {
      uint64_t value = 0;
      if (!number(&value)) return shape;
      if (*fields == 'l') {
        if (value > kSlots) return shape;
        for (uint64_t left = 2 * value; left > 0; --left) {
          if (!number(&value)) return shape;
        }
      } else if (*fields != 'n') {
        if (value > static_cast<uint64_t>(end - p)) return shape;
        p += value;
      }
    }
    shape.is_described = p == end;
    return shape;
  }

  bool CodeFields(Shape shape) {
    shape.kind = static_cast<uint32_t>(
        numbers_.Number(state_.coder, shape.kind, last_kind_, HashOf(last_kind_, kind_before_), 8));
    const char* fields = shape.kind < kKinds ? ExtensionFields(shape.kind) : nullptr;
    if (fields == nullptr) return false;
    const bool is_long = flags_.Flag(state_.coder, shape.length_bytes != 1, 1 + shape.kind);
    kind_before_ = last_kind_;
    last_kind_ = shape.kind;
    if constexpr (kEncodes) in_.remove_prefix(1 + shape.length_bytes);
    size_t slot = 0;
    uint64_t version = 0;
    for (size_t field = 0; fields[field] != '\0'; ++field) {
      uint64_t value = 0;
      if (!CodeNumber(slot++, &value)) return false;
      if (fields[field] == 'n') {
        if (field == 1) version = value;
      } else if (fields[field] == 'l') {
        if (value > kSlots) return false;
        for (uint64_t left = 2 * value, number = 0; left > 0; --left) {
          if (!CodeNumber(slot++, &number)) return false;
        }
      } else if (!CodeText(fields[field] == 't', field, value, version)) {
        return false;
      }
    }
    if constexpr (!kEncodes) PutLength(shape.kind, is_long ? kLongLength : 1);
    return true;
  }

  // In front of the fields.
  void PutLength(uint32_t kind, size_t length_bytes) {
    size_t length = out_.size();
    std::string head(1, static_cast<char>(kind << 3));
    for (size_t i = 1; i < length_bytes; ++i, length >>= 7) head.push_back(static_cast<char>(length | 0x80));
    head.push_back(static_cast<char>(length & 0x7f));
    out_.insert(0, head);
  }

  bool CodeNumber(size_t slot, uint64_t* value) {
    Last& last = last_[last_kind_ * kSlots + std::min(slot, kSlots - 1)];
    if constexpr (kEncodes) {
      const auto* const begin = reinterpret_cast<const uint8_t*>(in_.data());
      in_.remove_prefix(static_cast<size_t>(trace::GetVarint(begin, begin + in_.size(), value) - begin));
    }
    const uint64_t place = last_kind_ * kSlots + slot;
    const uint64_t delta =
        numbers_.Number(state_.coder, trace::ZigZag(static_cast<int64_t>(*value - last.value)),
                        HashOf(place, 1), HashOf(place, last.delta, 2), 12);
    last.delta = delta;
    *value = last.value += static_cast<uint64_t>(trace::UnZigZag(delta));
    if constexpr (!kEncodes) {
      uint8_t buffer[trace::kMaxVarintBytes];
      out_.append(reinterpret_cast<char*>(buffer),
                  static_cast<size_t>(trace::PutVarint(buffer, *value) - buffer));
    }
    return Take(1);
  }

  bool CodeText(bool is_table, size_t field, uint64_t size, uint64_t version) {
    if (!Take(size)) return false;
    uint64_t last_bytes = 0, so_far = HashOf(field, last_kind_);
    const size_t kind = is_table ? kTable : kText + std::min(field, kByteKinds - kText - 1);
    if (is_table) table_.Start(version);
    for (uint64_t i = 0; i < size; ++i) {
      ByteModel::Contexts contexts;
      if (is_table) {
        table_.Fill(last_bytes, &contexts);
      } else {
        contexts = {HashOf(last_bytes & 0xff, kind), last_bytes & 0xffff, last_bytes & 0xffffff,
                    last_bytes & 0xffffffffff, so_far};
      }
      const uint8_t byte = CodeByte(contexts, kind);
      last_bytes = last_bytes << 8 | byte;
      so_far = HashOf(so_far, byte);
      if (is_table) table_.Advance(byte);
    }
    return true;
  }

  // A record that is not described here: its size, then its bytes by their place.
  bool CodeBytes() {
    const uint64_t size = numbers_.Number(state_.coder, in_.size(), HashOf(1, 3), HashOf(last_size_, 4), 12);
    if (size == 0 || !Take(size)) return false;
    last_size_ = size;
    uint64_t last_bytes = 0;
    for (uint64_t i = 0; i < size; ++i) {
      const ByteModel::Contexts contexts = {
          HashOf(i, size, 200), HashOf(last_bytes & 0xff, i, 201), HashOf(last_bytes & 0xffff, 202),
          HashOf(last_bytes & 0xffffff, 203), HashOf(i, bytes_.Before(size), 206)};
      last_bytes = last_bytes << 8 | CodeByte(contexts, kOther);
    }
    return true;
  }

  uint8_t CodeByte(const ByteModel::Contexts& contexts, size_t kind) {
    uint8_t byte = 0;
    if constexpr (kEncodes) {
      byte = static_cast<uint8_t>(in_[0]);
      in_.remove_prefix(1);
    }
    byte = bytes_.Code(state_.coder, byte, contexts, kind);
    if constexpr (!kEncodes) out_.push_back(static_cast<char>(byte));
    return byte;
  }
  // False when there would be more than was announced.
  bool Take(uint64_t bytes) {
    if (bytes > left_bytes_) return false;
    left_bytes_ -= bytes;
    return true;
  }

  struct Last {
    uint64_t value = 0, delta = 0;
  };

  CodecState<Coder>& state_;
  uint64_t left_bytes_;
  std::string_view in_;  // what is left of the record that is packed
  std::string out_;      // the record that is unpacked
  ByteModel bytes_;
  MixedNumbers numbers_;
  FlagModel flags_{1 + kKinds};
  LineTableModel table_;
  std::vector<Last> last_ = std::vector<Last>(kKinds * kSlots);
  uint32_t last_kind_ = 0, kind_before_ = 0;
  uint64_t last_size_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_EXTENSION_CODEC_H_
