#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/column_layout.h"
#include "analyzer/pack/column_model.h"
#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

using trace::Record;
using trace::RecordKind;

class ColumnPacker {
 public:
  explicit ColumnPacker(uint64_t first_tsc) : last_tsc_(first_tsc) {}

  // The seam between two blocks: the second one's start is a time stamp of its own. False when it adds
  // nothing.
  bool AddSeam(uint64_t tsc) {
    if (tsc <= last_tsc_) return false;
    Byte(kColumnOp, kOpTime);
    Time(tsc);
    return true;
  }

  // `raw` is the record's own bytes; extended records are stored by them.
  void Add(const Record& record, std::string_view raw) {
    switch (record.kind) {
      case RecordKind::kAlloc:
        AddAlloc(record, record.alloc, Heap::kMalloc);
        break;
      case RecordKind::kFree:
        AddFree(record, record.free, Heap::kMalloc);
        break;
      case RecordKind::kAllocIn: {
        const trace::AllocInRecord& in = record.alloc_in;
        if (in.source != trace::AllocSource::kPymalloc) return AddExtension(raw);
        AddAlloc(record, {in.address, in.bytes, in.stack, /*is_realloc=*/false}, Heap::kPymalloc);
        break;
      }
      case RecordKind::kFreeIn:
        if (record.free_in.source != trace::AllocSource::kPymalloc) return AddExtension(raw);
        AddFree(record, {record.free_in.address, /*is_realloc=*/false}, Heap::kPymalloc);
        break;
      case RecordKind::kNode:
        AddNode(record.node);
        break;
      case RecordKind::kPc:
        Byte(kColumnOp, kOpPc);
        Signed(kColumnPcLocation, record.pc.location, last_pc_location_ + 1);
        Number(kColumnPcModule, record.pc.module);
        Signed(kColumnPcOffset, record.pc.offset, last_pc_offset_);
        last_pc_location_ = record.pc.location;
        last_pc_offset_ = record.pc.offset;
        break;
      case RecordKind::kPythonLocation:
        AddPythonLocation(record.python_location);
        break;
      case RecordKind::kTime:
        Byte(kColumnOp, kOpTime);
        Time(record.tsc);
        break;
      default:
        AddExtension(raw);
        break;
    }
  }

  absl::StatusOr<std::string> Finish(int level) {
    std::string out;
    out.push_back(static_cast<char>(kColumnsVersion));
    AppendNumber(&out, kColumnCount);
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    std::string packed;
    for (const std::string& column : columns_) {
      packed.resize(ZSTD_compressBound(column.size()));
      const size_t size =
          ZSTD_compressCCtx(context.get(), packed.data(), packed.size(), column.data(), column.size(), level);
      if (ZSTD_isError(size)) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
      AppendNumber(&out, column.size());
      if (size < column.size()) {
        AppendNumber(&out, size);
        out.append(packed, 0, size);
      } else {
        AppendNumber(&out, 0);
        out.append(column);
      }
    }
    return out;
  }

 private:
  void AddExtension(std::string_view raw) {
    Byte(kColumnOp, kOpExtension);
    Number(kColumnExtension, raw.size());
    columns_[kColumnExtension].append(raw);
  }

  // In its extended form, which refers to nothing before it.
  void AddPythonLocation(const trace::PythonLocationRecord& record) {
    std::string fields;
    for (const uint32_t value : {record.location, record.code, record.offset, record.flags}) {
      AppendNumber(&fields, value);
    }
    std::string raw(1, static_cast<char>(static_cast<uint32_t>(trace::ExtKind::kPythonLocation) << 3));
    AppendNumber(&raw, fields.size());
    AddExtension(raw + fields);
  }

  static void AppendNumber(std::string* out, uint64_t value) {
    uint8_t buffer[trace::kMaxVarintBytes];
    out->append(reinterpret_cast<char*>(buffer),
                static_cast<size_t>(trace::PutVarint(buffer, value) - buffer));
  }
  void Byte(Column column, uint8_t value) { columns_[column].push_back(static_cast<char>(value)); }
  void Number(Column column, uint64_t value) { AppendNumber(&columns_[column], value); }
  void Signed(Column column, uint64_t value, uint64_t base) {
    Number(column, trace::ZigZag(static_cast<int64_t>(value - base)));
  }
  // Time does not run backwards, not even between two blocks that were filled on different cores.
  void Time(uint64_t tsc) {
    Number(kColumnTime, tsc > last_tsc_ ? tsc - last_tsc_ : 0);
    last_tsc_ = std::max(tsc, last_tsc_);
  }

  // Writes the op byte of an allocation or free whose class is known.
  void Symbol(uint32_t symbol, uint8_t flags) {
    int rank = 0;
    while (rank < SymbolPredictor::kOrders && symbols_.Guess(rank) != symbol) ++rank;
    if (rank < SymbolPredictor::kOrders) {
      Byte(kColumnOp, static_cast<uint8_t>(kOpGuess0 + rank) | flags);
    } else {
      Byte(kColumnOp, kOpSymbol | flags);
      Number(kColumnSymbol, classes_.size() * 4 - symbol);  // young classes are used more
    }
    symbols_.Update(symbol);
  }

  AddressPredictor& AddressesOf(Heap heap) { return heap == Heap::kMalloc ? addresses_ : in_addresses_; }
  uint64_t& LastAddressOf(Heap heap) { return heap == Heap::kMalloc ? last_address_ : last_in_address_; }

  void AddAlloc(const Record& record, const trace::AllocRecord& alloc, Heap heap) {
    const uint8_t time_flag = record.has_time ? kOpWithTime : 0;
    const int64_t known = classes_.Find(alloc.bytes, alloc.stack, heap);
    uint32_t id;
    if (known >= 0) {
      id = static_cast<uint32_t>(known);
      Symbol(id << 2 | (alloc.is_realloc ? kSymbolRealloc : 0), time_flag);
    } else {
      const uint8_t op = heap == Heap::kMalloc ? kOpNewClass : kOpNewClassIn;
      Byte(kColumnOp, static_cast<uint8_t>(op | time_flag | (alloc.is_realloc ? kOpRealloc : 0)));
      Number(kColumnBytes, alloc.bytes);
      Signed(kColumnStack, alloc.stack, last_node_);
      id = classes_.Add(alloc.bytes, alloc.stack, heap);
      symbols_.Update(id << 2 | (alloc.is_realloc ? kSymbolRealloc : 0));
    }
    AddressPredictor& addresses = AddressesOf(heap);
    const int hint = addresses.Find(alloc.bytes, alloc.address);
    if (hint >= 0) {
      Byte(kColumnAddressHint, static_cast<uint8_t>(hint));
      LastAddressOf(heap) = alloc.address;
    } else {
      Byte(kColumnAddressHint, Address(alloc.address, heap));
    }
    if (record.has_time) Time(record.tsc);
    addresses.OnAlloc(alloc.bytes, alloc.address, hint);
    classes_.OnAlloc(id, alloc.address, /*index_by_address=*/true);
    stacks_.OnStack(alloc.stack);
  }

  // Writes an explicit address; returns its hint.
  uint8_t Address(uint64_t address, Heap heap) {
    const uint64_t base = std::exchange(LastAddressOf(heap), address);
    if (address % 16 == 0 && base % 16 == 0) {
      Number(kColumnAddress, trace::ZigZag(static_cast<int64_t>(address - base) / 16));
      return kAddressExplicitAligned;
    }
    Signed(kColumnAddress, address, base);
    return kAddressExplicit;
  }

  void AddFree(const Record& record, const trace::FreeRecord& free, Heap heap) {
    const uint8_t time_flag = record.has_time ? kOpWithTime : 0;
    ObjectClasses::Object object;
    if (classes_.Take(free.address, heap, &object)) {
      Symbol(object.class_id << 2 | kSymbolFree | (free.is_realloc ? kSymbolRealloc : 0), time_flag);
      ObjectClasses::Class& c = classes_.Get(object.class_id);
      const uint64_t distance = c.addresses.size() - 1 - object.ordinal;
      Signed(kColumnDistance, distance, c.last_distance);
      c.last_distance = distance;
      AddressesOf(heap).OnFree(c.bytes, free.address);
    } else {
      const uint8_t op = heap == Heap::kMalloc ? kOpUnknownFree : kOpUnknownFreeIn;
      Byte(kColumnOp, static_cast<uint8_t>(op | time_flag | (free.is_realloc ? kOpRealloc : 0)));
      Byte(kColumnAddressHint, Address(free.address, heap));
      AddressesOf(heap).OnUnknownFree(free.address);
      symbols_.Update(kSymbolFree | (free.is_realloc ? kSymbolRealloc : 0));
    }
    if (record.has_time) Time(record.tsc);
  }

  void AddNode(const trace::NodeRecord& node) {
    if (node.node == last_node_ + 1) {
      Byte(kColumnOp, kOpNodeNextId);
    } else {
      Byte(kColumnOp, kOpNode);
      Signed(kColumnNodeId, node.node, last_node_);
    }
    const int up = node.parent == 0 ? -1 : stacks_.FindParent(node.parent);
    if (node.parent == 0) {
      Byte(kColumnNodeHint, kParentRoot);
    } else if (up >= 0) {
      Byte(kColumnNodeHint, static_cast<uint8_t>(up));
    } else {
      Byte(kColumnNodeHint, kParentExplicit);
      Signed(kColumnNodeParent, node.node, node.parent);
    }
    const int known = stacks_.FindLocation(node.parent, node.location);
    if (known >= 0) {
      Byte(kColumnLocationHint, static_cast<uint8_t>(known));
    } else if (node.location == last_pc_location_) {
      Byte(kColumnLocationHint, kLocationJustDefined);
    } else {
      Byte(kColumnLocationHint, kLocationExplicit);
      Signed(kColumnLocation, node.location, last_location_);
    }
    last_location_ = node.location;
    last_node_ = node.node;
    stacks_.OnNode(node.node, node.parent, node.location);
  }

  std::array<std::string, kColumnCount> columns_;
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

absl::StatusOr<PackedColumns> PackColumns(const std::vector<EventsPayload>& payloads, int level) {
  PackedColumns packed;
  if (payloads.empty()) return absl::InvalidArgumentError("nothing to pack");
  packed.first_tsc = payloads.front().first_tsc;
  ColumnPacker packer(packed.first_tsc);
  uint64_t raw_bytes = 0;
  for (const EventsPayload& payload : payloads) {
    trace::BlockHeader header{};
    header.first_tsc = payload.first_tsc;
    header.delta_rules = payload.delta_rules;
    if (packer.AddSeam(payload.first_tsc)) ++packed.record_count;
    trace::RecordReader reader(header, payload.bytes);
    Record record;
    size_t start = 0;
    while (reader.Next(&record)) {
      packer.Add(record, payload.bytes.substr(start, reader.offset() - start));
      start = reader.offset();
      ++packed.record_count;
    }
    if (reader.damaged()) {
      return absl::DataLossError(absl::StrCat("damaged record at byte ", reader.offset(), " of a block"));
    }
    raw_bytes += payload.bytes.size();
  }
  if (raw_bytes > UINT32_MAX / 4) return absl::InvalidArgumentError("too many records for one block");
  packed.raw_bytes = static_cast<uint32_t>(raw_bytes);
  absl::StatusOr<std::string> bytes = packer.Finish(level);
  if (!bytes.ok()) return bytes.status();
  packed.bytes = *std::move(bytes);
  return packed;
}

}  // namespace plateau
