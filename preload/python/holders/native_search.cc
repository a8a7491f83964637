#include "preload/python/holders/native_search.h"

#include <link.h>

#include "preload/base/module_walk.h"
#include "preload/python/holders/safe_read.h"
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

struct Search {
  TargetTable* targets;
  WalkClock* clock;
  uintptr_t* words;
};

template <typename Found>
void Scan(TargetTable* targets, const uintptr_t* words, size_t count, uintptr_t own_address, Found found) {
  for (size_t i = 0; i < count; ++i) {
    Target* const target = targets->Find(words[i]);
    if (target == nullptr || target->node != 0 || target->end != HolderEnd::kNotFound) continue;
    if (target->address != own_address) found(target);
  }
}

int ScanModule(dl_phdr_info* info, size_t, void* context) {
  const auto& search = *static_cast<Search*>(context);
  bool is_ours = false;
  const auto ours = reinterpret_cast<uintptr_t>(&ScanModule);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && ours - begin < header.p_memsz) is_ours = true;
  }
  for (int i = 0; i < info->dlpi_phnum && !is_ours; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    uintptr_t at = (info->dlpi_addr + header.p_vaddr + 7) & ~uintptr_t{7};
    const uintptr_t end = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    for (; at + 8 <= end && !search.clock->IsUp(); at += kLargestBlock) {
      const size_t bytes = (end - at < kLargestBlock ? end - at : kLargestBlock) & ~size_t{7};
      if (!SafeRead(at, search.words, bytes)) continue;
      Scan(search.targets, search.words, bytes / 8, 0, [info](Target* target) {
        target->end = HolderEnd::kModuleData;
        target->native_class =
            info->dlpi_name != nullptr && info->dlpi_name[0] != 0 ? info->dlpi_name : "the program";
      });
    }
  }
  return 0;
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
  Search search = {targets, clock, words};
  WalkModules(ScanModule, &search);
}

}  // namespace plateau::python::holders
