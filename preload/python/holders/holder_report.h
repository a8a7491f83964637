// From what a walk has found to HOLDER records: chains of one stack that read the same become one.
//
//   targets of a stack -> chains -> the container in which they part -> names -> equal ones added up -> records
//
// Call with the interpreter's lock held, right after the walk. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_HOLDER_REPORT_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_HOLDER_REPORT_H_

#include <cstdint>

#include "preload/python/holders/object_walk.h"
#include "preload/python/holders/path_namer.h"
#include "preload/trace/record.h"

namespace plateau::python::holders {

// Where records go.
struct HolderOutput {
  void* context;
  void (*write)(void* context, const trace::HolderRecord& record);
};

class HolderReport {
 public:
  HolderReport(ObjectWalk* walk, TargetTable* targets, PathNamer* namer, WalkMemory* memory)
      : walk_(*walk), targets_(*targets), namer_(*namer), memory_(*memory) {}

  // Writes the records of all stacks. False when there is no memory for it; nothing is written then.
  bool Write(uint64_t walk_number, const HolderOutput& output);

 private:
  static constexpr size_t kMaxDepth = 4096;   // of a chain that is looked at
  static constexpr size_t kNamedSteps = 400;  // of those, at the root's side
  static constexpr size_t kMaxRecords = 6;    // of one stack, besides what is left

  // One chain, root first; `nodes` leaves out the part that only says where the roots come from.
  struct Chain {
    uint32_t* nodes;
    size_t count;
  };
  // How many ways lead on from a node to targets of the stack.
  struct Fork {
    uint32_t node;
    uint32_t stack_number;
    uint32_t ways;
  };
  struct Row {
    uint64_t targets;
    uint64_t bytes;
    trace::HolderRecord record;
    trace::HolderPathWriter path;
  };

  Fork* ForkOf(uint32_t node);
  void CountWays(const Target& target);
  Chain ChainTo(uint32_t node);
  size_t ContainerIn(const Chain& chain);
  void Name(const Target& target, Row* row);
  void NameCycle(const Target& target, Row* row);
  const void* ObjectOf(const Chain& chain, size_t i) const;
  void WriteStack(uint32_t stack, uint64_t walk_number, const HolderOutput& output);

  ObjectWalk& walk_;
  TargetTable& targets_;
  PathNamer& namer_;
  WalkMemory& memory_;
  uint32_t* chain_ = nullptr;
  Fork* forks_ = nullptr;
  Row* rows_ = nullptr;
  uint32_t stack_number_ = 0;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_HOLDER_REPORT_H_
