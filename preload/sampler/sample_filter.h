// Which addresses are surely in no set: what free() asks about every pointer.
//
//   free(p):  regions_[page of p] == 0   -> not in the set; this table stays in the first cache
//             blocks_[p] == 0            -> not in the set, another one of its page is
//             else                       -> perhaps
//
// Both count how many members hash to a byte; a byte that reaches 255 stays there. Neighbours have their
// bytes in the same cache line: a program frees what lies close together.
//
// Any number of threads. A member is counted before its pointer reaches the program, so whoever has the
// pointer sees it. Allocates: never. Locks: never. Constant-initialised.
#ifndef PLATEAU_PRELOAD_SAMPLER_SAMPLE_FILTER_H_
#define PLATEAU_PRELOAD_SAMPLER_SAMPLE_FILTER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/page_size.h"
#include "preload/base/system_call.h"

namespace plateau {

class SampleFilter {
 public:
  bool MayContain(uintptr_t address) const {
    return regions_[RegionIndex(address)].load(std::memory_order_relaxed) != 0 &&
           blocks_[BlockIndex(address)].load(std::memory_order_relaxed) != 0;
  }

  void Count(uintptr_t address) {
    Change(&blocks_[BlockIndex(address)], 1);
    Change(&regions_[RegionIndex(address)], 1);
  }
  void Uncount(uintptr_t address) {
    Change(&regions_[RegionIndex(address)], -1);
    Change(&blocks_[BlockIndex(address)], -1);
  }

  // Forgets everything. Only where no other thread uses the filter.
  void Clear() {
    static_assert(sizeof(SampleFilter) % kLargestPageBytes == 0 &&
                  alignof(SampleFilter) == kLargestPageBytes);
    // The kernel gives zero pages again, without our touching each, unless the program has locked its memory.
    if (!sys::Failed(sys::Call(SYS_madvise, sys::Arg(this), sizeof(*this), MADV_DONTNEED))) return;
    for (std::atomic<uint8_t>& counter : regions_) counter.store(0, std::memory_order_relaxed);
    for (std::atomic<uint8_t>& counter : blocks_) counter.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kLog2Regions = 14;
  static constexpr unsigned kLog2Blocks = 18;
  static constexpr unsigned kLog2Line = 6;
  static constexpr uint8_t kSaturated = 255;

  // The index of the byte for a unit of 2^kLog2Unit bytes of memory; 64 neighbouring units share a cache
  // line.
  template <unsigned kLog2Bytes, unsigned kLog2Unit>
  static size_t IndexOf(uintptr_t address) {
    const uint64_t line =
        (address >> (kLog2Unit + kLog2Line)) * 0x9e3779b97f4a7c15u >> (64 - kLog2Bytes + kLog2Line);
    return static_cast<size_t>(line << kLog2Line | (address >> kLog2Unit & 63));
  }
  static size_t RegionIndex(uintptr_t address) { return IndexOf<kLog2Regions, 12>(address); }
  static size_t BlockIndex(uintptr_t address) { return IndexOf<kLog2Blocks, 4>(address); }

  static void Change(std::atomic<uint8_t>* counter, int change) {
    uint8_t value = counter->load(std::memory_order_relaxed);
    while (value != kSaturated && (value != 0 || change > 0) &&
           !counter->compare_exchange_weak(value, static_cast<uint8_t>(value + change),
                                           std::memory_order_relaxed)) {
    }
  }

  alignas(kLargestPageBytes) std::atomic<uint8_t> regions_[size_t{1} << kLog2Regions] = {};
  std::atomic<uint8_t> blocks_[size_t{1} << kLog2Blocks] = {};
};

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_SAMPLER_SAMPLE_FILTER_H_
