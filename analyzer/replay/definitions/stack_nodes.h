// The stack tree of a trace: what each node's caller is and where it calls from.
//
// Nodes that mean the same path (the shim's cache forgot that it had defined one) become one: MergeEqual()
// leaves a path with its first node, and Canonical() maps every node to it. What was never defined is the
// root.
//
//   define on any thread  ->  MergeEqual() once  ->  read on any thread
//
// Memory: 8 bytes a node; MergeEqual() takes 8 more while it runs. Address space for every number there may
// be is taken at the beginning, so that nodes are written in place, without a lock. Movable.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_STACK_NODES_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_STACK_NODES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "analyzer/base/zeroed_array.h"

namespace plateau::replay {

struct alignas(uint64_t) StackNode {
  uint32_t parent = 0;    // 0: the root
  uint32_t location = 0;  // 0: no node of its own, `parent` is the one it means
};

class StackNodes {
 public:
  static constexpr int kNumberBits = 28;  // of the largest number that counts

  // The root alone.
  StackNodes();

  // May be called on several threads at once. Call Resize() with the largest number afterwards. False: a
  // number that no shim gives out.
  bool Define(uint32_t node, uint32_t parent, uint32_t location) {
    if (node == 0 || node >= nodes_.size()) return false;
    std::atomic_ref<StackNode>(nodes_[node]).store({parent, location}, std::memory_order_relaxed);
    return true;
  }
  // All nodes under this number count, whether defined or not.
  void Resize(size_t size) { size_ = size; }

  // Called once, when all are defined. Parents are settled before their children; a cycle, which only damage
  // can make, is cut at the root.
  void MergeEqual();

  size_t size() const { return size_; }
  // Of a canonical node the parent is canonical too.
  const StackNode& operator[](uint32_t node) const { return nodes_[node]; }
  uint32_t Canonical(uint32_t node) const {
    if (node >= size_) return 0;
    return nodes_[node].location != 0 ? node : nodes_[node].parent;
  }

 private:
  class Merger;

  ZeroedArray<StackNode> nodes_;
  size_t size_ = 1;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_STACK_NODES_H_
