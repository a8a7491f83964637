#include "preload/python/holders/target_choice.h"

#include "preload/python/holders/tables/stack_sums.h"
#include "preload/python/pymalloc.h"
#include "preload/recorder/device_blocks.h"
#include "preload/recorder/size_limit.h"
#include "preload/sampler/sample_set.h"
#include "preload/sampler/sampler.h"

namespace plateau::python::holders {
namespace {

constexpr size_t kMostStacks = 8;
constexpr size_t kBlocksOfStack = TargetTable::kMaxTargets / kMostStacks;

constinit StackSums g_sums;

// visit(address, block, bytes that it stands for, whether it is device or pinned memory)
template <typename Visit>
void ForEachBlock(Visit visit) {
  const auto of_host = [&visit](uintptr_t address, const SampledBlock& block) {
    const double weight = WeightAt(block.rate_level, block.bytes);
    visit(address, block, static_cast<uint64_t>(static_cast<double>(block.bytes) * weight), false);
  };
  g_sample_set.ForEach(of_host);
  PymallocSamples().ForEach(of_host);
  g_device_blocks.ForEach(
      [&visit](uintptr_t address, const SampledBlock& block) { visit(address, block, block.bytes, true); });
}

// The stacks of the largest values, largest first.
class Largest {
 public:
  void Offer(StackSum* sum, int64_t value) {
    if (value <= 0 || (count_ == kMostStacks && value <= values_[count_ - 1])) return;
    size_t at = count_ < kMostStacks ? count_++ : count_ - 1;
    for (; at > 0 && values_[at - 1] < value; --at) {
      sums_[at] = sums_[at - 1];
      values_[at] = values_[at - 1];
    }
    sums_[at] = sum;
    values_[at] = value;
  }

  // The next that was not chosen yet; null at the end.
  StackSum* Next() {
    while (next_ < count_ && sums_[next_]->choice != 0) ++next_;
    return next_ < count_ ? sums_[next_] : nullptr;
  }

 private:
  StackSum* sums_[kMostStacks] = {};
  int64_t values_[kMostStacks] = {};
  size_t count_ = 0;
  size_t next_ = 0;
};

// Of the host and of devices. A device has more bytes than the host, as a rule; each has every other place as long as it has
// a stack for it.
struct LargestOfBoth {
  Largest by_memory[2];

  StackSum* Next(bool is_devices_turn) {
    StackSum* const sum = by_memory[is_devices_turn].Next();
    return sum != nullptr ? sum : by_memory[!is_devices_turn].Next();
  }
};

struct Choice {
  uint32_t stack;
  bool is_of_device;
  uint64_t seen;  // blocks met so far
  size_t kept;
  uintptr_t addresses[kBlocksOfStack];
  uint64_t bytes[kBlocksOfStack];
};
constinit Choice g_choices[kMostStacks] = {};

// The numbers of the chosen stacks are in their sums. Returns how many there are.
size_t ChooseStacks(Wanted wanted, const uint32_t* stacks) {
  size_t count = 0;
  const auto take = [&count](StackSum* sum) {
    sum->choice = static_cast<uint16_t>(count + 1);
    g_choices[count++] = {sum->stack, sum->is_of_device, 0, 0, {}, {}};
  };
  for (; stacks != nullptr && *stacks != 0 && count < kMostStacks; ++stacks) {
    StackSum* const sum = g_sums.Find(*stacks);
    if (sum != nullptr && sum->bytes > 0 && sum->choice == 0) take(sum);
  }
  LargestOfBoth grown, large;
  g_sums.ForEach([&](StackSum& sum) {
    if (sum.bytes == 0) return;
    large.by_memory[sum.is_of_device].Offer(&sum, static_cast<int64_t>(sum.bytes));
    if (g_sums.has_looked_twice()) grown.by_memory[sum.is_of_device].Offer(&sum, sum.growth());
  });
  const bool is_growth_all = wanted == Wanted::kGrown && g_sums.has_looked_twice();
  while (count < kMostStacks) {
    const bool is_devices_turn = count % 2 == 1;
    // Half of the places of a look for anything are for what has grown.
    StackSum* sum = is_growth_all || count < kMostStacks / 2 ? grown.Next(is_devices_turn) : nullptr;
    if (sum == nullptr && !is_growth_all) sum = large.Next(is_devices_turn);
    if (sum == nullptr) break;
    take(sum);
  }
  return count;
}

}  // namespace

bool HasLiveTable() { return g_rate.exact_from.load(std::memory_order_relaxed) != 0; }

uint64_t LiveBlocks() { return g_sample_set.size() + PymallocSamples().size() + g_device_blocks.size(); }

uint64_t Look() {
  if (!g_sums.BeginLook()) return 0;
  uint64_t all_bytes = 0;
  ForEachBlock([&](uintptr_t, const SampledBlock& block, uint64_t bytes, bool is_of_device) {
    all_bytes += bytes;
    if (block.stack == 0) return;
    StackSum* const sum = g_sums.Add(block.stack);
    if (sum == nullptr) return;
    sum->bytes += bytes;
    sum->is_of_device = is_of_device;
  });
  return all_bytes;
}

void Choose(Wanted wanted, const uint32_t* stacks, TargetTable* targets) {
  const size_t count = ChooseStacks(wanted, stacks);
  if (count == 0) return;
  GapRandom random;
  random.Seed(reinterpret_cast<uintptr_t>(&g_sums) ^ g_sums.size());
  ForEachBlock([&](uintptr_t address, const SampledBlock& block, uint64_t, bool) {
    if (block.stack == 0) return;
    const StackSum* const sum = g_sums.Find(block.stack);
    if (sum == nullptr || sum->choice == 0) return;
    Choice& choice = g_choices[sum->choice - 1];
    uint64_t at = choice.seen++;
    if (at >= kBlocksOfStack) at = random.Next() % choice.seen;
    if (at >= kBlocksOfStack) return;
    choice.addresses[at] = address;
    choice.bytes[at] = block.bytes;
    if (choice.kept <= at) choice.kept = at + 1;
  });
  for (size_t i = 0; i < count; ++i) {
    const Choice& choice = g_choices[i];
    for (size_t block = 0; block < choice.kept; ++block)
      targets->Add(choice.addresses[block], choice.bytes[block], choice.stack, choice.is_of_device);
  }
}

void ForgetLooks() { g_sums.Clear(); }

}  // namespace plateau::python::holders
