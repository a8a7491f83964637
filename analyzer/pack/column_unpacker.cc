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
        return writer_.AllocIn({trace::AllocSource::kPymalloc, r.address, r.bytes, r.stack}, tsc);
      case PackedKind::kFreeIn:
        return writer_.FreeIn({trace::AllocSource::kPymalloc, r.address}, tsc);
      case PackedKind::kNode:
      case PackedKind::kOtherNode:
        return writer_.Node({r.node, r.parent, r.location});
      case PackedKind::kPc:
        return writer_.Pc({r.location, r.module_or_code, r.offset});
      case PackedKind::kPythonLocation:
        return writer_.PythonLocation({r.location, r.module_or_code, static_cast<uint32_t>(r.offset), 0});
      case PackedKind::kTime:
        return writer_.Time(r.tsc);
      case PackedKind::kExtension:
        return !r.extension.empty() && writer_.Verbatim(r.extension);
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

// Extended records, each after its length.
class ExtensionReader {
 public:
  explicit ExtensionReader(std::string_view bytes)
      : p_(reinterpret_cast<const uint8_t*>(bytes.data())), end_(p_ + bytes.size()) {}

  bool AtEnd() const { return p_ == end_; }
  bool Next(std::string_view* extension) {
    uint64_t size = 0;
    const uint8_t* begin = trace::GetVarint(p_, end_, &size);
    if (begin == nullptr || size > static_cast<uint64_t>(end_ - begin)) return false;
    *extension = {reinterpret_cast<const char*>(begin), size};
    p_ = begin + size;
    return true;
  }

 private:
  const uint8_t* p_;
  const uint8_t* end_;
};

}  // namespace

absl::StatusOr<std::string> UnpackColumns(const trace::BlockHeader& header, std::string_view packed) {
  const uint8_t* p = reinterpret_cast<const uint8_t*>(packed.data());
  const uint8_t* const end = p + packed.size();
  const uint8_t version = p == end ? 0 : *p++;
  if (version > kColumnsVersion) return absl::UnimplementedError("packed by a later version of Plateau");
  if (version < kColumnsVersion) {
    return absl::UnimplementedError("packed by a build before the first release; record and pack it again");
  }
  uint64_t tick = 0, extension_bytes = 0, stored_bytes = 0;
  for (uint64_t* number : {&tick, &extension_bytes, &stored_bytes}) {
    if (p != nullptr) p = trace::GetVarint(p, end, number);
  }
  RecordWriter writer(header);
  if (p == nullptr || tick == 0 || stored_bytes > static_cast<uint64_t>(end - p) ||
      extension_bytes > writer.most_bytes()) {
    return absl::DataLossError("cannot be as long as it says");
  }
  std::string extensions(extension_bytes, '\0');
  const size_t size =
      stored_bytes == 0 ? 0 : ZSTD_decompress(extensions.data(), extensions.size(), p, stored_bytes);
  if (ZSTD_isError(size) || size != extension_bytes) return absl::DataLossError("extended records: zstd");
  p += stored_bytes;
  ExtensionReader extension_reader(extensions);
  BitDecoder decoder({reinterpret_cast<const char*>(p), static_cast<size_t>(end - p)});
  RecordCodec<BitDecoder> codec(&decoder, header.first_tsc, tick, TableBits(header.raw_bytes));
  PackedRecord record;
  for (uint64_t count = 0;; ++count) {
    bool is_good = codec.Code(&record) && !decoder.overrun();
    if (is_good && record.kind == PackedKind::kEnd) break;
    if (is_good && record.kind == PackedKind::kExtension) is_good = extension_reader.Next(&record.extension);
    if (!is_good || !writer.Write(record)) {
      return absl::DataLossError(absl::StrCat("record ", count, " cannot be unpacked"));
    }
  }
  if (!extension_reader.AtEnd()) return absl::DataLossError("extended records are left over");
  if (!decoder.AtEnd()) return absl::DataLossError("bytes are left over");
  return writer.Take();
}

}  // namespace plateau
