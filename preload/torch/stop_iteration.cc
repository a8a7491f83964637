#include "preload/torch/stop_iteration.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/base/real_symbol.h"

namespace plateau {
namespace {

struct Layout {
  uint32_t exc_info;            // offset of PyThreadState.exc_info
  uint32_t thread_state_bytes;  // sizeof(PyThreadState)
};

// Offsets of CPython 3.8 to 3.13, from the headers of each version.
constexpr Layout kLayouts[] = {{144, 264}, {144, 264}, {144, 280}, {120, 360}, {104, 288}, {120, 304}};
constexpr int kFirstMinor = 8;

constexpr char kAnyLibrary[] = "";  // the interpreter may be the program itself

constexpr uint32_t kObjectType = 8;  // PyObject.ob_type
constexpr uint32_t kTypeName = 24;   // PyTypeObject.tp_name

enum State : int { kUnknown, kNone, kReady };

constinit std::atomic<int> state{kUnknown};
constinit std::atomic<bool> is_proven{false};
constinit Layout layout{};
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
  layout = kLayouts[minor - kFirstMinor];
  get_thread_state = get;
  return kReady;
}

const void* Read(const void* base, uint32_t offset) {
  const void* value;
  memcpy(&value, static_cast<const char*>(base) + offset, sizeof(value));
  return value;
}

bool IsStopIterationClass(const void* type) {
  const auto* name = static_cast<const char*>(Read(type, kTypeName));
  return name != nullptr && strcmp(name, "StopIteration") == 0;
}

}  // namespace

const void* HandledException() {
  int now = state.load(std::memory_order_acquire);
  if (now == kUnknown) {
    now = Find();
    state.store(now, std::memory_order_release);
  }
  if (now != kReady) return nullptr;
  const void* thread_state = get_thread_state();
  if (thread_state == nullptr) return nullptr;
  const void* info = Read(thread_state, layout.exc_info);
  const auto distance = reinterpret_cast<uintptr_t>(info) - reinterpret_cast<uintptr_t>(thread_state);
  if (distance < layout.thread_state_bytes) is_proven.store(true, std::memory_order_relaxed);
  // Inside a generator the pointer leads elsewhere; that is fine once it was seen at home.
  if (!is_proven.load(std::memory_order_relaxed)) return nullptr;
  return Read(info, 0);
}

bool EndedByStopIteration(const void* handled_before) {
  const void* handled = HandledException();
  if (handled == nullptr || handled == handled_before) return false;
  // Up to 3.10 the first word is the exception's class, from 3.11 on the exception itself. None is an object
  // of a class with another name, and a class is an object whose type is `type`.
  const void* type = Read(handled, kObjectType);
  if (type == nullptr) return false;
  if (IsStopIterationClass(type)) return true;
  const auto* type_name = static_cast<const char*>(Read(type, kTypeName));
  return type_name != nullptr && strcmp(type_name, "type") == 0 && IsStopIterationClass(handled);
}

bool KnowsStopIteration() {
  return state.load(std::memory_order_acquire) == kReady && is_proven.load(std::memory_order_relaxed);
}

}  // namespace plateau
