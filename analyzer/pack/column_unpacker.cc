#include <zstd.h>

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/column_layout.h"
#include "analyzer/pack/column_model.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

// A column is at most this many times as large as its block was: a byte may hold a run of nodes. The records,
// written by today's rules, may take more than they took. A header that promises more is lying.
constexpr uint64_t kMaxGrowth = trace::kNodeMaxRun + 1;
constexpr uint64_t kMaxRewriteGrowth = 16;
// No record but an extended one is larger.
constexpr size_t kMostRecordBytes = 64;

// Reads one column; a read past its end sticks as a failure. The bytes are the caller's.
class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::string_view bytes) : bytes_(bytes) {}

  bool AtEnd() const { return offset_ == bytes_.size(); }
  bool failed() const { return failed_; }
  uint8_t Byte() {
    if (AtEnd()) {
      failed_ = true;
      return 0;
    }
    return static_cast<uint8_t>(bytes_[offset_++]);
  }
  uint64_t Number() {
    const uint8_t* begin = reinterpret_cast<const uint8_t*>(bytes_.data());
    uint64_t value = 0;
    const uint8_t* next = trace::GetVarint(begin + offset_, begin + bytes_.size(), &value);
    if (next == nullptr) {
      failed_ = true;
      return 0;
    }
    offset_ = static_cast<size_t>(next - begin);
    return value;
  }
  uint64_t Signed(uint64_t base) { return base + static_cast<uint64_t>(trace::UnZigZag(Number())); }
  std::string_view Bytes(uint64_t size) {
    if (size > bytes_.size() - offset_) {
      failed_ = true;
      return {};
    }
    const std::string_view view = bytes_.substr(offset_, size);
    offset_ += size;
    return view;
  }

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
};

class ColumnUnpacker {
 public:
  ColumnUnpacker(const trace::BlockHeader& header, const std::array<ColumnReader, kColumnCount>& columns)
      : columns_(columns),
        out_(header.raw_bytes + kMostRecordBytes, '\0'),
        most_bytes_(kMaxRewriteGrowth * header.raw_bytes + 1024),
        last_tsc_(header.first_tsc) {
    writer_.Start(&scratch_, reinterpret_cast<uint8_t*>(out_.data()), out_.size(), header.stream, header.seq,
                  header.first_tsc);
  }

  absl::StatusOr<std::string> Run() {
    while (!columns_[kColumnOp].AtEnd()) {
      if (!MakeRoom(kMostRecordBytes) || !Next())
        return absl::DataLossError(absl::StrCat("record ", scratch_.record_count, " cannot be unpacked"));
    }
    for (const ColumnReader& column : columns_) {
      if (column.failed() || !column.AtEnd()) return absl::DataLossError("columns of different length");
    }
    out_.resize(writer_.bytes());
    return std::move(out_);
  }

 private:
  bool MakeRoom(size_t bytes) {
    if (writer_.room() >= bytes) return true;
    const size_t size = out_.size() + out_.size() / 4 + bytes;
    if (size > most_bytes_) return false;
    out_.resize(size);
    writer_.MoveTo(reinterpret_cast<uint8_t*>(out_.data()), out_.size());
    return true;
  }

  bool Next() {
    const uint8_t op = columns_[kColumnOp].Byte();
    switch (op) {
      case kOpNode:
      case kOpNodeNextId:
        return Node(op == kOpNodeNextId);
      case kOpPc: {
        last_pc_location_ = static_cast<uint32_t>(columns_[kColumnPcLocation].Signed(last_pc_location_ + 1));
        const uint32_t module = static_cast<uint32_t>(columns_[kColumnPcModule].Number());
        last_pc_offset_ = columns_[kColumnPcOffset].Signed(last_pc_offset_);
        return writer_.Pc({last_pc_location_, module, last_pc_offset_});
      }
      case kOpTime:
        return writer_.Time(Time(true));
      case kOpExtension: {
        ColumnReader& column = columns_[kColumnExtension];
        const std::string_view bytes = column.Bytes(column.Number());
        return !bytes.empty() && MakeRoom(bytes.size()) && writer_.Verbatim(bytes);
      }
      default:
        return op < kOpNode && Event(op);
    }
  }

  uint64_t Time(bool present) {
    if (!present) return 0;
    last_tsc_ += columns_[kColumnTime].Number();
    return last_tsc_;
  }

  bool Event(uint8_t op) {
    const bool with_time = (op & kOpWithTime) != 0;
    const bool realloc_flag = (op & kOpRealloc) != 0;
    const uint8_t code = op & 7;
    if (code == kOpUnknownFree || code == kOpUnknownFreeIn) {
      const Heap heap = code == kOpUnknownFree ? Heap::kMalloc : Heap::kPymalloc;
      const uint64_t address = Address(columns_[kColumnAddressHint].Byte(), heap);
      AddressesOf(heap).OnUnknownFree(address);
      symbols_.Update(kSymbolFree | (realloc_flag ? kSymbolRealloc : 0));
      return WriteFree(address, heap, realloc_flag, with_time);
    }
    uint32_t symbol;
    if (code == kOpNewClass || code == kOpNewClassIn) {
      const uint64_t bytes = columns_[kColumnBytes].Number();
      const uint32_t stack = static_cast<uint32_t>(columns_[kColumnStack].Signed(last_node_));
      const Heap heap = code == kOpNewClass ? Heap::kMalloc : Heap::kPymalloc;
      symbol = classes_.Add(bytes, stack, heap) << 2 | (realloc_flag ? kSymbolRealloc : 0);
    } else if (code == kOpSymbol) {
      symbol = static_cast<uint32_t>(classes_.size() * 4 - columns_[kColumnSymbol].Number());
    } else {
      symbol = symbols_.Guess(code);
    }
    const uint32_t id = symbol >> 2;
    if (id >= classes_.size()) return false;
    symbols_.Update(symbol);
    const bool is_realloc = (symbol & kSymbolRealloc) != 0;
    return (symbol & kSymbolFree) ? Free(id, is_realloc, with_time) : Alloc(id, is_realloc, with_time);
  }

  bool Alloc(uint32_t id, bool is_realloc, bool with_time) {
    const uint64_t bytes = classes_.Get(id).bytes;
    const uint32_t stack = classes_.Get(id).stack;
    const Heap heap = classes_.Get(id).heap;
    AddressPredictor& addresses = AddressesOf(heap);
    const uint8_t hint = columns_[kColumnAddressHint].Byte();
    uint64_t address = 0;
    int candidate = -1;
    if (hint >= kAddressExplicitAligned) {
      address = Address(hint, heap);
    } else {
      candidate = hint;
      if (!addresses.Get(bytes, candidate, &address)) return false;
      LastAddressOf(heap) = address;
    }
    addresses.OnAlloc(bytes, address, candidate);
    classes_.OnAlloc(id, address, /*index_by_address=*/false);
    stacks_.OnStack(stack);
    const uint64_t tsc = Time(with_time);
    if (heap == Heap::kMalloc) return writer_.Alloc({address, bytes, stack, is_realloc}, tsc);
    return writer_.AllocIn({trace::AllocSource::kPymalloc, address, bytes, stack}, tsc);
  }

  bool Free(uint32_t id, bool is_realloc, bool with_time) {
    ObjectClasses::Class& c = classes_.Get(id);
    const uint64_t distance = columns_[kColumnDistance].Signed(c.last_distance);
    if (distance >= c.addresses.size()) return false;
    c.last_distance = distance;
    const uint64_t address = c.addresses[c.addresses.size() - 1 - distance];
    AddressesOf(c.heap).OnFree(c.bytes, address);
    return WriteFree(address, c.heap, is_realloc, with_time);
  }

  bool WriteFree(uint64_t address, Heap heap, bool is_realloc, bool with_time) {
    const uint64_t tsc = Time(with_time);
    if (heap == Heap::kMalloc) return writer_.Free({address, is_realloc}, tsc);
    return writer_.FreeIn({trace::AllocSource::kPymalloc, address}, tsc);
  }

  AddressPredictor& AddressesOf(Heap heap) { return heap == Heap::kMalloc ? addresses_ : in_addresses_; }
  uint64_t& LastAddressOf(Heap heap) { return heap == Heap::kMalloc ? last_address_ : last_in_address_; }

  uint64_t Address(uint8_t hint, Heap heap) {
    const uint64_t number = columns_[kColumnAddress].Number();
    const uint64_t delta = static_cast<uint64_t>(trace::UnZigZag(number));
    return LastAddressOf(heap) += hint == kAddressExplicitAligned ? delta * 16 : delta;
  }

  bool Node(bool next_id) {
    last_node_ = next_id ? last_node_ + 1 : static_cast<uint32_t>(columns_[kColumnNodeId].Signed(last_node_));
    uint32_t parent = 0;
    const uint8_t hint = columns_[kColumnNodeHint].Byte();
    if (hint == kParentExplicit) {
      parent = last_node_ - static_cast<uint32_t>(columns_[kColumnNodeParent].Signed(0));
    } else if (hint != kParentRoot) {
      if (!stacks_.GetParent(hint, &parent)) return false;
    }
    const uint8_t location_hint = columns_[kColumnLocationHint].Byte();
    if (location_hint < StackPredictor::kLocations) {
      last_location_ = stacks_.GetLocation(parent, location_hint);
    } else if (location_hint == kLocationJustDefined) {
      last_location_ = last_pc_location_;
    } else if (location_hint == kLocationExplicit) {
      last_location_ = static_cast<uint32_t>(columns_[kColumnLocation].Signed(last_location_));
    } else {
      return false;
    }
    stacks_.OnNode(last_node_, parent, last_location_);
    return writer_.Node({last_node_, parent, last_location_});
  }

  std::array<ColumnReader, kColumnCount> columns_;
  std::string out_;
  uint64_t most_bytes_;
  trace::BlockHeader scratch_{};
  trace::BlockWriter writer_;
  SymbolPredictor symbols_;
  AddressPredictor addresses_{Heap::kMalloc};
  AddressPredictor in_addresses_{Heap::kPymalloc};
  StackPredictor stacks_;
  ObjectClasses classes_;
  uint64_t last_tsc_;
  uint64_t last_address_ = 0;
  uint64_t last_in_address_ = 0;
  uint64_t last_pc_offset_ = 0;
  uint32_t last_pc_location_ = 0;
  uint32_t last_location_ = 0;
  uint32_t last_node_ = 0;
};

}  // namespace

absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed) {
  ColumnReader layout(packed);
  const uint8_t version = layout.Byte();
  if (version == 0 || version > kColumnsVersion)
    return absl::UnimplementedError("columns of a later version");
  if (layout.Number() != kColumnCount) return absl::DataLossError("unexpected number of columns");
  std::array<ColumnReader, kColumnCount> columns;
  std::array<std::string, kColumnCount> unpacked;
  for (size_t i = 0; i < kColumnCount; ++i) {
    const uint64_t raw_size = layout.Number();
    const uint64_t packed_size = layout.Number();
    const std::string_view bytes = layout.Bytes(packed_size == 0 ? raw_size : packed_size);
    if (layout.failed() || raw_size > kMaxGrowth * header.raw_bytes + 1024)
      return absl::DataLossError("bad column");
    if (packed_size == 0) {
      columns[i] = ColumnReader(bytes);
      continue;
    }
    std::string& raw = unpacked[i];
    raw.resize(raw_size);
    const size_t size = ZSTD_decompress(raw.data(), raw.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(size) || size != raw_size) return absl::DataLossError("bad column: zstd");
    columns[i] = ColumnReader(raw);
  }
  return ColumnUnpacker(header, columns).Run();
}

}  // namespace plateau
