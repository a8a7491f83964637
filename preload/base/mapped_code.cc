#include "preload/base/mapped_code.h"

#include <cstring>

#include "preload/base/system_call.h"

namespace plateau {
namespace {

// One line: "7f12-7f34 r-xp 00001000 fe:00 1234      /usr/lib/libc.so.6". The path is kept only as far as it is needed.
class Line {
 public:
  uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  uint64_t device = 0;  // major and minor number in one
  bool is_readable = false, is_code = false;

  // False when the line has another form.
  bool Parse(const char* text) {
    const char* p = Number(text, 16, &begin);
    if (*p != '-') return false;
    p = Number(p + 1, 16, &end);
    if (std::strlen(p) < 6 || *p != ' ') return false;
    is_readable = p[1] == 'r';
    is_code = p[3] == 'x';
    p = Number(p + 6, 16, &offset);
    uint64_t major = 0, minor = 0;
    if (*p != ' ') return false;
    p = Number(p + 1, 16, &major);
    if (*p != ':') return false;
    p = Number(p + 1, 16, &minor);
    device = major << 32 | minor;
    if (*p != ' ') return false;
    p = Number(p + 1, 10, &inode);
    while (*p == ' ') ++p;
    path_ = p;
    return true;
  }
  const char* path() const { return path_; }

 private:
  static const char* Number(const char* p, unsigned base, uint64_t* value) {
    *value = 0;
    for (;; ++p) {
      unsigned digit = 16;
      if (*p >= '0' && *p <= '9') digit = static_cast<unsigned>(*p - '0');
      if (*p >= 'a' && *p <= 'f') digit = static_cast<unsigned>(*p - 'a' + 10);
      if (digit >= base) return p;
      *value = *value * base + digit;
    }
  }

  const char* path_ = "";
};

// Where the last few files begin. The segments of a library follow one another; in the holes between them the kernel
// may have put others.
class FileBeginnings {
 public:
  void Note(const Line& line) {
    if (line.offset != 0 || line.inode == 0 || !line.is_readable) return;
    kept_[next_++ % kKept] = {line.begin, line.device, line.inode};
  }
  uintptr_t Of(const Line& line) const {
    uintptr_t nearest = 0;
    for (const Beginning& one : kept_) {
      if (one.inode == line.inode && one.device == line.device && one.at > nearest) nearest = one.at;
    }
    return line.inode != 0 ? nearest : 0;
  }

 private:
  static constexpr unsigned kKept = 8;
  struct Beginning {
    uintptr_t at = 0;
    uint64_t device = 0, inode = 0;
  };
  Beginning kept_[kKept];
  unsigned next_ = 0;
};

class Scan {
 public:
  Scan(uintptr_t address, MappedCode* found) : address_(address), found_(found) {}

  // True when the answer is known.
  bool Take(const char* text) {
    Line line;
    if (!line.Parse(text)) return false;
    beginnings_.Note(line);
    if (line.begin > address_) return true;
    if (line.end <= address_) return false;
    found_->begin = line.begin;
    found_->end = line.end;
    if (line.is_code) found_->file_begin = beginnings_.Of(line);
    if (found_->file_begin == 0) return true;
    size_t length = 0;
    for (const char* p = line.path(); *p != 0 && length + 1 < MappedCode::kMaxPath; ++p) {
      found_->path[length++] = *p;
    }
    found_->path[length] = 0;
    return true;
  }

 private:
  const uintptr_t address_;
  MappedCode* const found_;
  FileBeginnings beginnings_;
};

}  // namespace

bool FindMappedCode(uintptr_t address, MappedCode* found, const char* maps_file) {
  found->begin = found->end = found->file_begin = 0;
  found->path[0] = 0;
  const long fd = sys::Open(maps_file, O_RDONLY);
  if (sys::Failed(fd)) return false;
  Scan scan(address, found);
  char text[2048];
  size_t used = 0;
  bool is_known = false, is_rest_of_line = false;
  while (!is_known) {
    const long got = sys::Read(static_cast<int>(fd), text + used, sizeof(text) - 1 - used);
    if (got <= 0) break;
    used += static_cast<size_t>(got);
    text[used] = 0;
    char* begin = text;
    for (char* end; !is_known && (end = std::strchr(begin, '\n')) != nullptr; begin = end + 1) {
      *end = 0;
      if (!is_rest_of_line) is_known = scan.Take(begin);
      is_rest_of_line = false;
    }
    used -= static_cast<size_t>(begin - text);
    std::memmove(text, begin, used + 1);
    if (used + 1 < sizeof(text)) continue;
    if (!is_rest_of_line)
      is_known = scan.Take(text);  // a path that fills the buffer: what is known of it will do
    is_rest_of_line = true;
    used = 0;
  }
  sys::Close(static_cast<int>(fd));
  return true;
}

}  // namespace plateau
