// A recorder that knows nothing but marks: writes what the torch part reports as lines of text, so that the
// part can be tested on real programs without the rest of the shim.
//
//   LD_PRELOAD=libmark_recorder.so MARKS=/tmp/marks.txt python3 train.py
//   M <nanoseconds> <thread> <kind> <source> <value> <name>
//   I <key> <value>                                              a status line
//   T <tensors> <their bytes> <tensors gone>                     at exit, per process
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>

#include "preload/recorder/tracer.h"
#include "preload/torch/start.h"

namespace plateau {
namespace {

int output = -1;
std::atomic<uint64_t> tensors{0};
std::atomic<uint64_t> tensor_bytes{0};
std::atomic<uint64_t> gone{0};
thread_local int guard_depth = 0;

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

template <typename... Values>
void WriteLine(const char* format, Values... values) {
  if (output < 0) return;
  char line[1024];
  const int length = snprintf(line, sizeof(line), format, values...);
  if (write(output, line, static_cast<size_t>(length)) < 0) output = -1;
}

}  // namespace

bool Enabled() { return output >= 0; }
bool InHook() { return guard_depth > 0; }
HookGuard::HookGuard() { ++guard_depth; }
HookGuard::~HookGuard() { --guard_depth; }

void RecordMark(trace::MarkKind kind, trace::MarkSource source, uint64_t value, std::string_view name) {
  WriteLine("M %" PRIu64 " %ld %d %d %" PRIu64 " %.*s\n", NowNs(), syscall(SYS_gettid),
            static_cast<int>(kind), static_cast<int>(source), value, static_cast<int>(name.size()),
            name.data());
}

uint32_t CaptureMarkSite(const void*) { return 0; }

void TagTensor(const void*, size_t bytes) {
  tensors.fetch_add(1);
  tensor_bytes.fetch_add(bytes);
}

void UntagTensor(const void*) { gone.fetch_add(1); }

void RecordInfo(std::string_view key, std::string_view value) {
  WriteLine("I %.*s %.*s\n", static_cast<int>(key.size()), key.data(), static_cast<int>(value.size()),
            value.data());
}

namespace {

__attribute__((constructor)) void Start() {
  const char* path = getenv("MARKS");
  if (path == nullptr) return;
  output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  StartTorch({.op_names = getenv("MARKS_OPS") != nullptr});
}

__attribute__((destructor)) void Finish() {
  WriteLine("T %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tensors.load(), tensor_bytes.load(), gone.load());
}

}  // namespace
}  // namespace plateau
