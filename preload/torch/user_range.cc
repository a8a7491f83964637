#include "preload/torch/user_range.h"

namespace plateau {
namespace {

constexpr std::string_view kStep = "Optimizer.step#";
constexpr std::string_view kZeroGrad = "Optimizer.zero_grad#";
constexpr std::string_view kFetch = "enumerate(DataLoader)#";

// "AdamW.step" -> "AdamW": the class, without the method.
std::string_view ClassOf(std::string_view method) {
  const size_t dot = method.rfind('.');
  return dot == std::string_view::npos ? method : method.substr(0, dot);
}

}  // namespace

UserRange ParseUserRange(std::string_view name) {
  if (name.starts_with(kStep)) return {RangeKind::kOptimizerStep, ClassOf(name.substr(kStep.size()))};
  if (name.starts_with(kZeroGrad)) return {RangeKind::kZeroGrad, ClassOf(name.substr(kZeroGrad.size()))};
  if (name.starts_with(kFetch)) return {RangeKind::kFetch, ClassOf(name.substr(kFetch.size()))};
  return {RangeKind::kOther, {}};
}

}  // namespace plateau
