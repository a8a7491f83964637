#include "preload/python/python_nodes.h"

#include <atomic>
#include <cstring>

#include "preload/definitions.h"
#include "preload/python/code_table.h"
#include "preload/python/fingerprint.h"
#include "preload/python/interpreter.h"
#include "preload/unwind/intern_cache.h"
#include "preload/unwind/raw_memory.h"

namespace plateau::python {
namespace {

constexpr unsigned kLog2Locations = 16;

// A frame under its parent, and its node. All zero: none.
struct alignas(128) KnownFrame {
  const void* code;
  uint32_t offset;
  uint32_t parent;
  uint32_t node;
  CodeFingerprint fingerprint;
};

constexpr unsigned kLog2KnownFrames = 8;
constexpr size_t kKnownFrames = size_t{1} << kLog2KnownFrames;
constexpr size_t kKnownWays = 4;

// What a walking thread keeps between two captures.
struct ThreadMemory {
  uint32_t epoch;
  uint32_t turn;
  PythonFrame frames[kMaxPythonFrames];
  KnownFrame known[kKnownFrames];
};

// The frames from the root to one of them, as a number that says where it is looked up. Made of what a walk
// has found, so that no look-up has to wait for the one before.
class Path {
 public:
  void Add(const PythonFrame& frame) {
    hash_ = (hash_ ^ reinterpret_cast<uintptr_t>(frame.code) ^ uint64_t{frame.offset} << 44) *
            0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 32;
  }
  size_t place() const { return hash_ & (kKnownFrames - 1); }

 private:
  uint64_t hash_ = 0;
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

bool IsKnown(const Layout& layout, const KnownFrame& known, const PythonFrame& frame, uint32_t parent) {
  return known.code == frame.code && known.offset == frame.offset && known.parent == parent &&
         HasFingerprint(layout, frame.code, known.fingerprint);
}

// The node of `frame` under `parent`: the thread's own when it is one of four at `place`, else from the
// tables of the process. 0 when it could not be defined.
uint32_t NodeOf(const WalkScope& scope, ThreadMemory* memory, size_t place, const PythonFrame& frame,
                uint32_t parent, unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink) {
  const Layout& layout = g_interpreter.layout;
  KnownFrame* spare = &memory->known[place ^ memory->turn % kKnownWays];
  for (size_t way = 0; way < kKnownWays; ++way) {
    KnownFrame& known = memory->known[place ^ way];
    if (IsKnown(layout, known, frame, parent)) [[likely]]
      return known.node;
    if (known.code != nullptr) continue;
    spare = &known;
    break;
  }
  ++memory->turn;
  *spare = {frame.code, frame.offset, parent, 0, FingerprintOf(layout, frame.code)};
  spare->node = InternKnown(scope, *spare, parent, thread, sink);
  if (spare->node == 0) *spare = {};
  return spare->node;
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
  const CodeFingerprint fingerprint = FingerprintOf(g_interpreter.layout, frame.code);
  return InternKnown(scope, {frame.code, frame.offset, parent, 0, fingerprint}, parent, thread, sink);
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
  if (memory.epoch != epoch) [[unlikely]] {
    if (memory.epoch != 0) memset(memory.known, 0, sizeof(memory.known));  // else it is new, and zero
    memory.epoch = epoch;
  }
  uint32_t node = 0;
  if (stack.truncated) {
    node = InternCutMark(thread, sink);
    if (node == 0) return 0;
  }
  Path ahead;
  for (size_t i = stack.count; i > 0; --i) {
    ahead.Add(stack.frames[i - 1]);
    const KnownFrame* known = &memory.known[ahead.place()];
    __builtin_prefetch(known);
    __builtin_prefetch(reinterpret_cast<const char*>(known) + sizeof(KnownFrame) / 2);
  }
  Path path;
  for (size_t i = stack.count; i > 0 && (i == stack.count || node != 0); --i) {
    path.Add(stack.frames[i - 1]);
    node = NodeOf(scope, &memory, path.place(), stack.frames[i - 1], node, thread, sink);
  }
  return node;
}

void ForgetPythonNodes() {
  ForgetCodeRecords();
  g_epoch.fetch_add(1, std::memory_order_acq_rel);
  g_cut_location.store(0, std::memory_order_release);
  if (g_memory.load(std::memory_order_acquire) != nullptr) g_locations.Clear();
}

}  // namespace plateau::python
