// What torch's autograd graphs keep alive: from tensors that were reached to the tensors that their graphs have saved.
//
//   tensor -> TensorImpl -> AutogradMeta -> grad                          -> StorageImpl -> bytes: attribute grad
//                                       \-> Node -> Edge, SavedVariable -> TensorImpl -> StorageImpl -> bytes: graph
//
// Nothing of it is Python's, and asking Python would make objects and run hooks. So C++ objects are recognised by the
// name of their class, which every object with virtual functions leads to, and only those of torch that own what they
// point to are followed; an address that is found elsewhere names nobody. All reads go through the kernel, which
// answers for memory that is gone meanwhile. Needs glibc's malloc, whose blocks tell their size.
//
// Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_GRAPH_WALK_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_GRAPH_WALK_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/node_list.h"
#include "preload/python/holders/tables/target_table.h"
#include "preload/python/holders/tables/visited_set.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

class GraphWalk {
 public:
  GraphWalk(WalkMemory* memory, TargetTable* targets, WalkClock* clock)
      : memory_(*memory), targets_(*targets), clock_(*clock), seen_(memory) {}

  static constexpr size_t kMaxObjects = 50'000;

  // `tensors`: addresses of Python's tensor objects, each with its node of the walk in the place of its parent. Those
  // that have come since the last call are followed.
  void Run(const NodeList& tensors);

 private:
  enum class Class : uint8_t { kUnknown, kTensor, kStorage, kMeta, kNode };
  struct Known {
    uintptr_t table;
    const char* name;
    Class what;
  };
  struct Step {
    uintptr_t object;
    uint32_t owner;  // node of the walk
    Class what;
    bool is_grad;      // reached by AutogradMeta's gradient
    const char* name;  // of the autograd node it was reached from
  };
  static constexpr size_t kKnown = 1024;
  static constexpr size_t kMaxBytes = 4096;

  const Known* ClassOf(uintptr_t object);
  bool Initialize();
  void Reach(uintptr_t object, const Step& from);
  void Follow(const Step& step);
  void FollowWords(const uintptr_t* words, size_t count, const Step& step);
  void FollowVectors(const uintptr_t* words, size_t count, const Step& step);
  bool IsPythonNode(uintptr_t object);
  void FollowPythonFunction(size_t count, const Step& step);
  static size_t BlockBytes(uintptr_t object);

  WalkMemory& memory_;
  TargetTable& targets_;
  WalkClock& clock_;
  VisitedSet seen_;
  Known* known_ = nullptr;
  Step* steps_ = nullptr;
  uintptr_t* words_ = nullptr;
  uintptr_t* more_words_ = nullptr;
  size_t count_ = 0;
  size_t next_ = 0;
  uint32_t next_tensor_ = 1;
  bool is_unusable_ = false;
};

// The last part of the name that a class has in machine code: "ReluBackward0" of "N5torch...13ReluBackward0E". Empty when
// it is no such name.
struct ClassName {
  const char* text;
  size_t bytes;
};
ClassName ShortClassName(const char* name);

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_GRAPH_WALK_H_
