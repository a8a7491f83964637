// Which survivors hold the holes of a fragmented heap: what is alive on each page of the arenas.
//
//   page   | A . . . | . . . . | . . . . | B . C . | . . .      A, B, C live; dots are free
//   held by     A       B and C   B and C   B and C
//
// An allocator gives memory back in whole pages from the upper end of an arena, so a hole stays because of what
// lives above it. The free bytes of a page belong to the blocks on it; a page without any belongs to the next
// page above that has some, in the same arena. Blocks share in equal parts. What lies above the last live block
// belongs to nobody: the allocator can return it. All holes have an owner, so the shares add up.
//
//   HeapPins pins({.page_bytes = 4096});
//   pins.AddUse(address, bytes, weight);          // every live block of the heap, once
//   pins.EndUses();
//   pins.AddPin(address, bytes, weight, site);     // every one of them again
//   const HeapHoles holes = pins.Finish();
//
// With every block recorded that is exact. In a sample each block stands for `weight` others that lie nobody
// knows where. Pages are wider then (kSampledPageBytes), and the shares are estimates with an interval: the
// blocks that were sampled in sparse parts of the heap are charged with what is free there.
//
// Memory: 16 bytes for each page with a live block. When there are more than max_pages, pages become twice as
// wide. Pure and deterministic, whatever the order of the blocks.
#ifndef PLATEAU_ANALYZER_SERIES_HEAP_PINS_H_
#define PLATEAU_ANALYZER_SERIES_HEAP_PINS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/interval.h"

namespace plateau::series {

struct PinningSite {
  uint32_t site = 0;
  double hole_bytes = 0;
  Interval hole_interval;  // 95 %; of no width when every block was recorded
  double block_count = 0;
  double block_bytes = 0;  // of one, on average
};

struct HeapHoles {
  double hole_bytes = 0;        // below live blocks, in all arenas
  double empty_page_bytes = 0;  // of that: on pages without a live block, which malloc_trim() would return
  uint64_t page_bytes = 0;
  bool is_exact = true;
  std::vector<PinningSite> sites;  // the largest first; together they hold all of it

  // As much as `bytes`, which the allocator says are free, each site with its share.
  void ScaleTo(double bytes);
};

class HeapPins {
 public:
  static constexpr uint64_t kExactPageBytes = 4096;
  static constexpr uint64_t kSampledPageBytes = 256 * 1024;
  // glibc: a larger block may have a map of its own, which returns to the system with it.
  static constexpr uint64_t kOwnMapBytes = 128 * 1024;

  struct Options {
    uint64_t page_bytes = kExactPageBytes;
    size_t max_pages = size_t{4} << 20;
  };

  HeapPins() : HeapPins(Options{}) {}
  explicit HeapPins(const Options& options) : options_(options), page_bytes_(options.page_bytes) {}

  void AddUse(uint64_t address, uint64_t bytes, double weight);
  void EndUses();
  void AddPin(uint64_t address, uint64_t bytes, double weight, uint32_t site);
  HeapHoles Finish();

 private:
  struct Page {
    float used_bytes = 0;
    float count = 0;            // of blocks that begin on it, with their weights
    float bytes_per_block = 0;  // what each of them holds, when uses have ended
  };
  struct Sum {
    double hole_bytes = 0, variance = 0, count = 0, bytes = 0;
  };

  // The arena of an address: the break's is one, those of threads are 64 MiB each.
  static uint64_t ArenaOf(uint64_t address);
  // Whether a block lies in an arena at all.
  static bool IsInArena(uint64_t address, uint64_t bytes);
  void Coarsen();

  Options options_;
  uint64_t page_bytes_;
  bool is_exact_ = true;
  double hole_bytes_ = 0;
  double empty_page_bytes_ = 0;
  absl::flat_hash_map<uint64_t, Page> pages_;  // by address / page_bytes_
  std::vector<Sum> sites_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_HEAP_PINS_H_
