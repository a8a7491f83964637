#include "preload/ledger/copied_pages.h"

#include <time.h>

#include <cstring>
#include <string_view>

#include "preload/base/clock.h"
#include "preload/base/page_size.h"
#include "preload/base/system_call.h"
#include "preload/trace/record.h"
#include "preload/trace/varint.h"

namespace plateau {
namespace {

constexpr uint64_t kMinGrowthBytes = 1 << 20;
constexpr uint64_t kMaxPages = 4 << 20;  // 16 GiB; a larger heap is looked at up to there

constexpr uint64_t kPauseFactor = 100;  // of the time a scan took, so that it stays under a hundredth

constinit uint64_t g_last_private_bytes = 0;
constinit uint64_t g_next_scan_tsc = 0;
constinit bool g_is_closed = false;  // the kernel gives no pagemap

// CPU time and not the wall clock: on a busy machine a scan takes longer and costs no more.
uint64_t ThreadCpuNs() {
  timespec now = {};
  sys::Call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, sys::Arg(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Packs runs of pages into records.
class RunWriter {
 public:
  explicit RunWriter(const PageRunSink& sink) : sink_(sink) {}

  void Add(uint64_t page) {
    if (length_ > 0 && page == first_ + length_) {
      ++length_;
      return;
    }
    EndRun();
    first_ = page;
    length_ = 1;
  }

  void Finish() {
    EndRun();
    Send();
  }

 private:
  void EndRun() {
    if (length_ == 0) return;
    if (used_ + 2 * trace::kMaxVarintBytes > sizeof(bytes_)) Send();
    uint8_t* out = bytes_ + used_;
    out = trace::PutVarint(out, used_ == 0 ? first_ : first_ - end_);
    out = trace::PutVarint(out, length_);
    used_ = static_cast<size_t>(out - bytes_);
    end_ = first_ + length_;
    length_ = 0;
  }

  void Send() {
    if (used_ == 0) return;
    sink_.write(sink_.context, {reinterpret_cast<const char*>(bytes_), used_});
    used_ = 0;
  }

  const PageRunSink& sink_;
  uint64_t first_ = 0;
  uint64_t length_ = 0;
  uint64_t end_ = 0;  // of the last run in bytes_
  size_t used_ = 0;
  uint8_t bytes_[1024];
};

// One character at a time from a file, without allocating.
class FileText {
 public:
  explicit FileText(const char* path) : fd_(sys::Open(path, O_RDONLY)) {}
  ~FileText() {
    if (!sys::Failed(fd_)) sys::Close(static_cast<int>(fd_));
  }
  // False at the end.
  bool Line(char* line, size_t capacity) {
    size_t length = 0;
    for (;;) {
      if (next_ == end_ && !Fill()) break;
      const char c = text_[next_++];
      if (c == '\n') {
        line[length] = 0;
        return true;
      }
      if (length + 1 < capacity) line[length++] = c;
    }
    line[length] = 0;
    return length > 0;
  }

 private:
  bool Fill() {
    if (sys::Failed(fd_)) return false;
    const long got = sys::Read(static_cast<int>(fd_), text_, sizeof(text_));
    next_ = 0;
    end_ = got > 0 ? static_cast<size_t>(got) : 0;
    return end_ > 0;
  }

  long fd_;
  size_t next_ = 0;
  size_t end_ = 0;
  char text_[2048];
};

const char* Hex(const char* p, uint64_t* value) {
  *value = 0;
  for (;; ++p) {
    if (*p >= '0' && *p <= '9') {
      *value = *value * 16 + static_cast<uint64_t>(*p - '0');
    } else if (*p >= 'a' && *p <= 'f') {
      *value = *value * 16 + static_cast<uint64_t>(*p - 'a' + 10);
    } else {
      return p;
    }
  }
}

// "7f00-7f80 rw-p 00000000 00:00 0 [heap]": private, writable and of no file. Stacks and heaps are among
// them.
bool PrivateMemory(const char* line, uint64_t* begin, uint64_t* end) {
  const char* p = Hex(line, begin);
  if (*p != '-') return false;
  p = Hex(p + 1, end);
  if (std::strncmp(p, " rw-p ", 6) != 0) return false;
  for (int field = 0; field < 3; ++field) {
    p = std::strchr(p + 1, ' ');
    if (p == nullptr) return false;
  }
  return std::strncmp(p, " 0", 2) == 0 && (p[2] == ' ' || p[2] == 0);
}

bool IsCopied(uint64_t entry) {
  constexpr uint64_t kPresent = uint64_t{1} << 63;
  constexpr uint64_t kFileOrShared = uint64_t{1} << 61;
  constexpr uint64_t kMappedOnce = uint64_t{1} << 56;
  return (entry & (kPresent | kFileOrShared | kMappedOnce)) == (kPresent | kMappedOnce);
}

bool ReadCopiedPages(const PageRunSink& sink) {
  const long pagemap = sys::Open("/proc/self/pagemap", O_RDONLY);
  if (sys::Failed(pagemap)) return false;
  FileText maps("/proc/self/maps");
  RunWriter runs(sink);
  char line[256];
  uint64_t begin, end;
  uint64_t pages_left = kMaxPages;
  const uint64_t page_bytes = PageBytes();
  const uint64_t parts = page_bytes / trace::kCopiedPageBytes;  // in what the trace calls a page
  bool has_answers = true;
  while (has_answers && pages_left > 0 && maps.Line(line, sizeof(line))) {
    if (!PrivateMemory(line, &begin, &end)) continue;
    uint64_t page = begin / page_bytes;
    while (page < end / page_bytes && pages_left > 0) {
      uint64_t entries[512];
      uint64_t wanted = end / page_bytes - page;
      if (wanted > 512) wanted = 512;
      const long got = sys::Pread(static_cast<int>(pagemap), entries, wanted * 8, page * 8);
      if (got < 8) {
        has_answers = got >= 0;
        break;
      }
      const uint64_t count = static_cast<uint64_t>(got) / 8;
      for (uint64_t i = 0; i < count; ++i) {
        if (!IsCopied(entries[i])) continue;
        for (uint64_t part = 0; part < parts; ++part) runs.Add((page + i) * parts + part);
      }
      page += count;
      pages_left -= count < pages_left ? count : pages_left;
    }
  }
  runs.Finish();
  sys::Close(static_cast<int>(pagemap));
  return has_answers;
}

}  // namespace

void ResetCopiedPages() {
  g_last_private_bytes = 0;
  g_next_scan_tsc = 0;
  g_is_closed = false;
}

void MaybeReadCopiedPages(uint64_t private_bytes, bool is_last, const PageRunSink& sink) {
  const uint64_t now = Now();
  const uint64_t growth =
      g_last_private_bytes / 8 > kMinGrowthBytes ? g_last_private_bytes / 8 : kMinGrowthBytes;
  if (g_is_closed || private_bytes < g_last_private_bytes + growth) return;
  if (now < g_next_scan_tsc && !is_last) return;
  const uint64_t begin_ns = ThreadCpuNs();
  g_is_closed = !ReadCopiedPages(sink);
  g_last_private_bytes = private_bytes;
  const uint64_t spent_us = (ThreadCpuNs() - begin_ns) / 1000;
  const uint64_t ticks_per_second = __atomic_load_n(&g_clock.ticks_per_second, __ATOMIC_RELAXED);
  g_next_scan_tsc = now + kPauseFactor * spent_us * (ticks_per_second / 1000000);
}

}  // namespace plateau
