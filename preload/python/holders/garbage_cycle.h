// A cycle of references among objects that wait for the collector.
//
// Looks at a bounded number of objects. Call with the interpreter's lock held. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_GARBAGE_CYCLE_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_GARBAGE_CYCLE_H_

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/object_walk.h"

namespace plateau::python::holders {

class GarbageCycle {
 public:
  GarbageCycle(ObjectWalk* walk, WalkMemory* memory) : walk_(*walk), memory_(*memory) {}

  // Whether references lead from the object back to itself. Then the cycle is [0] .. [size - 1], the object first
  // and last.
  bool Find(const void* object);
  size_t size() const { return size_; }
  const void* operator[](size_t i) const { return cycle_[i]; }

 private:
  static constexpr size_t kMaxObjects = 512;
  static constexpr size_t kMaxCycle = 16;
  struct Step {
    const void* object;
    uint32_t parent;
  };
  static int Reach(void* child, void* context);

  ObjectWalk& walk_;
  WalkMemory& memory_;
  Step* steps_ = nullptr;
  const void** cycle_ = nullptr;
  size_t count_ = 0;
  size_t current_ = 0;
  size_t size_ = 0;
  const void* type_ = nullptr;
  bool is_closed_ = false;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_GARBAGE_CYCLE_H_
