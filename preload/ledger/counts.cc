#include "preload/ledger/counts.h"

#include <atomic>
#include <cstring>

#include "preload/base/clock.h"
#include "preload/base/system_call.h"

namespace plateau {
namespace {

using trace::LedgerField;

constinit std::atomic<uint64_t> g_next_files_tsc{0};
constinit std::atomic<uint64_t> g_next_mappings_tsc{0};

void Add(LedgerField field, std::optional<uint64_t> value, trace::LedgerRecord* record) {
  if (!value || record->count == trace::kMaxLedgerFields) return;
  record->fields[record->count].field = field;
  record->fields[record->count].value = *value;
  ++record->count;
}

}  // namespace

void ResetCounts() {
  g_next_files_tsc.store(0, std::memory_order_relaxed);
  g_next_mappings_tsc.store(0, std::memory_order_relaxed);
}

void AddCounts(uint64_t now, trace::LedgerRecord* record) {
  const auto count = [&](LedgerField field, auto read, std::atomic<uint64_t>* next) {
    if (now < next->load(std::memory_order_relaxed)) return;
    const uint64_t begin = Now();
    Add(field, read(), record);
    next->store(begin + kCountCostDivisor * (Now() - begin), std::memory_order_relaxed);
  };
  count(LedgerField::kOpenFiles, CountOpenFiles, &g_next_files_tsc);
  count(LedgerField::kMappings, CountMappings, &g_next_mappings_tsc);
}

std::optional<uint64_t> CountOpenFiles() {
  const long folder = sys::Open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  if (sys::Failed(folder)) return std::nullopt;
  const int fd = static_cast<int>(folder);
  struct stat info = {};
  std::optional<uint64_t> count;
  if (!sys::Failed(sys::Call(SYS_fstat, fd, sys::Arg(&info))) && info.st_size > 0) {
    count = static_cast<uint64_t>(info.st_size);
  } else {
    count = ListOpenFiles(fd);
  }
  sys::Close(fd);
  if (count && *count > 0) --*count;  // the folder itself
  return count;
}

std::optional<uint64_t> ListOpenFiles(int folder) {
  // linux_dirent64: inode (8), offset (8), length (2), type (1), name.
  constexpr size_t kLengthAt = 16;
  constexpr size_t kNameAt = 19;
  alignas(8) char entries[2048];  // threads may have small stacks
  uint64_t count = 0;
  for (;;) {
    const long got = sys::Call(SYS_getdents64, folder, sys::Arg(entries), sizeof(entries));
    if (sys::Failed(got)) return std::nullopt;
    if (got == 0) return count;
    for (size_t at = 0; at + kNameAt < static_cast<size_t>(got);) {
      uint16_t length;
      std::memcpy(&length, entries + at + kLengthAt, sizeof(length));
      if (length == 0) return std::nullopt;
      if (entries[at + kNameAt] != '.') ++count;
      at += length;
    }
  }
}

std::optional<uint64_t> CountMappings() {
  const long file = sys::Open("/proc/self/maps", O_RDONLY);
  if (sys::Failed(file)) return std::nullopt;
  const int fd = static_cast<int>(file);
  char text[4096];
  uint64_t lines = 0;
  long got;
  while ((got = sys::Read(fd, text, sizeof(text))) > 0) {
    for (const char* p = text;
         (p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(text + got - p)))) != nullptr;
         ++p) {
      ++lines;
    }
  }
  sys::Close(fd);
  return got < 0 ? std::nullopt : std::optional<uint64_t>(lines);
}

}  // namespace plateau
