#include "preload/python/holders/native/native_reach.h"

#include <sys/auxv.h>

#include "preload/base/module_walk.h"
#include "preload/base/real_functions.h"
#include "preload/base/system_call.h"
#include "preload/python/holders/native/safe_read.h"
#include "preload/python/interpreter.h"

namespace plateau::python::holders {
namespace {

using trace::HolderEnd;

constexpr uintptr_t kPage = 4096;
constexpr uintptr_t kHeapBytes = uintptr_t{64} << 20;  // of an arena, and its alignment

bool IsOpen(const Target& target) { return target.node == 0 && target.end == HolderEnd::kNotFound; }

}  // namespace

bool NativeReach::Initialize() {
  variables_ = memory_.TakeArray<Variables>(kMaxVariables);
  blocks_ = memory_.TakeArray<Block>(kMaxBlocks);
  words_ = memory_.TakeArray<uintptr_t>(kReadBytes / 8);
  regions_ = memory_.TakeArray<Region>(kRegions);
  reached_from_ = memory_.TakeArray<uint32_t>(TargetTable::kMaxTargets);
  return variables_ != nullptr && blocks_ != nullptr && words_ != nullptr && reached_from_ != nullptr &&
         regions_ != nullptr && seen_.Initialize();
}

// Only notes where a module's variables are: the loader's lock is not held while they are read.
int NativeReach::AddModule(dl_phdr_info* info, size_t, void* context) {
  auto* const self = static_cast<NativeReach*>(context);
  uintptr_t begin = UINTPTR_MAX, end = 0, sealed_begin = 0, sealed_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + header.p_vaddr;
    const uintptr_t to = from + header.p_memsz;
    if (header.p_type == PT_LOAD && from < begin) begin = from;
    if (header.p_type == PT_LOAD && to > end) end = to;
    // What is read-only once the loader is done has no addresses of blocks.
    if (header.p_type == PT_GNU_RELRO) sealed_begin = from, sealed_end = to;
  }
  if (self->heap_begin_ == 0) self->heap_begin_ = end;
  if (begin >= end || IsLeftOut(begin, end)) return 0;
  const char* const name =
      info->dlpi_name != nullptr && info->dlpi_name[0] != 0 ? info->dlpi_name : "the program";
  for (int i = 0; i < info->dlpi_phnum && self->variable_count_ < kMaxVariables; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    uintptr_t from = info->dlpi_addr + header.p_vaddr;
    const uintptr_t to = from + header.p_memsz;
    if (from >= sealed_begin && from < sealed_end) from = sealed_end;
    from = (from + 7) & ~uintptr_t{7};
    if (from < to) self->variables_[self->variable_count_++] = {from, to, name};
  }
  return 0;
}

// A block of malloc begins in the main heap, in the heap of another arena, whose begin says how large it is, or 16 bytes
// behind the begin of pages of its own.
bool NativeReach::MayBeBlock(uintptr_t word) {
  if ((word & 15) != 0 || word < kPage || word >> 47 != 0) return false;
  if (word >= heap_begin_ && word < heap_end_) return true;
  if (word % kPage == 16) return true;
  const uintptr_t number = word / kHeapBytes;
  Region& region = regions_[number * 0x9e3779b97f4a7c15u >> 56];
  if (region.number != number) {
    uint64_t info[3] = {};  // arena, heap before it, bytes
    const bool is_there = SafeRead(number * kHeapBytes, info, sizeof(info));
    const bool is_heap =
        is_there && info[0] != 0 && (info[0] & 7) == 0 && info[2] <= kHeapBytes && info[2] % kPage == 0;
    region = {number, is_heap ? info[2] : 0};
  }
  return word % kHeapBytes < region.heap_bytes;
}

// By malloc's words in front of it; 0 where they cannot be that.
size_t NativeReach::BlockBytes(uintptr_t address) const {
  constexpr uint64_t kIsMapped = 2, kIsOfOtherArena = 4, kFlags = 7;
  uint64_t header[2] = {};
  if (!SafeRead(address - 16, header, sizeof(header))) return 0;
  const uint64_t bytes = header[1] & ~kFlags;
  if (bytes < 32 || bytes % 16 != 0 || bytes > kMaxBlockBytes) return 0;
  const bool is_in_main_heap = address >= heap_begin_ && address + bytes <= heap_end_;
  if ((header[1] & kIsMapped) != 0) {
    const bool is_whole = (header[1] & kFlags) == kIsMapped && address % kPage == 16 && bytes % kPage == 0;
    return is_whole && header[0] == 0 && !is_in_main_heap ? bytes - 16 : 0;
  }
  return is_in_main_heap == ((header[1] & kIsOfOtherArena) == 0) ? bytes - 8 : 0;
}

void NativeReach::Reach(uintptr_t word, uint32_t module) {
  if (block_count_ == kMaxBlocks || !seen_.Insert(word)) return;
  const size_t bytes = BlockBytes(word);
  if (bytes != 0) blocks_[block_count_++] = {word, static_cast<uint32_t>(bytes), module};
}

bool NativeReach::ScanRange(uintptr_t address, size_t bytes, uint32_t module, bool is_variable) {
  for (size_t at = 0; at + 8 <= bytes; at += kReadBytes) {
    if (clock_.IsUp()) return false;
    const size_t part = (bytes - at < kReadBytes ? bytes - at : kReadBytes) & ~size_t{7};
    if (!SafeRead(address + at, words_, part)) continue;
    for (size_t i = 0; i < part / 8; ++i) {
      const uintptr_t word = words_[i];
      if (word < kPage) continue;
      if (Target* const target = targets_.Find(word); target != nullptr && IsOpen(*target)) [[unlikely]] {
        uint32_t& from = reached_from_[target - &targets_[0]];
        if (from == 0) from = module + 1;
        if (is_variable) Name(target, module);
      }
      if (MayBeBlock(word)) Reach(word, module);
    }
  }
  return true;
}

void NativeReach::Name(Target* target, uint32_t module) {
  target->end = HolderEnd::kModuleData;
  target->native_class = variables_[module].module;
}

bool NativeReach::IsLeftOut(uintptr_t begin, uintptr_t end) {
  const auto is_in = [begin, end](uintptr_t address) { return address - begin < end - begin; };
  return is_in(reinterpret_cast<uintptr_t>(&AddModule)) || is_in(g_interpreter.module_begin) ||
         is_in(reinterpret_cast<uintptr_t>(&dl_iterate_phdr)) || is_in(getauxval(AT_BASE));
}

// A module is named for a stack when it leads to most of its open targets.
void NativeReach::Settle() {
  for (size_t i = 0; i < targets_.count(); ++i) {
    if (!IsOpen(targets_[i]) || reached_from_[i] == 0) continue;
    size_t open = 0, same = 0;
    for (size_t j = 0; j < targets_.count(); ++j) {
      const bool is_named = targets_[j].end == HolderEnd::kModuleData && targets_[j].native_class != nullptr;
      if (targets_[j].stack != targets_[i].stack || !(IsOpen(targets_[j]) || is_named)) continue;
      ++open;
      same += reached_from_[j] != 0 &&
              variables_[reached_from_[j] - 1].module == variables_[reached_from_[i] - 1].module;
    }
    if (same < 2 || 2 * same <= open) continue;
    Name(&targets_[i], reached_from_[i] - 1);
  }
}

void NativeReach::Run() {
  if (!AllocatorIsGlibc() || !Initialize()) return;
  const long heap_end = sys::Call(SYS_brk, 0);
  heap_end_ = heap_end > 0 ? static_cast<uintptr_t>(heap_end) : 0;
  WalkModules(AddModule, this);
  for (uint32_t i = 0; i < variable_count_; ++i) {
    const Variables& range = variables_[i];
    if (!ScanRange(range.begin, range.end - range.begin, i, /*is_variable=*/true)) return Settle();
  }
  for (size_t i = 0; i < block_count_; ++i) {
    const Block block = blocks_[i];
    if (!ScanRange(block.address, block.bytes, block.module, /*is_variable=*/false)) break;
  }
  Settle();
}

}  // namespace plateau::python::holders
