#include "preload/ledger/ledger.h"

#include <errno.h>

#include <cstring>

#include "preload/base/clock.h"
#include "preload/base/fixed_text.h"
#include "preload/base/real_functions.h"
#include "preload/base/system_call.h"
#include "preload/ledger/copied_pages.h"
#include "preload/ledger/counts.h"
#include "preload/ledger/residency.h"

namespace plateau {

constinit std::atomic<uint64_t> g_next_ledger_tsc{0};

namespace {

using trace::LedgerField;

constinit std::atomic<uint64_t> g_begin_tsc{0};
constinit std::atomic<uint64_t> g_last_tsc{0};
constinit std::atomic<bool> g_has_marks{false};
constinit std::atomic<uint64_t> g_next_mallinfo_tsc{0};
constinit std::atomic<uint64_t> g_next_host_tsc{0};
constinit std::atomic<uint64_t> g_next_parts_tsc{0};
constinit char g_cgroup_current_path[512] = {};
constinit uint64_t g_cgroup_limit_bytes = 0;

// The number behind `key` in text like "RssAnon:   123 kB".
bool NumberAfter(const char* text, const char* key, uint64_t* value) {
  const char* p = std::strstr(text, key);
  if (p == nullptr) return false;
  p += std::strlen(key);
  while (*p == ' ' || *p == '\t') ++p;
  if (*p < '0' || *p > '9') return false;
  *value = 0;
  for (; *p >= '0' && *p <= '9'; ++p) *value = *value * 10 + static_cast<uint64_t>(*p - '0');
  return true;
}

bool NumberInFile(const char* path, uint64_t* value) {
  char text[64];
  return sys::ReadFile(path, text, sizeof(text)) > 0 && NumberAfter(text, "", value);
}

void Add(trace::LedgerRecord* record, LedgerField field, uint64_t value) {
  if (record->count == trace::kMaxLedgerFields) return;
  record->fields[record->count].field = field;
  record->fields[record->count].value = value;
  ++record->count;
}

// "12:memory:/a/b" of a version 1 hierarchy, "0::/a/b" of version 2. False when there is no such line.
bool CgroupPath(const char* text, const char* controller, FixedText<512>* path) {
  const char* p = std::strstr(text, controller);
  if (p == nullptr) return false;
  p += std::strlen(controller);
  const char* end = std::strchr(p, '\n');
  *path << std::string_view(p, end == nullptr ? std::strlen(p) : static_cast<size_t>(end - p));
  return true;
}

// Looks for the memory controller under `root` + `path`, then, as in containers, under `root` itself. The
// limit is the lowest on the way up.
bool FindCgroup(std::string_view root, std::string_view path, const char* current, const char* limit) {
  FixedText<512> file;
  uint64_t ignored;
  file << root << path << "/" << current;
  if (!NumberInFile(file.c_str(), &ignored)) {
    path = "";
    file.Clear();
    file << root << "/" << current;
    if (!NumberInFile(file.c_str(), &ignored)) return false;
  }
  std::memcpy(g_cgroup_current_path, file.c_str(), file.size() + 1);
  for (;;) {
    file.Clear();
    file << root << path << "/" << limit;
    uint64_t bytes;
    // "max" is no number; version 1 writes a huge one.
    if (NumberInFile(file.c_str(), &bytes) && bytes < (uint64_t{1} << 60) &&
        (g_cgroup_limit_bytes == 0 || bytes < g_cgroup_limit_bytes)) {
      g_cgroup_limit_bytes = bytes;
    }
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string_view::npos) return true;
    path = path.substr(0, slash);
  }
}

void AddResident(trace::LedgerRecord* record) {
  char text[4096];
  if (sys::ReadFile("/proc/self/status", text, sizeof(text)) == 0) return;
  uint64_t value;
  if (NumberAfter(text, "\nRssAnon:", &value)) Add(record, LedgerField::kRssAnonBytes, value * 1024);
  if (NumberAfter(text, "\nRssFile:", &value)) Add(record, LedgerField::kRssFileBytes, value * 1024);
  if (NumberAfter(text, "\nRssShmem:", &value)) Add(record, LedgerField::kRssShmemBytes, value * 1024);
  if (NumberAfter(text, "\nVmSwap:", &value)) Add(record, LedgerField::kSwapBytes, value * 1024);
  if (NumberAfter(text, "\nThreads:", &value)) Add(record, LedgerField::kThreads, value);
  // Kernels before 5.9 tell only whether there is one.
  if (NumberAfter(text, "\nSeccomp_filters:", &value) || NumberAfter(text, "\nSeccomp:", &value)) {
    NoteSystemCallFilters(value);
  }
}

// A forked worker shares pages with its parent; what it has written is its own.
// Returns the private bytes, 0 when they are unknown.
uint64_t AddSharing(trace::LedgerRecord* record) {
  char text[2048];
  if (sys::ReadFile("/proc/self/smaps_rollup", text, sizeof(text)) == 0) return 0;
  uint64_t value, clean, private_bytes = 0;
  if (NumberAfter(text, "\nPrivate_Dirty:", &value)) {
    private_bytes = value * 1024;
    Add(record, LedgerField::kPrivateDirtyBytes, private_bytes);
  }
  if (NumberAfter(text, "\nShared_Dirty:", &value) && NumberAfter(text, "\nShared_Clean:", &clean)) {
    Add(record, LedgerField::kSharedBytes, (value + clean) * 1024);
  }
  return private_bytes;
}

void AddAllocator(trace::LedgerRecord* record, uint64_t now) {
  if (now < g_next_mallinfo_tsc.load(std::memory_order_relaxed) || !AllocatorIsGlibc()) return;
  const int saved_errno = errno;
  const AllocatorAccount account = ReadAllocatorAccount();
  errno = saved_errno;
  g_next_mallinfo_tsc.store(now + 200 * (Now() - now), std::memory_order_relaxed);
  Add(record, LedgerField::kAllocatorArenaBytes, account.arena_bytes);
  Add(record, LedgerField::kAllocatorFreeBytes, account.free_bytes);
  Add(record, LedgerField::kAllocatorMmapBytes, account.mapped_bytes);
}

// The machine as a whole changes slowly, and its file costs a quarter of a sample: once a second will do.
void AddHost(trace::LedgerRecord* record, uint64_t now, LedgerReason reason) {
  if (now < g_next_host_tsc.load(std::memory_order_relaxed) && reason != LedgerReason::kEnd) return;
  g_next_host_tsc.store(now + TicksOfMs(kLedgerIntervalMs), std::memory_order_relaxed);
  char text[512];
  uint64_t value;
  if (sys::ReadFile("/proc/meminfo", text, sizeof(text)) == 0) return;
  if (NumberAfter(text, "MemTotal:", &value)) Add(record, LedgerField::kHostLimitBytes, value * 1024);
  if (NumberAfter(text, "MemAvailable:", &value)) Add(record, LedgerField::kHostAvailableBytes, value * 1024);
}

void AddCgroup(trace::LedgerRecord* record) {
  uint64_t value;
  if (g_cgroup_current_path[0] != 0 && NumberInFile(g_cgroup_current_path, &value)) {
    Add(record, LedgerField::kCgroupCurrentBytes, value);
  }
  if (g_cgroup_limit_bytes != 0) Add(record, LedgerField::kCgroupLimitBytes, g_cgroup_limit_bytes);
}

// How long after `now` the next sample is due where no mark asks for one, at the finest.
uint64_t TickInterval(uint64_t now) {
  const uint64_t most = TicksOfMs(kLedgerIntervalMs);
  if (g_has_marks.load(std::memory_order_relaxed)) return most;
  const uint64_t begin = g_begin_tsc.load(std::memory_order_relaxed);
  const uint64_t quick = (now - (begin < now ? begin : now)) / kQuickShare;
  const uint64_t least = TicksOfMs(kQuickIntervalMs);
  return quick < least ? least : quick < most ? quick : most;
}

// A sample that took long, as that of a child that shares many pages, is followed by a longer pause.
void SpareProgram(uint64_t begin) {
  const uint64_t now = Now();
  uint64_t pause = kSampleCostDivisor * (now - begin);
  const uint64_t most = TicksOfMs(kLedgerIntervalMs);
  if (pause > most) pause = most;
  if (g_next_ledger_tsc.load(std::memory_order_relaxed) < now + pause)
    g_next_ledger_tsc.store(now + pause, std::memory_order_relaxed);
}

}  // namespace

uint64_t MemoryLeft() {
  char text[512];
  uint64_t left = UINT64_MAX, value = 0;
  if (sys::ReadFile("/proc/meminfo", text, sizeof(text)) != 0 && NumberAfter(text, "MemAvailable:", &value))
    left = value * 1024;
  if (g_cgroup_limit_bytes == 0 || g_cgroup_current_path[0] == 0) return left;
  if (!NumberInFile(g_cgroup_current_path, &value)) return left;
  const uint64_t of_group = value < g_cgroup_limit_bytes ? g_cgroup_limit_bytes - value : 0;
  return of_group < left ? of_group : left;
}

void StartLedger() {
  ResetCopiedPages();
  ResetCounts();
  ResetResidency();
  g_cgroup_current_path[0] = 0;
  g_cgroup_limit_bytes = 0;
  char text[4096];
  if (sys::ReadFile("/proc/self/cgroup", text, sizeof(text)) == 0) text[0] = 0;
  FixedText<512> path;
  const bool found =
      (CgroupPath(text, ":memory:", &path) &&
       FindCgroup("/sys/fs/cgroup/memory", path.view(), "memory.usage_in_bytes", "memory.limit_in_bytes"));
  if (!found) {
    path.Clear();
    if (CgroupPath(text, "0::", &path))
      FindCgroup("/sys/fs/cgroup", path.view(), "memory.current", "memory.max");
  }
  g_begin_tsc.store(Now(), std::memory_order_relaxed);
  g_has_marks.store(false, std::memory_order_relaxed);
  g_last_tsc.store(0, std::memory_order_relaxed);
  g_next_ledger_tsc.store(0, std::memory_order_relaxed);
  g_next_mallinfo_tsc.store(0, std::memory_order_relaxed);
  g_next_host_tsc.store(0, std::memory_order_relaxed);
  g_next_parts_tsc.store(0, std::memory_order_relaxed);
}

bool ClaimLedgerSample(LedgerReason reason, uint32_t coarser) {
  const uint64_t now = Now();
  uint64_t last = g_last_tsc.load(std::memory_order_relaxed);
  const unsigned shift = 2 * (coarser < kMaxCoarser ? coarser : kMaxCoarser);
  const bool is_tick = reason == LedgerReason::kTick || reason == LedgerReason::kTickUncached;
  if (reason == LedgerReason::kMark) g_has_marks.store(true, std::memory_order_relaxed);
  const uint64_t interval = TickInterval(now) << shift;
  const uint64_t least = TicksOfMs(kMinIntervalMs << shift);
  const uint64_t min_ticks = is_tick && interval < least ? interval : least;
  if (last != 0 && now - last < min_ticks && reason != LedgerReason::kEnd) return false;
  // One thread samples, the others go on.
  if (!g_last_tsc.compare_exchange_strong(last, now, std::memory_order_relaxed)) return false;
  g_next_ledger_tsc.store(now + interval, std::memory_order_relaxed);
  return true;
}

uint64_t ReadLedger(LedgerReason reason, const LedgerContext& context, trace::LedgerRecord* record) {
  const uint64_t now = Now();
  record->count = 0;
  AddResident(record);
  const bool has_no_arena_lock = reason == LedgerReason::kTickUncached || reason == LedgerReason::kMark;
  if (has_no_arena_lock && context.may_ask_allocator) AddAllocator(record, now);
  AddCgroup(record);
  AddHost(record, now, reason);
  AddCounts(now, record);
  const uint64_t private_bytes = context.is_forked_child ? AddSharing(record) : 0;
  Add(record, LedgerField::kOwnBytes, context.own_bytes);
  SpareProgram(now);
  return private_bytes;
}

bool ClaimPartsTick(LedgerReason reason) {
  if (reason == LedgerReason::kEnd) return false;
  const uint64_t now = Now();
  if (now < g_next_parts_tsc.load(std::memory_order_relaxed) && reason != LedgerReason::kMark) return false;
  g_next_parts_tsc.store(now + TicksOfMs(kLedgerIntervalMs), std::memory_order_relaxed);
  return true;
}

}  // namespace plateau
