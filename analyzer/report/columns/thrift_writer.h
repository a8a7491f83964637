// Thrift's compact protocol, as far as the footers and page headers of Parquet need it.
//
//   ThriftWriter out;
//   out.I32(1, 2).Text(4, "name");      // fields in rising order of their numbers
//   out.BeginStruct(5).I64(1, 3).End();
//   out.End();                          // of the outermost struct
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_THRIFT_WRITER_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_THRIFT_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plateau::report {

class ThriftWriter {
 public:
  ThriftWriter& I32(int field, int32_t value) { return Field(field, 5).Varint(ZigZag(value)); }
  ThriftWriter& I64(int field, int64_t value) { return Field(field, 6).Varint(ZigZag(value)); }
  ThriftWriter& Bool(int field, bool value) { return Field(field, value ? 1 : 2); }
  ThriftWriter& Text(int field, std::string_view text) { return Field(field, 8).Bytes(text); }

  ThriftWriter& BeginStruct(int field) {
    Field(field, 12);
    last_fields_.push_back(0);
    return *this;
  }
  ThriftWriter& End() {
    out_ += '\0';
    last_fields_.pop_back();
    return *this;
  }

  // Elements of a list follow its head: Element() for integers and texts, BeginElement() ... End() for structs.
  ThriftWriter& BeginI32List(int field, size_t size) { return Field(field, 9).ListHead(size, 5); }
  ThriftWriter& BeginTextList(int field, size_t size) { return Field(field, 9).ListHead(size, 8); }
  ThriftWriter& BeginStructList(int field, size_t size) { return Field(field, 9).ListHead(size, 12); }
  ThriftWriter& Element(int32_t value) { return Varint(ZigZag(value)); }
  ThriftWriter& Element(std::string_view text) { return Bytes(text); }
  ThriftWriter& BeginElement() {
    last_fields_.push_back(0);
    return *this;
  }

  const std::string& bytes() const { return out_; }

 private:
  static uint64_t ZigZag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  }
  ThriftWriter& Field(int field, int type) {
    const int step = field - last_fields_.back();
    last_fields_.back() = field;
    if (step >= 1 && step <= 15) {
      out_ += static_cast<char>(step << 4 | type);
      return *this;
    }
    out_ += static_cast<char>(type);
    return Varint(ZigZag(field));
  }
  ThriftWriter& ListHead(size_t size, int type) {
    if (size < 15) {
      out_ += static_cast<char>(size << 4 | static_cast<size_t>(type));
      return *this;
    }
    out_ += static_cast<char>(0xf0 | type);
    return Varint(size);
  }
  ThriftWriter& Bytes(std::string_view text) {
    Varint(text.size());
    out_ += text;
    return *this;
  }
  ThriftWriter& Varint(uint64_t value) {
    for (; value >= 128; value >>= 7) out_ += static_cast<char>(value | 128);
    out_ += static_cast<char>(value);
    return *this;
  }

  std::string out_;
  std::vector<int> last_fields_ = {0};
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_THRIFT_WRITER_H_
