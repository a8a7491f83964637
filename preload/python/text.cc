#include "preload/python/text.h"

#include <cstdint>

#include "preload/python/layout.h"

namespace plateau::python {
namespace {

// PyASCIIObject.state: interned 2 bits, then kind 3, compact 1, ascii 1.
constexpr unsigned kKindShift = 2;
constexpr unsigned kCompactShift = 5;
constexpr unsigned kAsciiShift = 6;
constexpr size_t kMaxCharacterBytes = 4;

char* PutCharacter(char* out, uint32_t c) {
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xc0 | c >> 6);
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *out++ = static_cast<char>(0xe0 | c >> 12);
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  } else {
    *out++ = static_cast<char>(0xf0 | (c >> 18 & 7));
    *out++ = static_cast<char>(0x80 | (c >> 12 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *out++ = static_cast<char>(0x80 | (c & 0x3f));
  }
  return out;
}

}  // namespace

std::string_view TextOf(const Layout& layout, const void* str, char* buffer, size_t capacity) {
  if (str == nullptr) return {};
  const uint32_t state = ReadAt<uint32_t>(str, kTextState);
  const uint64_t length = ReadAt<uint64_t>(str, kObjectSize);
  const unsigned kind = state >> kKindShift & 7;
  const bool is_compact = (state >> kCompactShift & 1) != 0;
  const bool is_ascii = (state >> kAsciiShift & 1) != 0;
  const char* data = static_cast<const char*>(str) + (is_ascii ? layout.text_ascii : layout.text_compact);
  if (!is_compact) data = ReadAt<const char*>(str, layout.text_compact);
  if (data == nullptr || length == 0 || (kind != 1 && kind != 2 && kind != 4)) return {};
  if (is_ascii && kind == 1) return {data, length < capacity ? length : capacity};

  char* out = buffer;
  for (uint64_t i = 0; i < length && static_cast<size_t>(out - buffer) + kMaxCharacterBytes <= capacity;
       ++i) {
    const uint32_t c = kind == 1   ? ReadAt<uint8_t>(data, i)
                       : kind == 2 ? ReadAt<uint16_t>(data, 2 * i)
                                   : ReadAt<uint32_t>(data, 4 * i);
    out = PutCharacter(out, c);
  }
  return {buffer, static_cast<size_t>(out - buffer)};
}

}  // namespace plateau::python
