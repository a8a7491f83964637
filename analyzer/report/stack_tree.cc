#include "analyzer/report/stack_tree.h"

#include "absl/strings/str_cat.h"

namespace plateau::report {

uint32_t FrameTable::IndexOf(const Frame& frame) {
  const std::string key =
      absl::StrCat(frame.function, "\n", frame.file, "\n", frame.line, "\n", frame.module, "\n", frame.kind);
  const auto [it, is_new] = index_.try_emplace(key, frames_.size());
  if (is_new) frames_.push_back(frame);
  return it->second;
}

int32_t StackTree::IndexOf(const std::vector<Frame>& leaf_first) {
  int32_t node = -1;
  for (auto frame = leaf_first.rbegin(); frame != leaf_first.rend(); ++frame) {
    const uint32_t frame_index = frames_.IndexOf(*frame);
    const auto [it, is_new] = children_.try_emplace({node, frame_index}, static_cast<int32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({.parent = node, .frame = frame_index});
    node = it->second;
  }
  return node;
}

}  // namespace plateau::report
