#include "preload/python/python_nodes.h"

#include <atomic>
#include <cstring>

#include "preload/base/raw_memory.h"
#include "preload/python/code_table.h"
#include "preload/python/fingerprint.h"
#include "preload/python/interpreter.h"
#include "preload/recorder/definitions.h"
#include "preload/unwind/intern_cache.h"

namespace plateau::python {
namespace {

constexpr unsigned kLog2Locations = 16;

// A frame under its parent, and its node.
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
  uint16_t tags[kKnownFrames];  // of the known frames; 0: none
  uint16_t places[kMaxPythonFrames];
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
  // Bits of the hash that the index does not use; never 0.
  uint16_t tag() const { return static_cast<uint16_t>(hash_ >> 16 | 1); }

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
  if (location == 0 || !DefinePythonLocation({location, code, offset})) return 0;
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

// Where a frame with this path is, or will be.
size_t FindPlace(ThreadMemory* memory, const Path& path) {
  for (size_t way = 0; way < kKnownWays; ++way) {
    const size_t place = path.place() ^ way;
    if (memory->tags[place] == path.tag()) return place;
  }
  size_t place = path.place() ^ memory->turn++ % kKnownWays;
  for (size_t way = 0; way < kKnownWays; ++way) {
    if (memory->tags[path.place() ^ way] != 0) continue;
    place = path.place() ^ way;
    break;
  }
  memory->tags[place] = path.tag();
  memory->known[place].code = nullptr;
  return place;
}

void Prefetch(const void* object, size_t offset) {
  __builtin_prefetch(static_cast<const char*>(object) + offset);
}

// Finds the place of each frame, and what is about to be read there and in its code object: all at once
// instead of one after the other, for the program uses none of it while it runs. Where a remembered object is
// gone the address may be nobody's, which does no harm.
void FindPlaces(const PythonStack& stack, ThreadMemory* memory) {
  Path path;
  for (size_t i = stack.count; i > 0; --i) {
    path.Add(stack.frames[i - 1]);
    const size_t place = FindPlace(memory, path);
    memory->places[i - 1] = static_cast<uint16_t>(place);
    Prefetch(&memory->known[place], 0);
    Prefetch(&memory->known[place], sizeof(KnownFrame) / 2);
  }
  for (size_t i = stack.count; i > 0; --i) {
    const CodeFingerprint& print = memory->known[memory->places[i - 1]].fingerprint;
    Prefetch(reinterpret_cast<const void*>(print.name), kTextHash);
    Prefetch(reinterpret_cast<const void*>(print.line_table), kObjectSize);
    Prefetch(reinterpret_cast<const void*>(print.line_table), kBytesData + print.line_table_bytes - 8);
  }
}

// The node of `frame` under `parent`: as remembered in `known`, else from the tables of the process and
// remembered there. 0 when it could not be defined.
uint32_t NodeOf(const WalkScope& scope, KnownFrame* known, const PythonFrame& frame, uint32_t parent,
                unwind::ThreadCapture& thread, const unwind::DefinitionSink& sink) {
  const Layout& layout = g_interpreter.layout;
  if (IsKnown(layout, *known, frame, parent)) [[likely]]
    return known->node;
  *known = {frame.code, frame.offset, parent, 0, FingerprintOf(layout, frame.code)};
  known->node = InternKnown(scope, *known, parent, thread, sink);
  if (known->node == 0) known->code = nullptr;
  return known->node;
}

}  // namespace

bool InitializePythonNodes() {
  if (g_memory.load(std::memory_order_acquire) != nullptr) return true;
  if (!InitializeCodeTable() || !g_locations.Initialize(kLog2Locations)) return false;
  // Address space for all threads at once; a page costs memory when its thread walks.
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
    memory.epoch = epoch;
    memset(memory.tags, 0, sizeof(memory.tags));
  }
  uint32_t node = 0;
  if (stack.truncated) {
    node = InternCutMark(thread, sink);
    if (node == 0) return 0;
  }
  FindPlaces(stack, &memory);
  for (size_t i = stack.count; i > 0; --i) {
    KnownFrame* known = &memory.known[memory.places[i - 1]];
    node = NodeOf(scope, known, stack.frames[i - 1], node, thread, sink);
    if (node == 0) return 0;
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
