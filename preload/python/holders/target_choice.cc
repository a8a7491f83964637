#include "preload/python/holders/target_choice.h"

#include "preload/base/arena.h"
#include "preload/python/pymalloc.h"
#include "preload/recorder/size_limit.h"
#include "preload/sampler/sample_set.h"
#include "preload/sampler/sampler.h"

namespace plateau::python::holders {
namespace {

constexpr size_t kStacks = 1 << 15;
constexpr size_t kMostStacks = 8;
constexpr size_t kBlocksOfStack = TargetTable::kMaxTargets / kMostStacks;

struct StackSum {
  uint32_t stack;
  uint32_t choice;  // 1 to kMostStacks: chosen
  uint64_t bytes;
  uint64_t bytes_before;
};
constinit StackSum* g_sums = nullptr;
constinit size_t g_sum_count = 0;
constinit bool g_has_looked_twice = false;

StackSum* SumOf(uint32_t stack, bool may_add) {
  for (size_t at = stack * 0x9e3779b1u >> 17;; at = (at + 1) & (kStacks - 1)) {
    if (g_sums[at].stack == stack) return &g_sums[at];
    if (g_sums[at].stack != 0) continue;
    if (!may_add || g_sum_count >= kStacks / 4 * 3) return nullptr;
    ++g_sum_count;
    g_sums[at].stack = stack;
    return &g_sums[at];
  }
}

template <typename Visit>
void ForEachBlock(Visit visit) {
  g_sample_set.ForEach(visit);
  PymallocSamples().ForEach(visit);
}

int64_t Growth(const StackSum& sum) { return static_cast<int64_t>(sum.bytes - sum.bytes_before); }

struct Choice {
  StackSum* sum;
  uint64_t seen;  // blocks met so far
  size_t kept;
  uintptr_t addresses[kBlocksOfStack];
  uint64_t bytes[kBlocksOfStack];
};
constinit Choice g_choices[kMostStacks] = {};

}  // namespace

bool HasLiveTable() { return g_rate.exact_from.load(std::memory_order_relaxed) != 0; }

uint64_t LiveBlocks() { return g_sample_set.size() + PymallocSamples().size(); }

uint64_t Look() {
  if (g_sums == nullptr) g_sums = static_cast<StackSum*>(ArenaMap(kStacks * sizeof(StackSum)));
  if (g_sums == nullptr) return 0;
  g_has_looked_twice = g_sum_count != 0;
  for (size_t i = 0; i < kStacks; ++i) {
    if (g_sums[i].stack == 0) continue;
    g_sums[i].bytes_before = g_sums[i].bytes;
    g_sums[i].bytes = 0;
    g_sums[i].choice = 0;
  }
  uint64_t all_bytes = 0;
  ForEachBlock([&](uintptr_t, const SampledBlock& block) {
    const uint64_t bytes =
        static_cast<uint64_t>(static_cast<double>(block.bytes) * WeightAt(block.rate_level, block.bytes));
    all_bytes += bytes;
    if (block.stack == 0) return;
    StackSum* const sum = SumOf(block.stack, /*may_add=*/true);
    if (sum != nullptr) sum->bytes += bytes;
  });
  return all_bytes;
}

void Choose(Wanted wanted, const uint32_t* stacks, TargetTable* targets) {
  if (g_sums == nullptr) return;
  size_t count = 0;
  const auto take = [&count](StackSum* sum) {
    sum->choice = static_cast<uint32_t>(count + 1);
    g_choices[count++] = {sum, 0, 0, {}, {}};
  };
  for (; stacks != nullptr && *stacks != 0 && count < kMostStacks; ++stacks) {
    StackSum* const sum = SumOf(*stacks, /*may_add=*/false);
    if (sum != nullptr && sum->bytes > 0 && sum->choice == 0) take(sum);
  }
  while (count < kMostStacks) {
    // Half of the places of a look for anything are for what has grown.
    const bool by_growth = g_has_looked_twice && (wanted == Wanted::kGrown || count < kMostStacks / 2);
    StackSum* best = nullptr;
    int64_t best_value = 0;
    for (size_t i = 0; i < kStacks; ++i) {
      if (g_sums[i].stack == 0 || g_sums[i].choice != 0 || g_sums[i].bytes == 0) continue;
      const int64_t value = by_growth ? Growth(g_sums[i]) : static_cast<int64_t>(g_sums[i].bytes);
      if (value <= best_value) continue;
      best_value = value;
      best = &g_sums[i];
    }
    if (best == nullptr && by_growth && wanted == Wanted::kAny) {
      g_has_looked_twice = false;  // nothing grew: go on by size
      continue;
    }
    if (best == nullptr) break;
    take(best);
  }
  if (count == 0) return;
  GapRandom random;
  random.Seed(reinterpret_cast<uintptr_t>(g_sums) ^ g_sum_count);
  ForEachBlock([&](uintptr_t address, const SampledBlock& block) {
    if (block.stack == 0) return;
    const StackSum* const sum = SumOf(block.stack, /*may_add=*/false);
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
    for (size_t block = 0; block < g_choices[i].kept; ++block) {
      targets->Add(g_choices[i].addresses[block], g_choices[i].bytes[block], g_choices[i].sum->stack);
    }
  }
}

void ForgetLooks() {
  if (g_sums != nullptr) ArenaUnmap(g_sums, kStacks * sizeof(StackSum));
  g_sums = nullptr;
  g_sum_count = 0;
  g_has_looked_twice = false;
}

}  // namespace plateau::python::holders
