// Reads numbers from a range of bytes and never past its end.
//
// After the first read that does not fit, ok() is false for good and every read returns 0, so a parser may
// check once after a group of fields. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_UNWIND_BYTE_READER_H_
#define PLATEAU_PRELOAD_UNWIND_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plateau::unwind {

// Bytes that may be read: [begin, end).
struct ByteSpan {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;

  size_t size() const { return static_cast<size_t>(end - begin); }
  bool Contains(const uint8_t* p) const { return p >= begin && p < end; }
};

class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const uint8_t* begin, const uint8_t* end) : p_(begin), end_(end), ok_(begin <= end) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return !ok_ || p_ == end_; }
  const uint8_t* position() const { return p_; }
  const uint8_t* end() const { return end_; }
  size_t remaining() const { return ok_ ? static_cast<size_t>(end_ - p_) : 0; }

  template <typename T>
  T Read() {
    if (remaining() < sizeof(T)) return static_cast<T>(Fail());
    T value;
    std::memcpy(&value, p_, sizeof(T));
    p_ += sizeof(T);
    return value;
  }

  uint64_t ReadUleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const uint8_t byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }

  int64_t ReadSleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70;) {
      const uint8_t byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if (byte < 0x80) {
        if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
    return static_cast<int64_t>(Fail());
  }

  void Skip(uint64_t bytes) {
    if (bytes > remaining()) {
      Fail();
    } else {
      p_ += bytes;
    }
  }

  // Narrows the reader to the next `bytes` bytes and returns a reader of those.
  ByteReader Take(uint64_t bytes) {
    const uint8_t* begin = p_;
    Skip(bytes);
    return ok_ ? ByteReader(begin, p_) : Failed();
  }

  uint64_t Fail() {
    ok_ = false;
    return 0;
  }

 private:
  static ByteReader Failed() {
    ByteReader reader;
    reader.ok_ = false;
    return reader;
  }

  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_BYTE_READER_H_
