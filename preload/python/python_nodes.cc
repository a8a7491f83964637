#include "preload/python/python_nodes.h"

#include <atomic>

#include "preload/definitions.h"
#include "preload/python/code_table.h"
#include "preload/python/fingerprint.h"
#include "preload/python/interpreter.h"
#include "preload/unwind/intern_cache.h"
#include "preload/unwind/raw_memory.h"

namespace plateau::python {
namespace {

constexpr unsigned kLog2Locations = 16;

struct KnownFrame {
  const void* code;
  uint32_t offset;
  uint32_t node;
  CodeFingerprint fingerprint;
};

// What a walking thread keeps between two captures.
struct ThreadMemory {
  uint32_t epoch;
  uint32_t known_count;
  bool known_truncated;
  PythonFrame frames[kMaxPythonFrames];
  KnownFrame known[kMaxPythonFrames];  // root first
};

constinit std::atomic<ThreadMemory*> g_memory{nullptr};
constinit std::atomic<uint32_t> g_epoch{1};
constinit std::atomic<uint32_t> g_cut_location{0};
constinit unwind::InternCache g_locations;  // (code id, offset) -> location id

ThreadMemory* MemoryOf(const WalkScope& scope) {
  ThreadMemory* memory = g_memory.load(std::memory_order_acquire);
  return memory == nullptr ? nullptr : memory + scope.slot();
}

bool Emit(void*, const trace::CodeRecord& record) { return DefineCode(record); }

uint32_t LocationOf(uint32_t code, uint32_t offset) {
  const uint64_t key = uint64_t{code} << 32 | offset;
  if (const uint32_t known = g_locations.Find(key)) return known;
  const uint32_t location = unwind::NewLocationId();
  if (location == 0 || !DefinePythonLocation({location, code, offset, 0})) return 0;
  g_locations.Insert(key, location);
  return location;
}

uint32_t InternKnown(const WalkScope& scope, const KnownFrame& frame, uint32_t parent,
                     unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink) {
  const uint32_t code = CodeId(scope, frame.code, frame.fingerprint, Emit, nullptr);
  if (code == 0) return 0;
  const uint32_t location = LocationOf(code, frame.offset);
  return location == 0 ? 0 : unwind::InternChild(thread, parent, location, sink);
}

}  // namespace

bool InitializePythonNodes() {
  if (g_memory.load(std::memory_order_acquire) != nullptr) return true;
  if (!InitializeCodeTable() || !g_locations.Initialize(kLog2Locations)) return false;
  // Reserved for all threads at once, touched where used.
  auto* memory = static_cast<ThreadMemory*>(unwind::MapZeroed(kMaxWalkingThreads * sizeof(ThreadMemory)));
  if (memory == nullptr) return false;
  g_memory.store(memory, std::memory_order_release);
  return true;
}

PythonStack WalkPythonStack(const WalkScope& scope) {
  ThreadMemory* memory = scope ? MemoryOf(scope) : nullptr;
  if (memory == nullptr) return {};
  PythonStack stack;
  stack.frames = memory->frames;
  stack.count = WalkPythonFrames(scope, memory->frames, kMaxPythonFrames, &stack.truncated);
  return stack;
}

uint32_t InternPythonFrame(const WalkScope& scope, const PythonFrame& frame, uint32_t parent,
                           unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink) {
  return InternKnown(scope, {frame.code, frame.offset, 0, FingerprintOf(g_interpreter.layout, frame.code)},
                     parent, thread, sink);
}

uint32_t InternCutMark(unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink) {
  uint32_t location = g_cut_location.load(std::memory_order_acquire);
  if (location == 0) {
    location = unwind::NewLocationId();
    if (location == 0) return 0;
    sink.Location({location, 0, static_cast<uint64_t>(unwind::StackEnd::kDepthCap)});
    g_cut_location.store(location, std::memory_order_release);
  }
  return unwind::InternChild(thread, 0, location, sink);
}

uint32_t InternPythonStack(const WalkScope& scope, const PythonStack& stack, unwind::ThreadCapture& thread,
                           const unwind::DefinitionSink& sink) {
  ThreadMemory& memory = *MemoryOf(scope);
  const uint32_t epoch = g_epoch.load(std::memory_order_acquire);
  if (memory.epoch != epoch || memory.known_truncated != stack.truncated) {
    memory.epoch = epoch;
    memory.known_truncated = stack.truncated;
    memory.known_count = 0;
  }
  uint32_t node = 0;
  if (stack.truncated) {
    node = InternCutMark(thread, sink);
    if (node == 0) return 0;
  }
  const Layout& layout = g_interpreter.layout;
  bool is_unchanged = true;
  for (size_t i = 0; i < stack.count; ++i) {
    const PythonFrame& frame = stack.frames[stack.count - 1 - i];
    KnownFrame& known = memory.known[i];
    if (is_unchanged && i < memory.known_count && known.code == frame.code && known.offset == frame.offset &&
        HasFingerprint(layout, frame.code, known.fingerprint)) {
      node = known.node;
      continue;
    }
    is_unchanged = false;
    known = {frame.code, frame.offset, 0, FingerprintOf(layout, frame.code)};
    memory.known_count = static_cast<uint32_t>(i);
    node = InternKnown(scope, known, node, thread, sink);
    if (node == 0) return 0;
    known.node = node;
  }
  memory.known_count = static_cast<uint32_t>(stack.count);
  return node;
}

void ForgetPythonNodes() {
  ForgetCodeRecords();
  g_epoch.fetch_add(1, std::memory_order_acq_rel);
  g_cut_location.store(0, std::memory_order_release);
  if (g_memory.load(std::memory_order_acquire) != nullptr) g_locations.Clear();
}

}  // namespace plateau::python
