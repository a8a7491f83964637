#include "preload/attach/writable_maps.h"

#include <cstring>

#include "preload/base/system_call.h"

namespace plateau {
namespace {

const char* ReadNumber(const char* p, uintptr_t* value) {
  *value = 0;
  for (;; ++p) {
    const int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
    if (digit < 0) return p;
    *value = *value * 16 + static_cast<uintptr_t>(digit);
  }
}

}  // namespace

// One line: "7f12-7f34 rw-p 00001000 fe:00 1234      /usr/lib/libc.so.6".
void WritableMaps::Take(const char* line) {
  Range range;
  const char* p = ReadNumber(line, &range.begin);
  if (*p != '-') return;
  p = ReadNumber(p + 1, &range.end);
  if (p[0] != ' ' || p[1] == 0 || p[2] != 'w') return;
  if (count_ > 0 && ranges_[count_ - 1].end == range.begin) {
    ranges_[count_ - 1].end = range.end;
  } else if (count_ < kMaxRanges) {
    ranges_[count_++] = range;
  } else {
    is_known_ = false;
  }
}

WritableMaps::WritableMaps(const char* maps_file) {
  ranges_ = static_cast<Range*>(sys::MapAnonymous(kMaxRanges * sizeof(Range)));
  const long fd = ranges_ == nullptr ? -1 : sys::Open(maps_file, O_RDONLY);
  if (sys::Failed(fd)) return;
  is_known_ = true;
  char text[4096];
  size_t used = 0;
  bool is_rest_of_line = false, has_any = false;
  for (;;) {
    const long got = sys::Read(static_cast<int>(fd), text + used, sizeof(text) - 1 - used);
    if (got <= 0) break;
    has_any = true;
    used += static_cast<size_t>(got);
    text[used] = 0;
    char* begin = text;
    for (char* end; (end = std::strchr(begin, '\n')) != nullptr; begin = end + 1) {
      *end = 0;
      if (!is_rest_of_line) Take(begin);
      is_rest_of_line = false;
    }
    used -= static_cast<size_t>(begin - text);
    std::memmove(text, begin, used + 1);
    if (used + 1 < sizeof(text)) continue;
    if (!is_rest_of_line) Take(text);  // a path that fills the buffer: what comes before it is all there
    is_rest_of_line = true;
    used = 0;
  }
  sys::Close(static_cast<int>(fd));
  is_known_ &= has_any;
}

WritableMaps::~WritableMaps() {
  if (ranges_ != nullptr) sys::Munmap(ranges_, kMaxRanges * sizeof(Range));
}

bool WritableMaps::Contains(uintptr_t address) const {
  size_t begin = 0, end = count_;
  while (begin < end) {
    const size_t middle = (begin + end) / 2;
    if (address < ranges_[middle].begin) {
      end = middle;
    } else if (address >= ranges_[middle].end) {
      begin = middle + 1;
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace plateau
