// From registers to the id of a stack: the unwinder's one entry for the tracer.
//
//   InitializeCapture();                                              // once, in the shim's constructor
//   auto* capture = new (memory) ThreadCapture;                       // once per thread, under the guard
//   capture->Initialize();
//   uint32_t stack = CaptureStack(*capture, CallerRegisters(), sink);  // per event, under the guard
//
// A stack is the id of its leaf node; a node is (parent node, location), parent 0 is the root. What is new is
// defined through the sink before its id is handed to anyone. A stack that could not be walked to its root
// hangs under a mark (a location of module 0 whose offset is the StackEnd), so that truncated stacks never
// mix with whole ones.
//
// Bounds, all fixed:
//   rule table      2^14 slots of 32 bytes, then 2^17 and 2^19, mapped when they are needed
//   intern cache    2^12 to 2^18 entries of 16 bytes
//   modules         2^12
//   frames          512 per stack
//   ThreadCapture   195 KiB reserved per thread; touched are 110 bytes per frame of the deepest stack, 64 per
//                   known leaf and 16 per frame of that, 704 per known branch
//   ids             2^32 nodes and 2^32 locations per process; threads take node ids in batches of 256
//
// Threads: a ThreadCapture belongs to one thread; everything else is lock-free and shared. Reentrancy: the
// caller's guard must keep a capture from interrupting another one on the same thread. Allocates: it maps its
// tables. Locks: never. errno is kept. x86-64 and AArch64.
#ifndef PLATEAU_PRELOAD_UNWIND_CAPTURE_H_
#define PLATEAU_PRELOAD_UNWIND_CAPTURE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/unwind/definition_sink.h"
#include "preload/unwind/registers.h"
#include "preload/unwind/stack_walker.h"

namespace plateau::unwind {

// Changes when code was unloaded or ids began again: what a thread remembers is no proof then.
[[gnu::visibility("hidden")]] extern std::atomic<uint32_t> g_generation;

inline constexpr uint32_t kNoStack = 0;
inline constexpr uint32_t kNodeIdBatch = 256;

class ThreadCapture {
 public:
  struct Counters {
    uint64_t new_nodes = 0;
    uint64_t new_locations = 0;
    uint64_t ids_exhausted = 0;  // captures without a stack because 2^32 ids have been used
  };

  // Called once, on the thread that the object belongs to.
  void Initialize();

  const Counters& counters() const { return counters_; }
  const StackWalker& walker() const { return walker_; }

 private:
  friend uint32_t CaptureStack(ThreadCapture&, const Registers&, const DefinitionSink&);
  friend uint32_t CaptureStackAbove(ThreadCapture&, const Registers&, const DefinitionSink&, uint32_t,
                                    uintptr_t);
  friend uint32_t InternChild(ThreadCapture&, uint32_t, uint32_t, const DefinitionSink&);
  friend uint32_t InternFrame(ThreadCapture&, uint32_t, uint32_t, const DefinitionSink&);
  friend uint32_t WalkStack(ThreadCapture&, const Registers&);

  // One walk in 16 writes what it learns into the tables that all threads read; a line that two threads
  // change at every capture costs more than what it remembers. Multiplied, so that no period of the program
  // is left out.
  bool IsTeachingWalk() const { return walker_.counters().walks * 0x9e3779b97f4a7c15u >> 60 == 0; }
  // Forgets the remembered stack when code was unloaded or ids began again.
  void CheckGeneration();
  uint32_t NewNode(uint32_t parent, uint32_t location, const DefinitionSink& sink);
  uint32_t LocationOf(RuleEntry* entry, const DefinitionSink& sink);
  uint32_t Intern(uint32_t parent, uint32_t location, bool parent_is_new, const DefinitionSink& sink,
                  bool* is_new);
  uint32_t MarkNode(StackEnd end, const DefinitionSink& sink);

  uint32_t generation_ = 0;
  uint32_t next_node_ = 0;
  uint32_t node_batch_end_ = 0;
  uint32_t root_parent_ = 0;  // the node under which the remembered nodes hang
  Counters counters_;
  StackWalker walker_;
};

// Maps the tables and finds the loader's functions. Idempotent. False when there is no memory or no support
// for this processor: captures then return kNoStack.
bool InitializeCapture();

// Captures the leaf side of a stack whose root side is known otherwise (Python frames): the walk ends with
// the frame whose bytes hold `stop_address`, and the stack hangs under `parent`. When the stack is a known
// one, thread.walker() stays as it was, else it holds the frames. A `stop_address` of 0 walks to the root.
uint32_t CaptureStackAbove(ThreadCapture& thread, const Registers& registers, const DefinitionSink& sink,
                           uint32_t parent, uintptr_t stop_address);

// The stack of the frame with these registers, or kNoStack. When it is known, thread.walker() stays as it
// was.
[[gnu::always_inline]] inline uint32_t CaptureStack(ThreadCapture& thread, const Registers& registers,
                                                    const DefinitionSink& sink) {
  if (thread.generation_ == g_generation.load(std::memory_order_acquire)) [[likely]] {
    const uint32_t node = thread.walker_.KnownNode(registers);
    if (node != 0) [[likely]]
      return node;
  }
  return CaptureStackAbove(thread, registers, sink, 0, 0);
}

// The node (parent, location), defined when it is new. For frames that are not native: their locations take
// ids from NewLocationId() and are defined by whoever made them, before this call. 0 when ids are used up.
uint32_t InternChild(ThreadCapture& thread, uint32_t parent, uint32_t location, const DefinitionSink& sink);

// Walks without interning, for stacks in which native frames and others take turns. Returns how many frames
// thread.walker() holds until the next capture; InternFrame() then interns those that are wanted, root first.
uint32_t WalkStack(ThreadCapture& thread, const Registers& registers);

// The node of frame `index` of the last WalkStack() under `parent`. 0 when ids are used up.
uint32_t InternFrame(ThreadCapture& thread, uint32_t index, uint32_t parent, const DefinitionSink& sink);

// Nodes from this one on are not taken by any thread yet.
uint32_t NextNode();

// A location id for a frame that is not native. 0 when ids are used up.
uint32_t NewLocationId();

// After dlclose: when a known object is gone, retires its rules and tells the sink. Cheap when nothing was
// unloaded, else about 1 ms. On glibc < 2.35 also takes a new snapshot of the loaded objects.
void BumpGeneration(const DefinitionSink& sink);

// In the child of a fork that writes its own trace: forgets every id, so that all is defined again. Only with
// one thread.
void ResetCaptureAfterFork();

// For the report on Plateau's own memory and losses.
struct CaptureStatistics {
  uint64_t rules = 0;
  uint64_t rule_table_full = 0;
  uint64_t nodes = 0;
  uint64_t locations = 0;
  uint64_t generation = 0;
  // Memory of the tables, at most: entries are scattered, so each may have touched a page of its own.
  uint64_t own_bytes = 0;
};
CaptureStatistics GetCaptureStatistics();

// The process-wide rule table, for tests and benchmarks that drive a StackWalker alone.
RuleTable& SharedRuleTable();

}  // namespace plateau::unwind

#endif  // PLATEAU_PRELOAD_UNWIND_CAPTURE_H_
