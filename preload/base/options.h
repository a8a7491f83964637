// The environment of the shim, read once in the constructor. options.inc is the list.
//
// Values are copied: a program that sets its process title overwrites the memory in which its environment was,
// and children that are forked later still need to know where their traces go. Allocates: never.
#ifndef PLATEAU_PRELOAD_BASE_OPTIONS_H_
#define PLATEAU_PRELOAD_BASE_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "preload/trace/format.h"

namespace plateau {

class OptionText {
 public:
  static constexpr size_t kCapacity = 4096;  // as long as a path can be

  // False, and nothing is changed, when the text is empty or too long.
  bool Set(const char* text);
  const char* c_str() const { return text_; }

 private:
  char text_[kCapacity] = {};
};
using OptionBytes = uint64_t;
using OptionSwitch = bool;
using OptionMode = trace::Mode;
// What is recorded of Python's small objects.
enum class PythonAlloc : uint8_t { kSample, kExact, kOff };
using OptionPythonAlloc = PythonAlloc;

struct Options {
#define PLATEAU_OPTION(type, member, name, value, help) Option##type member;
#include "preload/base/options.inc"
#undef PLATEAU_OPTION
};

// The options of this process. Everything is zero until the constructor has read the environment.
extern Options g_options;

struct OptionRow {
  const char* name;
  const char* type;
  const char* default_value;
  const char* help;
};
extern const OptionRow kOptionRows[];
extern const size_t kOptionRowCount;

// The header, one extent of the ring and room for two blocks.
inline constexpr uint64_t kLeastTraceBytes = trace::kExtentBytes + 128 * 1024;

// Reads the options from `environment` ("NAME=value" strings, null at the end). A value that cannot be read
// is reported through raw_log and replaced by its default. Returns how many were.
int ReadOptions(char** environment, Options* options);

// Reads "512K", "1G" or "4096"; false when the text is no such number.
bool ParseBytes(const char* text, uint64_t* bytes);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_BASE_OPTIONS_H_
