// A breadth-first walk over the objects of the interpreter, from its roots to what holds the targets.
//
//   roots in this order, each group walked to its end before the next:
//     modules of the program, frames of its functions     -> what users call the holder
//       autograd graphs of the tensors among it
//     other modules and frames, thread states              -> libraries
//     builtins, classes that no module names
//   not found yet:  objects that the collector knows and nobody reached
//     those with references from outside of Python's objects -> held by C or C++
//     the others                                             -> garbage, or frozen
//
// Modules are not walked through: what a function of the program reaches in a module of a library belongs to the
// library. References are followed by tp_traverse, as the collector does; no reference count changes, no code of
// the program runs, nothing is written outside of our own pages. So a forked worker copies no page.
//
// Call with the interpreter's lock held. Allocates: from the walk's memory. Ends when all targets are found,
// when the time is up, or when the memory is used up.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_OBJECT_WALK_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_OBJECT_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/python/holders/native/graph_walk.h"
#include "preload/python/holders/tables/heap_layout.h"
#include "preload/python/holders/tables/node_list.h"
#include "preload/python/holders/tables/target_table.h"
#include "preload/python/holders/tables/type_table.h"
#include "preload/python/holders/tables/visited_set.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

// Whether a source file is the program's own and not a library's.
bool IsPathOfProgram(std::string_view path);
// Whether a code object belongs to what `import` runs.
bool IsImportMachinery(const void* code);

class ObjectWalk {
 public:
  ObjectWalk(const HeapLayout& layout, const HeapFunctions& functions, WalkMemory* memory,
             TargetTable* targets, WalkClock* clock)
      : layout_(layout),
        functions_(functions),
        memory_(*memory),
        targets_(*targets),
        clock_(*clock),
        types_(layout_, memory),
        visited_(memory),
        nodes_(memory),
        types_met_(memory),
        tensors_(memory),
        large_(memory),
        graphs_(memory, targets, clock) {}

  enum class End : uint8_t { kAllFound, kWalkedAll, kTime, kMemory };
  End Run();

  const NodeList& nodes() const { return nodes_; }
  TypeTable& types() { return types_; }
  uint64_t garbage_objects() const { return garbage_objects_; }
  uint64_t frozen_objects() const { return frozen_objects_; }
  // Whether the chain that begins at this root is garbage or held from C; nodes below are neither.
  bool IsGarbage(uint32_t root) const { return first_garbage_ != 0 && root >= first_garbage_; }
  // Garbage that gc.freeze() keeps the collector from.
  bool IsFrozen(uint32_t root) const { return first_frozen_ != 0 && root >= first_frozen_; }
  bool IsNative(uint32_t root) const {
    return first_native_ != 0 && root >= first_native_ && !IsGarbage(root);
  }

 private:
  struct Module {
    const void* module;
    const void* dict;
    bool is_of_program;
  };
  static constexpr size_t kMaxModules = 16384;
  static constexpr uint32_t kNodesPerCheck = 1 << 14;

  bool Initialize();
  bool CollectModules();
  void AddModules(bool of_program);
  void AddFrames(bool of_program);
  void AddFramesOf(const void* thread, bool of_program);
  void AddThreads();
  void AddTypes();
  uint32_t AddPart(WalkPart part);
  const void* FirstFrame(const void* thread) const;
  bool IsCodeOfProgram(const void* code) const;
  bool IsModuleOfProgram(const void* dict) const;

  bool WalkOn();
  bool WalkGraphs();
  bool IsTimeUp();
  void Visit(uint32_t node);
  void VisitObject(const void* object);
  static bool IsLarge(const void* object, TypeKind kind);
  bool VisitNextLarge();
  void VisitFrame(const void* frame);
  void VisitStaticType(const void* type);
  void VisitThread(const void* thread);
  void MatchTables(const void* object, const TypeInfo& type);
  void MatchNumpy(const void* array);
  void MatchTensor(const void* tensor);
  void MatchStorage(const void* storage);
  void MatchImage(const void* image);
  void MatchOwnBytes(const void* object, size_t bytes);
  void Match(uintptr_t address, trace::HolderEnd end = trace::HolderEnd::kPath) {
    if (Target* target = targets_.Find(address)) [[unlikely]]
      targets_.Found(target, current_, end);
  }
  void AddRoot(uintptr_t word, uint32_t parent) {
    if (visited_.Insert(word & ~uintptr_t{7})) nodes_.Append(word, parent);
  }
  [[gnu::always_inline]] void Reach(const void* child) {
    const auto word = reinterpret_cast<uintptr_t>(child);
    if (word == 0 || !visited_.Insert(word)) return;
    if (!nodes_.Append(word, current_)) is_full_ = true;
    // One list may have millions of items.
    if (nodes_.size() >= next_check_) [[unlikely]] {
      next_check_ = nodes_.size() + kNodesPerCheck;
      IsTimeUp();
    }
  }
  static int ReachFromTraverse(void* child, void* context);

  // What is left when all roots were walked.
  void WalkUnreached();
  static int CountReference(void* child, void* context);

  const HeapLayout& layout_;
  const HeapFunctions& functions_;
  WalkMemory& memory_;
  TargetTable& targets_;
  WalkClock& clock_;
  TypeTable types_;
  VisitedSet visited_;
  NodeList nodes_;
  NodeList types_met_;  // classes of objects, with the node of one
  NodeList tensors_;    // reached, which may have an autograd graph behind them
  NodeList large_;      // containers whose items are yet to come, with their nodes
  uint32_t next_large_ = 1;
  GraphWalk graphs_;

  Module* modules_ = nullptr;
  size_t module_count_ = 0;
  uint32_t current_ = 0;
  uint32_t next_ = 1;
  uint32_t next_check_ = kNodesPerCheck;
  const void* current_type_ = nullptr;
  bool defers_types_ = true;
  bool is_full_ = false;
  bool is_late_ = false;
  uint32_t first_native_ = 0;
  uint32_t first_garbage_ = 0;
  uint32_t first_frozen_ = 0;
  uint64_t garbage_objects_ = 0;
  uint64_t frozen_objects_ = 0;

  // Of the unreached objects: how many references of each are not explained by another one.
  struct Unreached {
    uintptr_t object;
    int64_t references;
  };
  Unreached* unreached_ = nullptr;
  size_t unreached_slots_ = 0;
  Unreached* FindUnreached(uintptr_t object);
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_OBJECT_WALK_H_
