// Builds the stack tree of a report model: root first, frames shared, leaves with their own amounts.
//
// Parents come before their children. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPORT_STACK_TREE_H_
#define PLATEAU_ANALYZER_REPORT_STACK_TREE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

class FrameTable {
 public:
  explicit FrameTable(std::vector<Frame>* frames) : frames_(*frames) {}
  uint32_t IndexOf(const Frame& frame);

 private:
  std::vector<Frame>& frames_;
  absl::flat_hash_map<std::string, uint32_t> index_;
};

class StackTree {
 public:
  StackTree(FrameTable* frames, std::vector<StackNode>* nodes) : frames_(*frames), nodes_(*nodes) {}

  // The node at the end of a stack given leaf first, made when missing.
  StackNode& At(const std::vector<Frame>& leaf_first) { return nodes_[IndexOf(leaf_first)]; }
  int32_t IndexOf(const std::vector<Frame>& leaf_first);

 private:
  FrameTable& frames_;
  std::vector<StackNode>& nodes_;
  absl::flat_hash_map<std::pair<int32_t, uint32_t>, int32_t> children_;  // (parent, frame) -> node
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_STACK_TREE_H_
