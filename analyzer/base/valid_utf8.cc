#include "analyzer/base/valid_utf8.h"

#include <cstddef>

namespace plateau {
namespace {

// Bytes of the well-formed sequence that starts at `at`; 0 when none does. The table is that of the Unicode standard.
size_t SequenceAt(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80, high = first == 0xed ? 0x9f : 0xbf;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80, high = first == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string ValidUtf8(std::string text) {
  size_t at = 0;
  while (at < text.size() && SequenceAt(text, at) > 0) at += SequenceAt(text, at);
  if (at == text.size()) return text;
  std::string out = text.substr(0, at);
  while (at < text.size()) {
    const size_t bytes = SequenceAt(text, at);
    if (bytes == 0) {
      out += "\xef\xbf\xbd";
      ++at;
    } else {
      out.append(text, at, bytes);
      at += bytes;
    }
  }
  return out;
}

}  // namespace plateau
