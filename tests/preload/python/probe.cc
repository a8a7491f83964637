// A preload library that walks Python frames in malloc() and writes what it saw as text, to be compared with
// sys._getframe(). It is the Python part of the shim with a hook around it and nothing else.
//
//   PROBE_OUT=FILE   where to write; children of a fork append ".PID"
//   PROBE_MIN=N      write stacks of requests of at least N bytes (others are not walked)
//   PROBE_ALL=1      walk on every request, and look every code object up
//   PROBE_POISON=1   fill freed memory with 0xDB, so that a use after free does not go unnoticed
//   PROBE_GUARD=0    leave the finalisation guard out, to show what it is for
//   PROBE_VERIFY=1   keep every code object's content by id and count ids that stand for other content
//   PROBE_MERGE=leaf|full  write merged stacks of native and Python frames instead
//   PROBE_LINGER_MS  sleep in a destructor, so that daemon threads go on during finalisation
//
// Lines: "C id version first_line file name table" (hex) and "S size count truncated
// code:offset:entry:c_stack ...".
// Merged: "M module base path", "L location module offset", "P location code offset", "N node parent
// location" and "T size node".
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "preload/base/hook_frame.h"
#include "preload/base/raw_memory.h"
#include "preload/python/code_table.h"
#include "preload/python/frames.h"
#include "preload/python/interpreter.h"
#include "preload/python/line_table.h"
#include "preload/python/merged_stack.h"
#include "preload/python/python_nodes.h"
#include "preload/python/walk_scope.h"
#include "preload/recorder/definitions.h"
#include "preload/recorder/stack_capture.h"
#include "preload/unwind/capture.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

using namespace plateau;
using namespace plateau::python;

size_t g_min = SIZE_MAX;
bool g_all = false, g_poison = false, g_guard = true, g_verify = false;
int g_linger_ms = 0;
int g_fd = -1;
char g_path[512];
thread_local int t_depth = 0;

std::atomic<uint64_t> g_captures, g_frames, g_no_state, g_no_frames, g_no_id, g_wrong_ids;

std::atomic_flag g_lock = ATOMIC_FLAG_INIT;
char g_buffer[1 << 20];
size_t g_size = 0;

class Lock {
 public:
  Lock() {
    while (g_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { g_lock.clear(std::memory_order_release); }
};

void Flush() {
  size_t done = 0;
  while (g_fd >= 0 && done < g_size) {
    const ssize_t n = write(g_fd, g_buffer + done, g_size - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  g_size = 0;
}

void PutHex(std::string_view bytes) {
  g_buffer[g_size++] = ' ';
  if (bytes.empty()) g_buffer[g_size++] = '-';
  for (char c : bytes) {
    g_buffer[g_size++] = "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    g_buffer[g_size++] = "0123456789abcdef"[c & 15];
  }
}

constexpr size_t kVerified = 1 << 20;
uint64_t* g_content_of_id = nullptr;

uint64_t HashContent(const trace::CodeRecord& record) {
  uint64_t hash = 1469598103934665603u + record.first_line;
  for (std::string_view part : {record.file, record.name, record.line_table}) {
    for (char c : part) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
    hash = (hash ^ 0x100) * 1099511628211u;
  }
  return hash;
}

bool Emit(void*, const trace::CodeRecord& record) {
  if (g_verify && record.code < kVerified) g_content_of_id[record.code] = HashContent(record);
  if (g_fd < 0) return true;
  const Lock lock;
  if (g_size + 2 * (record.file.size() + record.name.size() + record.line_table.size()) + 200 >
      sizeof(g_buffer))
    Flush();
  g_size += static_cast<size_t>(
      snprintf(g_buffer + g_size, 100, "C %u %u %u", record.code, record.python_version, record.first_line));
  PutHex(record.file);
  PutHex(record.name);
  PutHex(record.line_table);
  g_buffer[g_size++] = '\n';
  return true;
}

// What the id stands for must be what the code object is now. Reads it anew, through a table of its own.
void Verify(const void* code, uint32_t id) {
  const Layout& layout = g_interpreter.layout;
  auto pointer = [&](const void* object, size_t offset) {
    const void* value;
    memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
    return static_cast<const char*>(value);
  };
  auto text = [&](const char* str) -> std::string_view {  // ASCII only; the churn test has no other
    uint64_t length;
    memcpy(&length, str + kObjectSize, 8);
    return {str + layout.text_ascii, length};
  };
  trace::CodeRecord record = {};
  memcpy(&record.first_line, static_cast<const char*>(code) + layout.code_first_line, 4);
  record.file = text(pointer(code, layout.code_file));
  record.name = text(pointer(code, layout.code_name));
  const char* table = pointer(code, layout.code_line_table);
  uint64_t bytes;
  memcpy(&bytes, table + kObjectSize, 8);
  record.line_table = {table + kBytesData, bytes};
  char lines[4096];  // the churn test has no longer tables
  if (g_interpreter.version >= kFirstVersionWithColumns)
    record.line_table = WithoutColumns(record.line_table, lines, sizeof(lines));
  if (id < kVerified && g_content_of_id[id] != HashContent(record)) g_wrong_ids.fetch_add(1);
}

void Capture(size_t size) {
  const WalkScope scope;
  PythonFrame frames[kMaxPythonFrames];
  uint32_t ids[kMaxPythonFrames];
  bool truncated = false;
  g_captures.fetch_add(1, std::memory_order_relaxed);
  if (!scope) g_no_state.fetch_add(1, std::memory_order_relaxed);
  const size_t count = WalkPythonFrames(scope, frames, kMaxPythonFrames, &truncated);
  if (scope && count == 0) g_no_frames.fetch_add(1, std::memory_order_relaxed);
  g_frames.fetch_add(count, std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = CodeId(scope, frames[i].code, Emit, nullptr);
    if (ids[i] == 0) g_no_id.fetch_add(1, std::memory_order_relaxed);
    if (g_verify) Verify(frames[i].code, ids[i]);
  }
  if (size < g_min || g_fd < 0) return;
  const Lock lock;
  if (g_size + 64 * count + 200 > sizeof(g_buffer)) Flush();
  g_size += static_cast<size_t>(snprintf(g_buffer + g_size, 100, "S %zu %zu %d", size, count, truncated));
  for (size_t i = 0; i < count; ++i) {
    g_size +=
        static_cast<size_t>(snprintf(g_buffer + g_size, 64, " %u:%u:%d:%lx", ids[i], frames[i].offset,
                                     frames[i].entry, reinterpret_cast<unsigned long>(frames[i].c_stack)));
  }
  g_buffer[g_size++] = '\n';
}

thread_local unwind::ThreadCapture* t_capture = nullptr;
bool g_merge = false;
NativeFrames g_native_frames = NativeFrames::kLeaf;
pthread_key_t g_thread_end;

template <typename... Values>
void PutLine(const char* format, Values... values) {
  const Lock lock;
  if (g_size + 200 > sizeof(g_buffer)) Flush();
  g_size += static_cast<size_t>(snprintf(g_buffer + g_size, 200, format, values...));
}

const unwind::DefinitionSink kSink = {
    .context = nullptr,
    .module =
        [](void*, const trace::ModuleRecord& record) {
          const Lock lock;
          if (g_size + 2 * record.path.size() + 200 > sizeof(g_buffer)) Flush();
          g_size +=
              static_cast<size_t>(snprintf(g_buffer + g_size, 100, "M %u %lx", record.module, record.base));
          PutHex(record.path);
          g_buffer[g_size++] = '\n';
        },
    .module_gone = [](void*, uint32_t) {},
    .location =
        [](void*, const trace::PcRecord& record) {
          PutLine("L %u %u %lx\n", record.location, record.module, record.offset);
        },
    .node =
        [](void*, const trace::NodeRecord& record) {
          PutLine("N %u %u %u\n", record.node, record.parent, record.location);
        },
};

unwind::ThreadCapture* CaptureOfThread() {
  if (t_capture == nullptr) {
    t_capture = static_cast<unwind::ThreadCapture*>(unwind::MapZeroed(sizeof(unwind::ThreadCapture)));
    t_capture->Initialize();
    pthread_setspecific(g_thread_end, t_capture);
  }
  return t_capture;
}

void OnThreadEnd(void*) { ReleaseWalkFlag(); }

void OnAllocation(size_t size, const void* frame) {
  if ((size < g_min && !g_all) || t_depth != 0) return;
  ++t_depth;
  const int saved_errno = errno;
  if (g_merge) {
    const uint32_t node =
        CaptureMergedStack(*CaptureOfThread(), CallerOfFrame(frame), kSink, g_native_frames);
    if (size >= g_min) PutLine("T %zu %u\n", size, node);
  } else {
    Capture(size);
  }
  errno = saved_errno;
  --t_depth;
}

void OnForkChild() {
  ResetWalkGuardInChild();
  ForgetPythonNodes();
  unwind::ResetCaptureAfterFork();
  g_lock.clear();
  g_size = 0;
  if (g_fd < 0) return;
  char path[600];
  snprintf(path, sizeof(path), "%s.%d", g_path, getpid());
  g_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) void Start() {
  ++t_depth;
  const char* value;
  if ((value = getenv("PROBE_MIN")) != nullptr) g_min = strtoull(value, nullptr, 10);
  g_all = getenv("PROBE_ALL") != nullptr;
  g_poison = getenv("PROBE_POISON") != nullptr;
  g_guard = getenv("PROBE_GUARD") == nullptr;
  if ((value = getenv("PROBE_LINGER_MS")) != nullptr) g_linger_ms = atoi(value);
  if (getenv("PROBE_VERIFY") != nullptr) {
    g_content_of_id = static_cast<uint64_t*>(
        mmap(nullptr, kVerified * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    g_verify = true;
  }
  if ((value = getenv("PROBE_OUT")) != nullptr) {
    snprintf(g_path, sizeof(g_path), "%s", value);
    g_fd = open(g_path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  }
  if ((value = getenv("PROBE_MERGE")) != nullptr) {
    g_merge = true;
    g_native_frames = strcmp(value, "full") == 0 ? NativeFrames::kFull : NativeFrames::kLeaf;
  }
  pthread_key_create(&g_thread_end, OnThreadEnd);
  unwind::InitializeCapture();
  NoticeModules();
  InitializePythonNodes();
  if (getenv("PROBE_NAIVE") != nullptr) {
    // The finalising word is never seen: what a walk without a guard does.
    static std::atomic<uintptr_t> never{0};
    g_finalizing_word.store(&never);
  }
  pthread_atfork(nullptr, nullptr, OnForkChild);
  --t_depth;
}

__attribute__((destructor)) void Stop() {
  if (g_linger_ms > 0) usleep(static_cast<useconds_t>(g_linger_ms) * 1000);
  ++t_depth;
  const Lock lock;
  Flush();
  --t_depth;
}

}  // namespace

namespace plateau {
bool DefineCode(const trace::CodeRecord& record) { return Emit(nullptr, record); }
bool DefinePythonLocation(const trace::PythonLocationRecord& record) {
  PutLine("P %u %u %u\n", record.location, record.code, record.offset);
  return true;
}
}  // namespace plateau

EXPORTED void* malloc(size_t size) {
  void* p = __libc_malloc(size);
  OnAllocation(size, HookFrame());
  return p;
}
EXPORTED void* calloc(size_t n, size_t size) {
  void* p = __libc_calloc(n, size);
  OnAllocation(n * size, HookFrame());
  return p;
}
EXPORTED void* realloc(void* old, size_t size) {
  if (g_guard) BeforeRelease();
  void* p = __libc_realloc(old, size);
  OnAllocation(size, HookFrame());
  return p;
}
EXPORTED int posix_memalign(void** out, size_t alignment, size_t size) {
  void* p = __libc_memalign(alignment, size);
  if (p == nullptr) return ENOMEM;
  *out = p;
  OnAllocation(size, HookFrame());
  return 0;
}
EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  void* p = __libc_memalign(alignment, size);
  OnAllocation(size, HookFrame());
  return p;
}
EXPORTED void* memalign(size_t alignment, size_t size) {
  void* p = __libc_memalign(alignment, size);
  OnAllocation(size, HookFrame());
  return p;
}
EXPORTED void free(void* p) {
  if (g_guard) BeforeRelease();
  if (g_poison && p != nullptr) memset(p, 0xdb, malloc_usable_size(p));
  __libc_free(p);
}

// For ctypes.
EXPORTED void probe_flush() {
  ++t_depth;
  const Lock lock;
  Flush();
  --t_depth;
}
EXPORTED void probe_statistics(uint64_t* out) {
  const uint64_t values[] = {g_captures,
                             g_frames,
                             g_no_state,
                             g_no_frames,
                             g_no_id,
                             bad_frames(),
                             CodeTableStatistics().records,
                             CodeTableStatistics().address_reuses,
                             g_wrong_ids};
  memcpy(out, values, sizeof(values));
}
// After a dlopen() the shim would have seen.
EXPORTED void probe_notice_modules() {
  ++t_depth;
  NoticeModules();
  InitializePythonNodes();
  --t_depth;
}
EXPORTED const char* probe_status() {
  if (g_interpreter_state.load() == InterpreterState::kAbsent) return "absent";
  return g_interpreter.refusal != nullptr ? g_interpreter.refusal : g_interpreter.version_text;
}
// Nanoseconds per walk (mode 0), walk with code look-up (1), Python nodes (2), native capture (3) or merged
// capture (4) of the caller's stack.
EXPORTED double probe_benchmark(int mode, int rounds, int* depth) {
  ++t_depth;
  timespec begin, end;
  PythonFrame frames[kMaxPythonFrames];
  bool truncated;
  size_t count = 0;
  uint64_t sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < rounds; ++i) {
    if (mode == 3) sum += unwind::CaptureStack(*CaptureOfThread(), CallerOfFrame(HookFrame()), kSink);
    if (mode == 4) {
      sum += CaptureMergedStack(*CaptureOfThread(), CallerOfFrame(HookFrame()), kSink, g_native_frames);
    }
    if (mode >= 3) continue;
    const WalkScope scope;
    if (mode == 2) {
      const PythonStack stack = WalkPythonStack(scope);
      count = stack.count;
      sum += InternPythonStack(scope, stack, *CaptureOfThread(), kSink);
      continue;
    }
    count = WalkPythonFrames(scope, frames, kMaxPythonFrames, &truncated);
    sum += reinterpret_cast<uintptr_t>(frames[0].code);
    for (size_t k = 0; mode == 1 && k < count; ++k) sum += CodeId(scope, frames[k].code, Emit, nullptr);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  *depth = static_cast<int>(count) + (sum == 42 ? 1 : 0);
  --t_depth;
  return ((end.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(end.tv_nsec - begin.tv_nsec)) / rounds;
}
