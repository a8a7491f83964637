// What identifies a code object while it lives: equal fingerprints at equal addresses are equal code.
//
// Addresses of code objects are used again all the time, and so are those of their names and line tables. In
// a test that makes and drops 6,800 code objects the address alone was wrong 1,400 to 2,600 times per
// version, file, name and first line on top of it up to 78 times, all of this but the text of the file's name in one of some
// hundred thousand frames: code made from "<fx>.3" came where that of "<fx>.5" had been. So the end of a short file name counts
// too. From 3.12 on co_version counts creations and settles it without a look into other objects; it is 0 once its counter
// has run out.
//
// Plain reads of a code object that a frame of the calling thread keeps alive.
#ifndef PLATEAU_PRELOAD_PYTHON_FINGERPRINT_H_
#define PLATEAU_PRELOAD_PYTHON_FINGERPRINT_H_

#include <cstdint>
#include <cstring>

#include "preload/python/layout.h"

namespace plateau::python {

struct CodeFingerprint {
  uint64_t file;
  uint64_t name;
  uint64_t line_table;
  uint64_t first_line_and_version;
  uint64_t texts;  // hash of the name, and the end of a short file name
  uint64_t line_table_bytes;
  uint64_t table_head;  // its first and last 8 bytes
  uint64_t table_tail;

  bool operator==(const CodeFingerprint&) const = default;
};

inline uint64_t FirstLineAndVersion(const Layout& layout, const void* code) {
  const uint64_t line = ReadAt<uint32_t>(code, layout.code_first_line);
  if (layout.code_version == kNoField) return line;
  return line | uint64_t{ReadAt<uint32_t>(code, layout.code_version)} << 32;
}

// Something that differs between short texts which differ at their ends. Files have long names and live long; code that is
// made while the program runs is of "<string>" or "<ipython-input-7>".
inline uint64_t EndOfShortText(const Layout& layout, const void* text) {
  constexpr uint64_t kShort = 64;
  constexpr uint32_t kCompactAscii = 3u << 5;
  const uint64_t length = ReadAt<uint64_t>(text, kObjectSize);
  const bool is_ascii = (ReadAt<uint32_t>(text, kTextState) & kCompactAscii) == kCompactAscii;
  if (length < sizeof(uint64_t) || length > kShort || !is_ascii) return length;
  return length + ReadAt<uint64_t>(text, layout.text_ascii + length - sizeof(uint64_t));
}

inline CodeFingerprint FingerprintOf(const Layout& layout, const void* code) {
  CodeFingerprint print = {};
  const void* name = ReadPointer(code, layout.code_name);
  const void* table = ReadPointer(code, layout.code_line_table);
  print.file = ReadAt<uint64_t>(code, layout.code_file);
  print.name = reinterpret_cast<uint64_t>(name);
  print.line_table = reinterpret_cast<uint64_t>(table);
  print.first_line_and_version = FirstLineAndVersion(layout, code);
  print.texts = name != nullptr ? ReadAt<uint64_t>(name, kTextHash) : 0;
  if (print.file != 0 && print.first_line_and_version >> 32 == 0)
    print.texts ^= EndOfShortText(layout, reinterpret_cast<const void*>(print.file));
  if (table == nullptr) return print;
  print.line_table_bytes = ReadAt<uint64_t>(table, kObjectSize);
  const char* bytes = static_cast<const char*>(table) + kBytesData;
  if (print.line_table_bytes >= 8) {
    print.table_head = ReadAt<uint64_t>(bytes, 0);
    print.table_tail = ReadAt<uint64_t>(bytes, print.line_table_bytes - 8);
  } else {
    memcpy(&print.table_head, bytes, print.line_table_bytes);
  }
  return print;
}

// The same as FingerprintOf(layout, code) == print, with as few reads as will do.
inline bool HasFingerprint(const Layout& layout, const void* code, const CodeFingerprint& print) {
  const uint64_t difference = (ReadAt<uint64_t>(code, layout.code_file) ^ print.file) |
                              (ReadAt<uint64_t>(code, layout.code_name) ^ print.name) |
                              (ReadAt<uint64_t>(code, layout.code_line_table) ^ print.line_table) |
                              (FirstLineAndVersion(layout, code) ^ print.first_line_and_version);
  if (difference != 0) return false;
  if (print.first_line_and_version >> 32 != 0) return true;
  return FingerprintOf(layout, code) == print;
}

}  // namespace plateau::python

#endif  // PLATEAU_PRELOAD_PYTHON_FINGERPRINT_H_
