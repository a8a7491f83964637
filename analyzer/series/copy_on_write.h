// Which of the parent's call sites own the pages that its forked workers have copied by writing to them?
//
//   parent at fork   [ site 3 ][ site 7      ][ free ][ site 3 ]
//   worker, later        ^^^^  ^^^^                      ^^^       pages in Private_Dirty that were shared at
//   fork answer               site 3: 2 pages' worth, site 7: 1, [no block]: 0
//
// A worker that only reads a Python list still writes: reference counts live in the objects. Pure; O((blocks
// + ranges) log).
#ifndef PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_
#define PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau::series {

// A block of the parent that was alive when it forked.
struct ParentBlock {
  uint64_t address = 0;
  uint64_t bytes = 0;
  size_t site = 0;
};

// An address range of a worker, inherited at fork, and how many of its bytes are private and dirty now.
struct DirtyRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t dirty_bytes = 0;
};

struct CopiedBytes {
  size_t site = 0;
  double bytes = 0;
};

struct CopyOnWriteAttribution {
  std::vector<CopiedBytes> sites;  // most bytes first, then by site
  double without_block = 0;        // dirtied where the parent had no live block (free lists, stacks, globals)
};

// Dirty bytes of a range are shared out to the blocks in it by their overlap, the part no block covers to
// `without_block`.
CopyOnWriteAttribution AttributeCopies(std::vector<ParentBlock> blocks,
                                       const std::vector<DirtyRange>& ranges);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_
