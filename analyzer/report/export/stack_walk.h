// What exporters of stacks share: the path of a node and one label per frame.
#ifndef PLATEAU_ANALYZER_REPORT_EXPORT_STACK_WALK_H_
#define PLATEAU_ANALYZER_REPORT_EXPORT_STACK_WALK_H_

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"
#include "analyzer/report/units.h"

namespace plateau::report {

enum class StackMetric { kRetained, kGrowth, kPeak, kTemporary, kAllocated };

inline std::optional<StackMetric> ParseStackMetric(absl::string_view name) {
  if (name == "retained") return StackMetric::kRetained;
  if (name == "growth") return StackMetric::kGrowth;
  if (name == "peak") return StackMetric::kPeak;
  if (name == "temporary") return StackMetric::kTemporary;
  if (name == "allocated") return StackMetric::kAllocated;
  return std::nullopt;
}

// Growth is rounded to whole bytes per step.
inline int64_t StackValue(const StackTreeNode& node, StackMetric metric) {
  switch (metric) {
    case StackMetric::kRetained:
      return node.retained_bytes;
    case StackMetric::kGrowth:
      return std::llround(node.growth_bytes_per_step);
    case StackMetric::kPeak:
      return node.peak_bytes;
    case StackMetric::kTemporary:
      return node.temporary_bytes;
    case StackMetric::kAllocated:
      return node.alloc_bytes;
  }
  return 0;
}

// Frames of the stack that ends in `node`, leaf first.
inline std::vector<uint32_t> FramesOf(const std::vector<StackTreeNode>& stacks, size_t node) {
  std::vector<uint32_t> frames;
  for (auto at = static_cast<int32_t>(node); at >= 0; at = stacks[at].parent)
    frames.push_back(stacks[at].frame);
  return frames;
}

// "collate (data.py:40)", "malloc (libc.so.6)", "[no stack]".
inline std::string FrameLabel(const ReportModel& model, uint32_t index) {
  if (index >= model.frames.size()) return "[unknown]";
  const Frame& frame = model.frames[index];
  const std::string name = frame.function.empty() ? "[unknown]" : frame.function;
  if (!frame.file.empty()) {
    return absl::StrCat(name, " (", frame.file, frame.line > 0 ? absl::StrCat(":", frame.line) : "", ")");
  }
  return frame.module.empty() ? name : absl::StrCat(name, " (", frame.module, ")");
}

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_EXPORT_STACK_WALK_H_
