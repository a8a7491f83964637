#include <zstd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/column_layout.h"
#include "analyzer/pack/record_codec.h"
#include "preload/trace/encoder.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

// The records, written by today's rules, may take more than they took. A header that promises more is lying.
constexpr uint64_t kMaxRewriteGrowth = 16;
// No record but an extended one is larger.
constexpr size_t kMostRecordBytes = 64;

// Writes records to memory that grows, up to a limit.
class RecordWriter {
 public:
  explicit RecordWriter(const trace::BlockHeader& header)
      : out_(header.raw_bytes + kMostRecordBytes, '\0'),
        most_bytes_(kMaxRewriteGrowth * header.raw_bytes + 1024) {
    writer_.Start(&scratch_, reinterpret_cast<uint8_t*>(out_.data()), out_.size(), header.stream, header.seq,
                  header.first_tsc);
  }

  // False when the record cannot be or does not fit.
  bool Write(const PackedRecord& r) {
    if (!MakeRoom(kMostRecordBytes + (r.kind == PackedKind::kExtension ? r.extension.size() : 0)))
      return false;
    const uint64_t tsc = r.has_time ? r.tsc : 0;
    switch (r.kind) {
      case PackedKind::kAlloc:
        return writer_.Alloc({r.address, r.bytes, r.stack, r.is_realloc}, tsc);
      case PackedKind::kFree:
        return writer_.Free({r.address, r.is_realloc}, tsc);
      case PackedKind::kAllocIn:
        return writer_.AllocIn({r.address, r.bytes, r.stack}, tsc);
      case PackedKind::kFreeIn:
        return writer_.FreeIn({r.address}, tsc);
      case PackedKind::kNode:
      case PackedKind::kOtherNode:
        return writer_.Node({r.node, r.parent, r.location});
      case PackedKind::kPc:
        return writer_.Pc({r.location, r.module_or_code, r.offset});
      case PackedKind::kPythonLocation:
        return writer_.PythonLocation({r.location, r.module_or_code, static_cast<uint32_t>(r.offset)});
      case PackedKind::kTime:
        return writer_.Time(r.tsc);
      case PackedKind::kExtension:
        return !r.extension.empty() && writer_.Verbatim(r.extension);
      case PackedKind::kTensor:
        return writer_.Tensor({r.address, r.bytes});
      case PackedKind::kTensorGone:
        return writer_.TensorGone(r.address);
      case PackedKind::kEnd:
        break;
    }
    return false;
  }
  std::string Take() {
    out_.resize(writer_.bytes());
    return std::move(out_);
  }
  uint64_t most_bytes() const { return most_bytes_; }

 private:
  bool MakeRoom(size_t bytes) {
    if (writer_.room() >= bytes) return true;
    const size_t size = out_.size() + out_.size() / 4 + bytes;
    if (size > most_bytes_) return false;
    out_.resize(size);
    writer_.MoveTo(reinterpret_cast<uint8_t*>(out_.data()), out_.size());
    return true;
  }

  std::string out_;
  uint64_t most_bytes_;
  trace::BlockHeader scratch_{};
  trace::BlockWriter writer_;
};

// The extended records of version 3: compressed with zstd, each after its length.
class StoredExtensions {
 public:
  // Takes them from the front of *packed. `most_bytes`: they may have.
  absl::Status Load(uint64_t most_bytes, std::string_view* packed) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(packed->data());
    const uint8_t* const end = begin + packed->size();
    uint64_t size = 0, stored_size = 0;
    const uint8_t* p = trace::GetVarint(begin, end, &size);
    if (p != nullptr) p = trace::GetVarint(p, end, &stored_size);
    if (p == nullptr || stored_size > static_cast<uint64_t>(end - p) || size > most_bytes)
      return absl::DataLossError("cannot be as long as it says");
    bytes_.resize(size);
    const size_t got = stored_size == 0 ? 0 : ZSTD_decompress(bytes_.data(), size, p, stored_size);
    if (ZSTD_isError(got) || got != size) return absl::DataLossError("extended records: zstd");
    packed->remove_prefix(static_cast<size_t>(p - begin) + stored_size);
    left_ = bytes_;
    return absl::OkStatus();
  }

  bool AtEnd() const { return left_.empty(); }
  bool Next(std::string_view* extension) {
    const auto* const p = reinterpret_cast<const uint8_t*>(left_.data());
    uint64_t size = 0;
    const uint8_t* const begin = trace::GetVarint(p, p + left_.size(), &size);
    if (begin == nullptr || size > static_cast<uint64_t>(p + left_.size() - begin)) return false;
    left_.remove_prefix(static_cast<size_t>(begin - p));
    *extension = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }

 private:
  std::string bytes_;
  std::string_view left_;
};

}  // namespace

absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(packed.data());
  const uint8_t version = packed.empty() ? 0 : *begin;
  if (version > kColumnsVersion) return absl::UnimplementedError("packed by a later version of Plateau");
  if (version < kColumnsZstdExtensions) {
    return absl::UnimplementedError("packed by a build before the first release; record and pack it again");
  }
  uint64_t tick = 0;
  const uint8_t* const p = trace::GetVarint(begin + 1, begin + packed.size(), &tick);
  if (p == nullptr || tick == 0) return absl::DataLossError("has no beginning");
  packed.remove_prefix(static_cast<size_t>(p - begin));
  RecordWriter writer(header);
  StoredExtensions stored;
  if (version == kColumnsZstdExtensions) {
    if (const absl::Status status = stored.Load(writer.most_bytes(), &packed); !status.ok()) return status;
  }
  BitDecoder decoder(packed);
  RecordCodec<BitDecoder> codec(&decoder, header.first_tsc, tick, header.raw_bytes, version);
  if (version >= kColumnsGlibc && !codec.CodeStart(nullptr))
    return absl::DataLossError("the heap at the start cannot be unpacked");
  PackedRecord record;
  uint32_t count = 0;
  for (;; ++count) {
    bool is_good = codec.Code(&record) && !decoder.overrun();
    if (is_good && record.kind == PackedKind::kEnd) break;
    if (is_good && record.kind == PackedKind::kExtension && version == kColumnsZstdExtensions)
      is_good = stored.Next(&record.extension);
    if (!is_good || !writer.Write(record)) {
      return absl::DataLossError(absl::StrCat("record ", count, " cannot be unpacked"));
    }
  }
  if (!stored.AtEnd()) return absl::DataLossError("extended records are left over");
  if (!decoder.AtEnd()) return absl::DataLossError("bytes are left over");
  if (count != header.record_count) return absl::DataLossError("has more or fewer records than it says");
  return writer.Take();
}

}  // namespace plateau
