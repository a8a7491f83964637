#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/report/text/text_report.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

double ValueOf(const StackTreeNode& node, TreeMetric metric) {
  switch (metric) {
    case TreeMetric::kRetained:
      return static_cast<double>(node.retained_bytes);
    case TreeMetric::kGrowth:
      return node.growth_bytes_per_step;
    case TreeMetric::kPeak:
      return static_cast<double>(node.peak_bytes);
    case TreeMetric::kTemporary:
      return static_cast<double>(node.temporary_bytes);
  }
  return 0;
}

class TreeWriter {
 public:
  TreeWriter(const ReportModel& model, const TreeOptions& options, const TextOptions& text)
      : model_(model),
        options_(options),
        text_(text),
        sums_(model.stacks.size()),
        children_(model.stacks.size() + 1) {
    for (size_t i = model.stacks.size(); i-- > 0;) {
      const StackTreeNode& node = model.stacks[i];
      sums_[i] += ValueOf(node, options.metric);
      if (node.parent >= 0)
        sums_[node.parent] += sums_[i];
      else
        whole_ += sums_[i];
    }
    for (size_t i = 0; i < model.stacks.size(); ++i) children_[model.stacks[i].parent + 1].push_back(i);
    for (auto& list : children_) {
      std::stable_sort(list.begin(), list.end(), [this](size_t a, size_t b) { return sums_[a] > sums_[b]; });
    }
  }

  std::string Write() {
    Line(0, whole_, "all");
    Below(-1, 1);
    return out_;
  }

 private:
  std::string Value(double value) const {
    return options_.metric == TreeMetric::kGrowth ? HumanRate(value) : FormatBytes(value);
  }

  void Line(int depth, double value, const std::string& name) {
    const std::string start =
        absl::StrFormat("%14s %5.1f %%  ", Value(value), whole_ != 0 ? 100 * value / whole_ : 0.0);
    const std::string indent(std::min(depth * 2, 60), ' ');
    absl::StrAppend(
        &out_, start, indent,
        MiddleEllipsis(Printable(name), std::max(20, text_.columns - 24 - static_cast<int>(indent.size()))),
        "\n");
  }

  std::string Name(size_t node) const {
    const uint32_t index = model_.stacks[node].frame;
    if (index >= model_.frames.size()) return "[unknown]";
    const Frame& f = model_.frames[index];
    if (f.file.empty()) return f.module.empty() ? f.function : absl::StrCat(f.function, " (", f.module, ")");
    return absl::StrCat(f.function, " ", f.file, f.line > 0 ? absl::StrCat(":", f.line) : "");
  }

  void Below(int32_t parent, int depth) {
    double small = 0;
    size_t count = 0;
    for (size_t child : children_[parent + 1]) {
      const bool large = whole_ != 0 && std::fabs(sums_[child]) >= options_.min_share * std::fabs(whole_);
      if (!large || depth > options_.max_depth) {
        small += sums_[child];
        ++count;
        continue;
      }
      Line(depth, sums_[child], Name(child));
      Below(static_cast<int32_t>(child), depth + 1);
    }
    if (count > 0 && small != 0) Line(depth, small, absl::StrCat("[", count, " smaller]"));
  }

  const ReportModel& model_;
  const TreeOptions& options_;
  const TextOptions& text_;
  std::vector<double> sums_;
  std::vector<std::vector<size_t>> children_;  // of node i - 1; 0 holds the roots
  double whole_ = 0;
  std::string out_;
};

}  // namespace

std::string WriteCallTree(const ReportModel& model, const TreeOptions& tree, const TextOptions& text) {
  return TreeWriter(model, tree, text).Write();
}

}  // namespace plateau::report
