#include "preload/torch/thread_view.h"

#include <atomic>
#include <iterator>

#include "preload/base/real_symbol.h"

namespace plateau {
namespace {

constexpr uint32_t kNo = kNoOffset;

constexpr ThreadLayout kLayouts[] = {
    {144, 264, 24, kNo, 24, 32, kNo, 360, 16},  // 3.8
    {144, 264, 24, kNo, 24, 32, kNo, 360, 16},  // 3.9
    {144, 280, 24, kNo, 24, 32, kNo, 352, 16},  // 3.10
    {120, 360, 56, 8, 48, 32, 69, 72, 56},      // 3.11
    {104, 288, 56, 0, 8, 0, 70, 72, 52},        // 3.12
    {120, 304, 72, kNo, 8, 0, 70, 72, 52},      // 3.13
};
constexpr int kFirstMinor = 8;

constexpr char kAnyLibrary[] = "";  // the interpreter may be the program itself

enum State : int { kUnknown, kNone, kReady };

constinit std::atomic<int> state{kUnknown};
constinit const ThreadLayout* layout = nullptr;
using GetThreadState = void*();
constinit GetThreadState* get_thread_state = nullptr;

int MinorOf(const char* version) {
  if (version == nullptr || version[0] != '3' || version[1] != '.') return -1;
  int minor = 0;
  for (const char* c = version + 2; *c >= '0' && *c <= '9'; ++c) minor = minor * 10 + (*c - '0');
  return minor;
}

int Find() {
  auto* version = reinterpret_cast<const char* (*)()>(FindInLibrary(kAnyLibrary, "Py_GetVersion"));
  auto* get = reinterpret_cast<void* (*)()>(FindInLibrary(kAnyLibrary, "PyGILState_GetThisThreadState"));
  if (version == nullptr || get == nullptr) return kNone;
  const char* text = version();
  const int minor = MinorOf(text);
  const bool is_known = minor >= kFirstMinor && minor - kFirstMinor < static_cast<int>(std::size(kLayouts));
  // Free-threaded builds have another object header.
  if (!is_known || strstr(text, "free-threading") != nullptr) return kNone;
  layout = &kLayouts[minor - kFirstMinor];
  get_thread_state = get;
  return kReady;
}

}  // namespace

ThreadView ViewThread() {
  int now = state.load(std::memory_order_acquire);
  if (now == kUnknown) {
    now = Find();
    state.store(now, std::memory_order_release);
  }
  if (now != kReady) return {};
  return {get_thread_state(), layout};
}

bool CanViewThreads() { return state.load(std::memory_order_acquire) == kReady; }

}  // namespace plateau
