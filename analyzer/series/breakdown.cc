#include "analyzer/series/breakdown.h"

#include <algorithm>

namespace plateau::series {

std::string_view HeldAsName(HeldAs category) {
  switch (category) {
    case HeldAs::kParameters:
      return "parameters";
    case HeldAs::kGradients:
      return "gradients";
    case HeldAs::kOptimizerState:
      return "optimizer state";
    case HeldAs::kActivations:
      return "activations";
    case HeldAs::kBatchData:
      return "batch data";
    case HeldAs::kEvaluation:
      return "evaluation results";
    case HeldAs::kFrozenOrData:
      return "frozen weights, buffers or data";
    case HeldAs::kOther:
      return "other";
  }
  return "";
}

std::string_view HeldAsRule(HeldAs category) {
  switch (category) {
    case HeldAs::kParameters:
      return "tensors from before the first step that have a gradient of their size";
    case HeldAs::kGradients:
      return "tensors born in a backward pass";
    case HeldAs::kOptimizerState:
      return "tensors born in an optimizer step";
    case HeldAs::kActivations:
      return "tensors born in a forward pass and still held: a graph is kept";
    case HeldAs::kBatchData:
      return "tensors born in a DataLoader fetch";
    case HeldAs::kEvaluation:
      return "tensors born in an evaluation";
    case HeldAs::kFrozenOrData:
      return "tensors from before the first step without a gradient of their size";
    case HeldAs::kOther:
      return "no tensors, or born in no known phase";
  }
  return "";
}

HeldAs HeldAsOf(BirthPhase birth, bool is_tensor) {
  if (!is_tensor) return HeldAs::kOther;
  switch (birth) {
    case BirthPhase::kStartup:
      return HeldAs::kParameters;
    case BirthPhase::kFetch:
      return HeldAs::kBatchData;
    case BirthPhase::kForward:
      return HeldAs::kActivations;
    case BirthPhase::kBackward:
      return HeldAs::kGradients;
    case BirthPhase::kOptimizer:
      return HeldAs::kOptimizerState;
    case BirthPhase::kEvaluation:
      return HeldAs::kEvaluation;
    case BirthPhase::kCheckpoint:
    case BirthPhase::kOther:
      return HeldAs::kOther;
  }
  return HeldAs::kOther;
}

void Breakdown::Add(BirthPhase birth, bool is_tensor, uint64_t object_bytes, double bytes, double count) {
  by_phase_[static_cast<size_t>(birth)] += bytes;
  const HeldAs category = HeldAsOf(birth, is_tensor);
  BreakdownShare& share = shares_[static_cast<size_t>(category)];
  share.bytes += bytes;
  share.count += count;
  if (category != HeldAs::kParameters && category != HeldAs::kGradients) return;
  OfSize& of_size = sizes_[object_bytes];
  BreakdownShare& same_size = category == HeldAs::kParameters ? of_size.start_up : of_size.gradients;
  same_size.bytes += bytes;
  same_size.count += count;
}

std::array<BreakdownShare, kHeldAs> Breakdown::Shares() const {
  std::array<BreakdownShare, kHeldAs> shares = shares_;
  BreakdownShare& parameters = shares[static_cast<size_t>(HeldAs::kParameters)];
  BreakdownShare& rest = shares[static_cast<size_t>(HeldAs::kFrozenOrData)];
  for (const auto& [size, of_size] : sizes_) {
    // Sampled amounts are estimates: where there are gradients at all, they do not contradict the parameters.
    const bool is_sampled = size == 0;
    BreakdownShare excess{of_size.start_up.bytes - of_size.gradients.bytes,
                          of_size.start_up.count - of_size.gradients.count};
    if (is_sampled && of_size.gradients.bytes > 0) continue;
    if (excess.bytes <= 0) continue;
    excess.count = std::max(excess.count, 0.0);
    parameters.bytes -= excess.bytes;
    parameters.count -= excess.count;
    rest.bytes += excess.bytes;
    rest.count += excess.count;
  }
  return shares;
}

}  // namespace plateau::series
