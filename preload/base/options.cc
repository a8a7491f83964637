#include "preload/base/options.h"

#include <cstring>
#include <string_view>

#include "preload/base/fixed_text.h"
#include "preload/base/raw_log.h"

namespace plateau {

constinit Options g_options = {};

namespace {

const char* Find(char** environment, std::string_view name) {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name.data(), name.size()) == 0 && (*entry)[name.size()] == '=') {
      return *entry + name.size() + 1;
    }
  }
  return nullptr;
}

bool Parse(const char* text, OptionText* value) { return value->Set(text); }

bool Parse(const char* text, uint64_t* value) { return ParseBytes(text, value); }

bool Parse(const char* text, bool* value) {
  if (text[0] != '0' && text[0] != '1') return false;
  *value = text[0] == '1';
  return text[1] == 0 || text[1] == ':';  // "0:PID": see FollowOnlyThisProcess() in process_info.cc
}

template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

template <typename Value, size_t kCount>
bool ParseWord(std::string_view text, const Word<Value> (&words)[kCount], Value* value) {
  for (const Word<Value>& known : words) {
    if (text != known.word) continue;
    *value = known.value;
    return true;
  }
  return false;
}

bool Parse(const char* text, trace::Mode* value) {
  static constexpr Word<trace::Mode> kWords[] = {
      {"default", trace::Mode::kDefault}, {"exact", trace::Mode::kExact}, {"off", trace::Mode::kOff}};
  return ParseWord(text, kWords, value);
}

bool Parse(const char* text, PythonAlloc* value) {
  static constexpr Word<PythonAlloc> kWords[] = {
      {"sample", PythonAlloc::kSample}, {"exact", PythonAlloc::kExact}, {"off", PythonAlloc::kOff}};
  return ParseWord(text, kWords, value);
}

template <typename T>
int ReadOne(char** environment, const char* name, const char* default_value, T* value) {
  const char* text = Find(environment, name);
  if (text == nullptr) {
    Parse(default_value, value);
    return 0;
  }
  if (Parse(text, value)) return 0;
  FixedText<256> line;
  const std::string_view shown = std::string_view(text).substr(0, 100);
  line << name << "=" << shown << (shown.size() < std::strlen(text) ? "..." : "")
       << " is not understood, using " << default_value;
  RawLog(line.view());
  Parse(default_value, value);
  return 1;
}

}  // namespace

const OptionRow kOptionRows[] = {
#define PLATEAU_OPTION(type, member, name, value, help) {name, #type, value, help},
#include "preload/base/options.inc"
#undef PLATEAU_OPTION
};
const size_t kOptionRowCount = sizeof(kOptionRows) / sizeof(kOptionRows[0]);

bool OptionText::Set(const char* text) {
  const size_t size = std::strlen(text);
  if (size == 0 || size >= kCapacity) return false;
  std::memcpy(text_, text, size + 1);
  return true;
}

bool ParseBytes(const char* text, uint64_t* bytes) {
  uint64_t value = 0;
  const char* p = text;
  for (; *p >= '0' && *p <= '9'; ++p) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value)) {
      return false;
    }
  }
  if (p == text) return false;
  unsigned shift = 0;
  if (*p == 'K' || *p == 'k') shift = 10;
  if (*p == 'M' || *p == 'm') shift = 20;
  if (*p == 'G' || *p == 'g') shift = 30;
  if (*p == 'T' || *p == 't') shift = 40;
  if (shift != 0) ++p;
  if (shift != 0 && std::strcmp(p, "iB") == 0) p += 2;
  if (*p != 0 || (value << shift) >> shift != value) return false;
  *bytes = value << shift;
  return true;
}

int ReadOptions(char** environment, Options* options) {
  bool quiet = false;
  const char* quiet_text = Find(environment, "PLATEAU_QUIET");
  if (quiet_text != nullptr && Parse(quiet_text, &quiet)) SetLogQuiet(quiet);
  int bad = 0;
#define PLATEAU_OPTION(type, member, name, value, help) \
  bad += ReadOne(environment, name, value, &options->member);
#include "preload/base/options.inc"
#undef PLATEAU_OPTION
  const bool has_asked = Find(environment, "PLATEAU_SAMPLE_BYTES") != nullptr;
  if (has_asked && Find(environment, "PLATEAU_SAMPLE_DENSER") == nullptr) options->sample_denser = 1;
  if (options->max_trace != 0 && options->max_trace < kLeastTraceBytes) {
    FixedText<128> line;
    line << "PLATEAU_MAX_TRACE=" << options->max_trace << " is less than a trace needs, using "
         << kLeastTraceBytes / 1024 << "K";
    RawLog(line.view());
    options->max_trace = kLeastTraceBytes;
    ++bad;
  }
  return bad;
}

}  // namespace plateau
