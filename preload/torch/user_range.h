// What the name of a torch range says about the training loop.
//
// PyTorch opens ranges of its own around Optimizer.step, Optimizer.zero_grad and the DataLoader's __next__,
// with these names since 1.9:
//   Optimizer.step#AdamW.step
//   Optimizer.zero_grad#AdamW.zero_grad
//   enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__
//
// Allocates: never. The detail is a view into `name`.
#ifndef PLATEAU_PRELOAD_TORCH_USER_RANGE_H_
#define PLATEAU_PRELOAD_TORCH_USER_RANGE_H_

#include <cstdint>
#include <string_view>

namespace plateau {

enum class RangeKind : uint8_t { kOther, kOptimizerStep, kZeroGrad, kFetch };

struct UserRange {
  RangeKind kind;
  std::string_view detail;  // "AdamW", "_MultiProcessingDataLoaderIter"; empty for kOther
};

UserRange ParseUserRange(std::string_view name);

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_TORCH_USER_RANGE_H_
