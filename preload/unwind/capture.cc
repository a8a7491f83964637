#include "preload/unwind/capture.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "preload/base/raw_memory.h"
#include "preload/unwind/intern_cache.h"
#include "preload/unwind/loaded_object.h"
#include "preload/unwind/module_table.h"
#include "preload/unwind/rule_table.h"

namespace plateau::unwind {

constinit std::atomic<uint32_t> g_generation{1};

namespace {

constexpr uint32_t kLastId = 0xfffffff0;
constexpr uint32_t kNotInterned = 0xffffffff;  // no parent: the remembered frames have no nodes
constexpr size_t kMaxPathBytes = 4096;

constinit RuleTable rules;
constinit InternCache nodes;
constinit ModuleTable modules;
constinit std::atomic<bool> ready{false};
constinit std::atomic<uint32_t> next_node{1};
constinit std::atomic<uint32_t> next_location{1};
constinit std::atomic<uint32_t> mark_locations[kStackEndCount] = {};
constinit char program_path[kMaxPathBytes] = {};

static_assert(std::is_trivially_destructible_v<RuleTable> && std::is_trivially_destructible_v<InternCache> &&
              std::is_trivially_destructible_v<ModuleTable>);
static_assert(std::is_trivially_destructible_v<ThreadCapture>);

// Takes `count` ids; 0 when they are used up. The counter stops short of wrapping.
uint32_t TakeIds(std::atomic<uint32_t>* next, uint32_t count) {
  uint32_t id = next->load(std::memory_order_relaxed);
  do {
    if (id > kLastId - count) return 0;
  } while (!next->compare_exchange_weak(id, id + count, std::memory_order_relaxed));
  return id;
}

// The id in `slot`, or a new one, which `define` writes before it is published. When two threads race, one
// definition is never used.
template <typename Define>
uint32_t DefineOnce(std::atomic<uint32_t>* slot, Define define) {
  const uint32_t id = TakeIds(&next_location, 1);
  if (id == 0) return 0;
  define(id);
  uint32_t expected = 0;
  return slot->compare_exchange_strong(expected, id, std::memory_order_acq_rel) ? id : expected;
}

}  // namespace

bool InitializeCapture() {
  if (ready.load(std::memory_order_acquire)) return true;
  const int saved_errno = errno;
  PrepareObjectLookup();
  const ssize_t length = readlink("/proc/self/exe", program_path, sizeof(program_path) - 1);
  if (length > 0) program_path[length] = 0;
  modules.SetProgramPath(program_path);
  errno = saved_errno;
  if (!rules.Initialize() || !nodes.Initialize()) return false;
  ready.store(true, std::memory_order_release);
  return true;
}

void ThreadCapture::Initialize() {
  generation_ = g_generation.load(std::memory_order_acquire);
  next_node_ = 0;
  node_batch_end_ = 0;
  root_parent_ = 0;
  walker_.Initialize(&rules);
}

void ThreadCapture::CheckGeneration() {
  const uint32_t now = g_generation.load(std::memory_order_acquire);
  if (generation_ == now) [[likely]]
    return;
  generation_ = now;
  walker_.Forget();
  next_node_ = node_batch_end_ = 0;  // ids may have started again after a fork
}

uint32_t ThreadCapture::NewNode(uint32_t parent, uint32_t location, const DefinitionSink& sink) {
  if (next_node_ == node_batch_end_) {
    next_node_ = TakeIds(&next_node, kNodeIdBatch);
    node_batch_end_ = next_node_ == 0 ? 0 : next_node_ + kNodeIdBatch;
    if (next_node_ == 0) return 0;
  }
  const uint32_t node = next_node_++;
  ++counters_.new_nodes;
  sink.Node({node, parent, location});
  return node;
}

[[gnu::noinline]] uint32_t ThreadCapture::LocationOf(RuleEntry* entry, const DefinitionSink& sink) {
  const uint32_t known = entry->location.load(std::memory_order_acquire);
  if (known != 0) return known;
  ++counters_.new_locations;
  return DefineOnce(&entry->location, [&](uint32_t id) {
    const uintptr_t address = entry->key.load(std::memory_order_relaxed);
    LoadedObject object;
    uint32_t module = 0;
    if (FindLoadedObject(address, &object)) module = modules.IdOf(object, sink);
    sink.Location({id, module, address + 1 - (module != 0 ? object.load_bias : 0)});
  });
}

// `parent_is_new`: a node that was made a moment ago has no children yet, so there is nothing to look for.
uint32_t ThreadCapture::Intern(uint32_t parent, uint32_t location, bool parent_is_new,
                               const DefinitionSink& sink, bool* is_new) {
  const uint64_t key = InternCache::Key(parent, location);
  uint32_t node = parent_is_new ? 0 : nodes.Find(key, IsTeachingWalk());
  *is_new = node == 0;
  if (node == 0) {
    node = NewNode(parent, location, sink);
    if (node != 0) nodes.Insert(key, node);
  }
  return node;
}

[[gnu::noinline]] uint32_t ThreadCapture::MarkNode(StackEnd end, const DefinitionSink& sink) {
  std::atomic<uint32_t>& slot = mark_locations[static_cast<size_t>(end)];
  uint32_t location = slot.load(std::memory_order_acquire);
  if (location == 0) {
    location = DefineOnce(&slot, [&](uint32_t id) { sink.Location({id, 0, static_cast<uint64_t>(end)}); });
  }
  bool is_new = false;
  return location == 0 ? 0 : Intern(0, location, false, sink, &is_new);
}

uint32_t CaptureStackAbove(ThreadCapture& thread, const Registers& registers, const DefinitionSink& sink,
                           uint32_t parent, uintptr_t stop_address) {
  if (!ready.load(std::memory_order_relaxed)) [[unlikely]]
    return kNoStack;
  thread.CheckGeneration();
  if (stop_address != 0) {
    const uint32_t known = thread.walker_.KnownNodeAbove(registers, parent, stop_address);
    if (known != 0) return known;
  }
  const uint32_t unchanged = thread.walker_.Walk(registers, stop_address);
  uint32_t first = unchanged;
  const uint32_t depth = thread.walker_.depth();
  uint32_t node = 0;
  if (first == 0 || parent != thread.root_parent_) {
    thread.root_parent_ = parent;
    first = 0;
    node = parent;
    if (parent == 0 && IsTruncation(thread.walker_.end())) [[unlikely]]
      node = thread.MarkNode(thread.walker_.end(), sink);
  } else {
    node = thread.walker_.node(first - 1);
  }
  bool node_is_new = false;
  for (uint32_t i = first; i < depth; ++i) {
    RuleEntry* entry = thread.walker_.entry(i);
    const uint64_t memo = entry->memo.load(std::memory_order_relaxed);
    if ((memo >> 32) == node && memo != 0) [[likely]] {
      node = static_cast<uint32_t>(memo);
      node_is_new = false;
    } else {
      const uint32_t location = thread.LocationOf(entry, sink);
      const uint32_t child =
          location == 0 ? 0 : thread.Intern(node, location, node_is_new, sink, &node_is_new);
      if (child == 0) [[unlikely]] {
        ++thread.counters_.ids_exhausted;
        thread.walker_.Forget();
        return kNoStack;
      }
      if (memo == 0 || thread.IsTeachingWalk()) {
        entry->memo.store((uint64_t{node} << 32) | child, std::memory_order_relaxed);
      }
      node = child;
    }
    thread.walker_.SetNode(i, node);
  }
  if (stop_address != 0) {
    thread.walker_.RememberNodeAbove(parent, stop_address);
  } else if (parent == 0) {
    thread.walker_.RememberNode(unchanged);
  }
  return node;
}

uint32_t InternChild(ThreadCapture& thread, uint32_t parent, uint32_t location, const DefinitionSink& sink) {
  thread.CheckGeneration();
  bool is_new = false;
  return thread.Intern(parent, location, false, sink, &is_new);
}

uint32_t WalkStack(ThreadCapture& thread, const Registers& registers) {
  if (!ready.load(std::memory_order_relaxed)) [[unlikely]]
    return 0;
  thread.CheckGeneration();
  thread.root_parent_ = kNotInterned;
  thread.walker_.Walk(registers);
  return thread.walker_.depth();
}

uint32_t InternFrame(ThreadCapture& thread, uint32_t index, uint32_t parent, const DefinitionSink& sink) {
  const uint32_t location = thread.LocationOf(thread.walker_.entry(index), sink);
  bool is_new = false;
  return location == 0 ? 0 : thread.Intern(parent, location, false, sink, &is_new);
}

uint32_t NextNode() { return next_node.load(std::memory_order_relaxed); }

uint32_t NewLocationId() { return TakeIds(&next_location, 1); }

void BumpGeneration(const DefinitionSink& sink) {
  RefreshObjectSnapshot();
  bool any = false;
  modules.ForgetUnloaded(sink, [&](uintptr_t begin, uintptr_t end) {
    rules.Retire(begin, end);
    any = true;
  });
  if (any) g_generation.fetch_add(1, std::memory_order_acq_rel);
}

void ResetCaptureAfterFork() {
  ReleaseObjectLookupAfterFork();
  rules.Clear();
  nodes.Clear();
  modules.Clear();
  for (auto& location : mark_locations) location.store(0, std::memory_order_relaxed);
  next_node.store(1, std::memory_order_relaxed);
  next_location.store(1, std::memory_order_relaxed);
  g_generation.fetch_add(1, std::memory_order_acq_rel);
}

CaptureStatistics GetCaptureStatistics() {
  CaptureStatistics statistics;
  statistics.rules = rules.size();
  statistics.rule_table_full = rules.full_count();
  statistics.nodes = next_node.load(std::memory_order_relaxed) - 1;
  statistics.locations = next_location.load(std::memory_order_relaxed) - 1;
  statistics.generation = g_generation.load(std::memory_order_relaxed);
  const uint64_t rule_bytes = rules.mapped_bytes();
  const uint64_t cache_bytes = nodes.mapped_bytes();
  const uint64_t rule_pages = statistics.rules * kPageBytes;
  const uint64_t node_pages = statistics.nodes * kPageBytes;
  statistics.own_bytes = (rule_pages < rule_bytes ? rule_pages : rule_bytes) +
                         (node_pages < cache_bytes ? node_pages : cache_bytes);
  return statistics;
}

RuleTable& SharedRuleTable() { return rules; }

}  // namespace plateau::unwind
