// What the memory that is held at the end of the last step is: parameters, gradients, optimizer state, ...
//
// Rules, from the phase in which a tensor was born (docs/steps.md explains and measures them):
//   optimizer state   born inside an optimizer step
//   gradients         born inside a backward pass
//   parameters        born before the first step, as many bytes of each size as there are gradients of that
//   size frozen or data    the other tensors from before the first step: frozen weights, buffers, data held
//   in memory activations       born in a forward pass and still held: a graph that somebody keeps batch data
//   born in a fetch evaluation        born in an evaluation other             whatever is no tensor, and
//   tensors born elsewhere
//
// Pure. Amounts may be weighted (sampled).
#ifndef PLATEAU_ANALYZER_SERIES_BREAKDOWN_H_
#define PLATEAU_ANALYZER_SERIES_BREAKDOWN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "analyzer/series/site_traits.h"

namespace plateau::series {

enum class HeldAs : uint8_t {
  kParameters,
  kGradients,
  kOptimizerState,
  kActivations,
  kBatchData,
  kEvaluation,
  kFrozenOrData,
  kOther,
};
inline constexpr size_t kHeldAs = static_cast<size_t>(HeldAs::kOther) + 1;
std::string_view HeldAsName(HeldAs category);  // "parameters", "optimizer state", ...
std::string_view HeldAsRule(HeldAs category);  // how it was recognised, a clause

// Category of one tensor (or non-tensor) by its birth alone; start-up tensors are kParameters until sizes are
// compared.
HeldAs HeldAsOf(BirthPhase birth, bool is_tensor);

struct BreakdownShare {
  double bytes = 0;
  double count = 0;
};

class Breakdown {
 public:
  // One object that is held; `bytes` and `count` weighted. `object_bytes` is its own size, 0 for a sampled
  // one whose size says nothing about how many there are.
  void Add(BirthPhase birth, bool is_tensor, uint64_t object_bytes, double bytes, double count);

  // Sums that add up to everything that was added.
  std::array<BreakdownShare, kHeldAs> Shares() const;

  const std::array<double, kBirthPhases>& bytes_by_phase() const { return by_phase_; }

 private:
  struct OfSize {
    BreakdownShare start_up;
    BreakdownShare gradients;
  };
  std::array<BreakdownShare, kHeldAs> shares_{};
  std::array<double, kBirthPhases> by_phase_{};
  std::map<uint64_t, OfSize> sizes_;  // of start-up tensors and gradients; 0 holds the sampled ones
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_BREAKDOWN_H_
