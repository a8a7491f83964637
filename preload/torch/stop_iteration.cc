#include "preload/torch/stop_iteration.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "preload/torch/thread_view.h"

namespace plateau {
namespace {

constexpr uint32_t kTypeName = 24;  // PyTypeObject.tp_name

constinit std::atomic<bool> is_proven{false};

bool IsStopIteration(const char* name) { return name != nullptr && strcmp(name, "StopIteration") == 0; }

}  // namespace

const void* HandledException() {
  const ThreadView view = ViewThread();
  if (view.state == nullptr) return nullptr;
  const void* info = ReadPointerAt(view.state, view.layout->exc_info);
  const auto distance = reinterpret_cast<uintptr_t>(info) - reinterpret_cast<uintptr_t>(view.state);
  if (distance < view.layout->thread_state_bytes) is_proven.store(true, std::memory_order_relaxed);
  // Inside a generator the pointer leads elsewhere; that is fine once it was seen at home.
  if (!is_proven.load(std::memory_order_relaxed)) return nullptr;
  return ReadPointerAt(info, 0);
}

bool EndedByStopIteration(const void* handled_before) {
  const void* handled = HandledException();
  if (handled == nullptr || handled == handled_before) return false;
  // Up to 3.10 the first word is the exception's class, from 3.11 on the exception itself. None is an object
  // of a class with another name, and a class is an object whose type is `type`.
  const char* class_name = ClassNameOf(handled);
  if (IsStopIteration(class_name)) return true;
  return class_name != nullptr && strcmp(class_name, "type") == 0 &&
         IsStopIteration(static_cast<const char*>(ReadPointerAt(handled, kTypeName)));
}

bool KnowsStopIteration() { return CanViewThreads() && is_proven.load(std::memory_order_relaxed); }

}  // namespace plateau
