// 128-bit keys made of contents, so that ranks of a job that know nothing of each other give the same thing the same key.
//
// FNV-1a over the parts, in two lanes, each finished by a mixer. Parts are separated, so that ("ab", "c") and ("a", "bc")
// differ. Not for secrets: who wants to can make two texts of one key.
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_CONTENT_KEY_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_CONTENT_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace plateau::report {

class ContentKey {
 public:
  ContentKey& Add(std::string_view part) {
    for (const char c : part) Take(static_cast<unsigned char>(c));
    for (uint64_t size = part.size(); size > 0; size >>= 8) Take(static_cast<unsigned char>(size));
    Take(0xff);
    return *this;
  }
  ContentKey& Add(int64_t part) {
    return Add(std::string_view(reinterpret_cast<const char*>(&part), sizeof(part)));
  }

  // 32 hexadecimal digits.
  std::string Text() const {
    std::string text;
    for (const uint64_t lane : {Mix(a_), Mix(b_ ^ Mix(a_))}) {
      for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[lane >> shift & 15];
    }
    return text;
  }

 private:
  void Take(unsigned char byte) {
    a_ = (a_ ^ byte) * 0x100000001b3u;
    b_ = (b_ ^ byte ^ (a_ >> 56)) * 0x9fb21c651e98df25u;
  }
  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  uint64_t a_ = 0xcbf29ce484222325u;
  uint64_t b_ = 0x6c62272e07bb0142u;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_CONTENT_KEY_H_
