// Which module's variables have the address of a target, or lead to it by way of blocks of malloc that nobody recorded: a
// std::vector of tensors is a few words in a library's data, a small block of addresses, a TensorImpl, a StorageImpl, and
// the bytes.
//
//   writable data of modules -> blocks of malloc -> blocks of malloc ... -> the address
//
// Breadth-first, by addresses that begin a block: malloc's word in front of it has its size, and it lies where malloc has
// its blocks, which our own tables do not. The interpreter's own data is left out, because what it leads to has been
// walked, and that of libc and the loader, which leads to free memory and to stacks. An address can be left over from a block that is gone, in a vector
// that was emptied; so for a block a module is named only where it leads to most of the targets of a stack, and to two at
// least.
// Reads go through the kernel. Needs glibc's malloc. Allocates: from the walk's memory.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_REACH_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_REACH_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "preload/python/holders/tables/target_table.h"
#include "preload/python/holders/tables/visited_set.h"
#include "preload/python/holders/tables/walk_clock.h"
#include "preload/python/holders/tables/walk_memory.h"

namespace plateau::python::holders {

class NativeReach {
 public:
  NativeReach(WalkMemory* memory, TargetTable* targets, WalkClock* clock)
      : memory_(*memory), targets_(*targets), clock_(*clock), seen_(memory) {}

  void Run();

  static constexpr size_t kMaxBlocks = 1 << 16;
  static constexpr uint32_t kMaxVariables = 4096;
  static constexpr size_t kMaxBlockBytes = size_t{8} << 20;

 private:
  struct Variables {
    uintptr_t begin;
    uintptr_t end;
    const char* module;
  };
  struct Block {
    uintptr_t address;
    uint32_t bytes;
    uint32_t module;  // number of its variables
  };
  static constexpr size_t kReadBytes = 64 * 1024;

  bool Initialize();
  static int AddModule(dl_phdr_info* info, size_t, void* context);
  static bool IsLeftOut(uintptr_t begin, uintptr_t end);
  size_t BlockBytes(uintptr_t address) const;
  // False when the time is up.
  bool ScanRange(uintptr_t address, size_t bytes, uint32_t module, bool is_variable);
  void Reach(uintptr_t word, uint32_t module);
  bool MayBeBlock(uintptr_t word);
  void Name(Target* target, uint32_t module);
  void Settle();

  WalkMemory& memory_;
  TargetTable& targets_;
  WalkClock& clock_;
  VisitedSet seen_;
  Variables* variables_ = nullptr;
  uint32_t variable_count_ = 0;
  uintptr_t heap_begin_ = 0;  // the main heap lies between the end of the program and the break
  uintptr_t heap_end_ = 0;
  Block* blocks_ = nullptr;
  size_t block_count_ = 0;
  uintptr_t* words_ = nullptr;
  uint32_t* reached_from_ = nullptr;  // by target: number of the variables plus 1
  // Of memory that was asked last, by 64 MiB: whether it is a heap of another arena than the first.
  struct Region {
    uintptr_t number;
    uintptr_t heap_bytes;
  };
  static constexpr size_t kRegions = 256;
  Region* regions_ = nullptr;
};

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_NATIVE_REACH_H_
