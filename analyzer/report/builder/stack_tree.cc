#include "analyzer/report/builder/stack_tree.h"

#include "absl/strings/str_cat.h"

namespace plateau::report {

uint32_t FrameTable::IndexOf(const Frame& frame) {
  const std::string key =
      absl::StrCat(frame.function, "\n", frame.file, "\n", frame.line, "\n", frame.module, "\n", frame.kind);
  const auto [it, is_new] = index_.try_emplace(key, frames_.size());
  if (is_new) frames_.push_back(frame);
  return it->second;
}

uint32_t FrameTable::IndexOf(const Frame* frame) {
  const auto [it, is_new] = by_address_.try_emplace(frame, 0);
  if (is_new) it->second = IndexOf(*frame);
  return it->second;
}

int32_t StackTree::ChildOf(int32_t parent, uint32_t frame) {
  const auto [it, is_new] = children_.try_emplace({parent, frame}, static_cast<int32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({.parent = parent, .frame = frame});
  return it->second;
}

int32_t StackTree::IndexOf(const std::vector<const Frame*>& leaf_first) {
  int32_t node = -1;
  for (auto frame = leaf_first.rbegin(); frame != leaf_first.rend(); ++frame)
    node = ChildOf(node, frames_.IndexOf(*frame));
  return node;
}

}  // namespace plateau::report
