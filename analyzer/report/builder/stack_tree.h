// Builds the stack tree of a report model: root first, frames shared, leaves with their own amounts.
//
// Parents come before their children. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_STACK_TREE_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_STACK_TREE_H_

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
  // The same, remembered by where the frame is: that frame must stay there and as it is until Release().
  uint32_t IndexOf(const Frame* frame);
  void Release() { by_address_.clear(); }

 private:
  std::vector<Frame>& frames_;
  absl::flat_hash_map<std::string, uint32_t> index_;
  absl::flat_hash_map<const Frame*, uint32_t> by_address_;
};

class StackTree {
 public:
  StackTree(FrameTable* frames, std::vector<StackTreeNode>* nodes) : frames_(*frames), nodes_(*nodes) {}

  // The node at the end of a stack given leaf first, made when missing.
  int32_t IndexOf(const std::vector<const Frame*>& leaf_first);
  // The root that stands for what has no stack.
  int32_t IndexOf(const std::string& name) { return ChildOf(-1, frames_.IndexOf(Frame{.function = name})); }

 private:
  int32_t ChildOf(int32_t parent, uint32_t frame);

  FrameTable& frames_;
  std::vector<StackTreeNode>& nodes_;
  absl::flat_hash_map<std::pair<int32_t, uint32_t>, int32_t> children_;  // (parent, frame) -> node
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_STACK_TREE_H_
