#include "analyzer/report/columns/parquet_file.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/report/columns/thrift_writer.h"

namespace plateau::report {
namespace {

constexpr char kMagic[] = "PAR1";
constexpr int kZstdLevel = 6;
constexpr size_t kMaxPageBytes = size_t{1} << 30;
constexpr size_t kMaxDictionary = 1 << 16;

// Numbers of the format: enums Type, Encoding, PageType, CompressionCodec and ConvertedType of parquet.thrift.
enum Type { kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum Encoding { kPlain = 0, kRle = 3, kRleDictionary = 8 };
enum PageType { kDataPage = 0, kDictionaryPage = 2 };
constexpr int kZstdCodec = 6;
constexpr int kUtf8 = 0;
constexpr int kRequired = 0, kOptional = 1;

void PutLittleEndian(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) *out += static_cast<char>(value >> 8 * i);
}

void PutVarint(uint64_t value, std::string* out) {
  for (; value >= 128; value >>= 7) *out += static_cast<char>(value | 128);
  *out += static_cast<char>(value);
}

// Parquet's hybrid of runs and bit-packed groups of eight.
std::string HybridOf(const std::vector<uint32_t>& values, int width) {
  std::string out;
  const auto put_run = [&](size_t length, uint32_t value) {
    PutVarint(length << 1, &out);
    PutLittleEndian(value, static_cast<size_t>(width + 7) / 8, &out);
  };
  const auto put_packed = [&](size_t begin, size_t end) {  // a multiple of eight, or up to the last value
    const size_t groups = (end - begin + 7) / 8;
    PutVarint(groups << 1 | 1, &out);
    uint64_t buffer = 0;
    int bits = 0;
    for (size_t i = begin; i < begin + groups * 8; ++i) {
      buffer |= static_cast<uint64_t>(i < end ? values[i] : 0) << bits;
      for (bits += width; bits >= 8; bits -= 8, buffer >>= 8) out += static_cast<char>(buffer);
    }
  };
  size_t packed_from = 0, i = 0;
  while (i < values.size()) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    // A run may only begin where the packed values before it fill their groups.
    const size_t borrowed = (8 - (i - packed_from) % 8) % 8;
    if (end - i >= borrowed + 8) {
      if (i + borrowed > packed_from) put_packed(packed_from, i + borrowed);
      put_run(end - i - borrowed, values[i]);
      packed_from = end;
    }
    i = end;
  }
  if (packed_from < values.size()) put_packed(packed_from, values.size());
  return out;
}

void PutPlain(int64_t value, std::string* out) { PutLittleEndian(static_cast<uint64_t>(value), 8, out); }
void PutPlain(double value, std::string* out) { PutLittleEndian(std::bit_cast<uint64_t>(value), 8, out); }
void PutPlain(const std::string& value, std::string* out) {
  PutLittleEndian(value.size(), 4, out);
  *out += value;
}

// Reals are equal when their bits are.
int64_t KeyOf(int64_t value) { return value; }
int64_t KeyOf(double value) { return std::bit_cast<int64_t>(value); }
std::string_view KeyOf(const std::string& value) { return value; }

struct EncodedValues {
  std::string dictionary;  // plain values; empty without a dictionary
  size_t dictionary_size = 0;
  std::string values;
};

template <typename Value>
EncodedValues Encode(const std::vector<Value>& values) {
  EncodedValues out;
  absl::flat_hash_map<decltype(KeyOf(values[0])), uint32_t> places;
  std::vector<uint32_t> indices;
  for (const Value& value : values) {
    const auto [place, is_new] = places.try_emplace(KeyOf(value), places.size());
    if (is_new) PutPlain(value, &out.dictionary);
    indices.push_back(place->second);
    if (places.size() > kMaxDictionary) break;
  }
  if (!values.empty() && indices.size() == values.size() && places.size() * 2 <= values.size()) {
    const int width = std::max(1, static_cast<int>(std::bit_width(places.size() - 1)));
    out.dictionary_size = places.size();
    out.values = absl::StrCat(std::string(1, static_cast<char>(width)), HybridOf(indices, width));
    return out;
  }
  out.dictionary.clear();
  for (const Value& value : values) PutPlain(value, &out.values);
  return out;
}

EncodedValues EncodeColumn(const Column& column) {
  switch (column.spec.type) {
    case ColumnType::kInteger:
      return Encode(column.integers);
    case ColumnType::kReal:
      return Encode(column.reals);
    case ColumnType::kText:
      return Encode(column.texts);
  }
  return {};
}

int TypeOf(ColumnType type) {
  return type == ColumnType::kInteger ? kInt64 : type == ColumnType::kReal ? kDouble : kByteArray;
}

// Where a column lies in the file.
struct Chunk {
  std::optional<int64_t> dictionary_offset;
  int64_t data_offset = 0;
  int64_t plain_bytes = 0;  // with the headers of the pages, as the format wants it
  int64_t stored_bytes = 0;
};

class FileWriter {
 public:
  absl::Status AddColumn(const Column& column) {
    const EncodedValues encoded = EncodeColumn(column);
    Chunk chunk;
    if (encoded.dictionary_size > 0) {
      chunk.dictionary_offset = static_cast<int64_t>(out_.size());
      PLATEAU_RETURN_IF_ERROR(
          AddPage(kDictionaryPage, encoded.dictionary, encoded.dictionary_size, kPlain, &chunk));
    }
    chunk.data_offset = static_cast<int64_t>(out_.size());
    std::string page;
    if (column.spec.may_be_null) {
      std::vector<uint32_t> is_there;
      for (const bool is_null : column.is_null) is_there.push_back(is_null ? 0 : 1);
      const std::string levels = HybridOf(is_there, 1);
      PutLittleEndian(levels.size(), 4, &page);
      page += levels;
    }
    page += encoded.values;
    PLATEAU_RETURN_IF_ERROR(AddPage(kDataPage, page, column.is_null.size(),
                                    encoded.dictionary_size > 0 ? kRleDictionary : kPlain, &chunk));
    chunks_.push_back(chunk);
    return absl::OkStatus();
  }

  std::string Finish(const Table& table, const std::vector<std::pair<std::string, std::string>>& metadata) {
    ThriftWriter footer;
    footer.I32(1, 1);
    footer.BeginStructList(2, table.columns().size() + 1);
    footer.BeginElement().Text(4, "schema").I32(5, static_cast<int32_t>(table.columns().size())).End();
    for (const Column& column : table.columns()) {
      footer.BeginElement()
          .I32(1, TypeOf(column.spec.type))
          .I32(3, column.spec.may_be_null ? kOptional : kRequired)
          .Text(4, column.spec.name);
      if (column.spec.type == ColumnType::kText) footer.I32(6, kUtf8);
      footer.End();
    }
    footer.I64(3, static_cast<int64_t>(table.rows()));
    footer.BeginStructList(4, chunks_.empty() ? 0 : 1);
    if (!chunks_.empty()) PutRowGroup(table, &footer);
    footer.BeginStructList(5, metadata.size());
    for (const auto& [key, value] : metadata) footer.BeginElement().Text(1, key).Text(2, value).End();
    footer.Text(6, absl::StrCat("plateau version ", PLATEAU_VERSION)).End();
    out_ += footer.bytes();
    PutLittleEndian(footer.bytes().size(), 4, &out_);
    out_ += kMagic;
    return std::move(out_);
  }

 private:
  absl::Status AddPage(PageType type, const std::string& plain, size_t values, Encoding encoding,
                       Chunk* chunk) {
    if (plain.size() > kMaxPageBytes)
      return absl::ResourceExhaustedError("a column has more than a page of Parquet holds");
    std::string stored(ZSTD_compressBound(plain.size()), '\0');
    const size_t size = ZSTD_compress(stored.data(), stored.size(), plain.data(), plain.size(), kZstdLevel);
    if (ZSTD_isError(size)) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
    stored.resize(size);
    ThriftWriter header;
    header.I32(1, type).I32(2, static_cast<int32_t>(plain.size())).I32(3, static_cast<int32_t>(size));
    if (type == kDataPage) {
      header.BeginStruct(5)
          .I32(1, static_cast<int32_t>(values))
          .I32(2, encoding)
          .I32(3, kRle)
          .I32(4, kRle)
          .End();
    } else {
      header.BeginStruct(7).I32(1, static_cast<int32_t>(values)).I32(2, encoding).Bool(3, false).End();
    }
    header.End();
    chunk->plain_bytes += static_cast<int64_t>(header.bytes().size() + plain.size());
    chunk->stored_bytes += static_cast<int64_t>(header.bytes().size() + stored.size());
    absl::StrAppend(&out_, header.bytes(), stored);
    return absl::OkStatus();
  }

  void PutRowGroup(const Table& table, ThriftWriter* footer) const {
    int64_t plain_bytes = 0;
    footer->BeginElement().BeginStructList(1, table.columns().size());
    for (size_t i = 0; i < table.columns().size(); ++i) {
      const Chunk& chunk = chunks_[i];
      plain_bytes += chunk.plain_bytes;
      footer->BeginElement().I64(2, chunk.dictionary_offset.value_or(chunk.data_offset)).BeginStruct(3);
      footer->I32(1, TypeOf(table.columns()[i].spec.type));
      footer->BeginI32List(2, chunk.dictionary_offset ? 3 : 2).Element(kPlain).Element(kRle);
      if (chunk.dictionary_offset) footer->Element(kRleDictionary);
      footer->BeginTextList(3, 1).Element(table.columns()[i].spec.name);
      footer->I32(4, kZstdCodec)
          .I64(5, static_cast<int64_t>(table.rows()))
          .I64(6, chunk.plain_bytes)
          .I64(7, chunk.stored_bytes)
          .I64(9, chunk.data_offset);
      if (chunk.dictionary_offset) footer->I64(11, *chunk.dictionary_offset);
      footer->End().End();
    }
    footer->I64(2, plain_bytes).I64(3, static_cast<int64_t>(table.rows())).End();
  }

  std::string out_ = kMagic;
  std::vector<Chunk> chunks_;
};

}  // namespace

absl::StatusOr<std::string> ParquetOf(const Table& table,
                                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  FileWriter writer;
  // A table without rows has no row group.
  for (size_t i = 0; i < table.columns().size() && table.rows() > 0; ++i) {
    PLATEAU_RETURN_IF_ERROR(writer.AddColumn(table.columns()[i]));
  }
  return writer.Finish(table, metadata);
}

}  // namespace plateau::report
