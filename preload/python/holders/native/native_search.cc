#include "preload/python/holders/native/native_search.h"

#include "preload/python/holders/native/native_reach.h"
#include "preload/python/holders/native/safe_read.h"
#include "preload/sampler/sample_set.h"

namespace plateau::python::holders {
namespace {

using trace::HolderEnd;

constexpr uint64_t kLargestBlock = 64 * 1024;
constexpr size_t kMaxBlocks = 1 << 16;

struct Block {
  uintptr_t address;
  uint32_t bytes;
  uint32_t stack;
};

template <typename Found>
void Scan(TargetTable* targets, const uintptr_t* words, size_t count, uintptr_t own_address, Found found) {
  for (size_t i = 0; i < count; ++i) {
    Target* const target = targets->Find(words[i]);
    if (target == nullptr || target->node != 0 || target->end != HolderEnd::kNotFound) continue;
    if (target->address != own_address) found(target);
  }
}

}  // namespace

void SearchNativeMemory(WalkMemory* memory, TargetTable* targets, WalkClock* clock) {
  auto* const words = memory->TakeArray<uintptr_t>(kLargestBlock / 8);
  auto* const blocks = memory->TakeArray<Block>(kMaxBlocks);
  if (words == nullptr || blocks == nullptr) return;
  size_t count = 0;
  g_sample_set.ForEach([&](uintptr_t address, const SampledBlock& block) {
    if (count == kMaxBlocks || block.bytes >= kLargestBlock || block.stack == 0) return;
    blocks[count++] = {address, static_cast<uint32_t>(block.bytes), block.stack};
  });
  for (size_t i = 0; i < count && !clock->IsUp(); ++i) {
    const Block& block = blocks[i];
    if (!SafeRead(block.address, words, block.bytes / 8 * 8)) continue;
    Scan(targets, words, block.bytes / 8, block.address, [&block](Target* target) {
      target->end = HolderEnd::kNativeBlock;
      target->native_stack = block.stack;
    });
  }
  NativeReach(memory, targets, clock).Run();
}

}  // namespace plateau::python::holders
