// A stand-in for libplateau.so in tests of the device hooks: defines plateau_device_event() and appends one
// line per event to the file named by DEVICE_EVENT_LOG. At exit it lists the wrappers libplateau_cuda.so has
// handed out.
//
//   alloc runtime device gpu=0 graph=0 addr=7f.. bytes=10001 handle=55.. total=0 reserved=0 api=cudaMalloc
//   caller=program handed cuMemAlloc_v2 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/cuda/wrapper_slots.h"
#include "preload/recorder/device_event.h"

namespace {

const char* const kOps[] = {"?",       "alloc", "free",  "oom",    "reserve", "unreserve", "create",
                            "release", "map",   "unmap", "retain", "reset",   "capture",   "pool"};
const char* const kLevels[] = {"?", "runtime", "driver", "tensor"};
const char* const kMemories[] = {"?",       "device", "pinned", "registered",
                                 "managed", "array",  "async",  "imported"};

int LogFile() {
  static const int file = [] {
    const char* path = getenv("DEVICE_EVENT_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  return file;
}

void Write(const char* text, int length) {
  if (LogFile() >= 0 && write(LogFile(), text, static_cast<size_t>(length)) < 0) abort();
}

// The object the hook was called from, read as the unwinder would: from the hook's frame.
const char* CallerOf(const void* frame) {
  Dl_info info;
  const void* return_address = static_cast<const void* const*>(frame)[1];
  if (dladdr(return_address, &info) == 0 || info.dli_fname == nullptr) return "?";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

__attribute__((destructor)) void ListHandedOut() {
  auto* list = reinterpret_cast<decltype(&plateau_cuda_list_handed_out)>(
      dlsym(RTLD_DEFAULT, "plateau_cuda_list_handed_out"));
  if (list == nullptr) return;
  struct plateau_cuda_handed_out entries[256];
  const int count = list(entries, 256);
  for (int i = 0; i < count && i < 256; ++i) {
    char line[128];
    Write(line, snprintf(line, sizeof line, "handed %s %u %u\n", entries[i].name, entries[i].count,
                         entries[i].unwrapped));
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void plateau_device_event(
    const struct plateau_device_event* event) {
  char line[320];
  const int length = snprintf(
      line, sizeof line,
      "%s %s %s gpu=%d graph=%d addr=%lx bytes=%lu handle=%lx total=%lu reserved=%lu api=%s caller=%s\n",
      kOps[event->op], kLevels[event->level], kMemories[event->memory], event->device, event->graph,
      event->address, event->bytes, event->handle, event->total_bytes, event->reserved_bytes, event->api,
      CallerOf(event->frame));
  Write(line, length);
  errno = 5;  // the program must not see this
}
