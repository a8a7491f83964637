// Whose pages do forked workers copy when they write to them?
//
//   parent at fork   [ site 3 ][ site 7      ][ free ][ site 3 ]
//   worker, later        ^^^^  ^^^^                      ^^^       pages that it no longer shares
//   answer           site 3: 2 pages' worth, site 7: 1, [no block]: 0
//
// A worker that only reads a Python list still writes: reference counts live in the objects.
//
//   CopyOnWrite copies;
//   const size_t worker = copies.AddWorker(runs);            // its pages
//   copies.AddBlock(worker, address, bytes, weight, site);   // every block the parent had when it forked
//   copies.Finish();
//
// Pure. AddBlock is logarithmic in the worker's runs.
#ifndef PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_
#define PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace plateau::series {

// Addresses of pages that a worker no longer shares, without gaps.
struct CopiedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct CopiedBytes {
  size_t site = 0;
  double bytes = 0;
};

struct CopyOnWriteAttribution {
  std::vector<CopiedBytes> sites;  // most bytes first, then by site
  double without_block = 0;        // copied where the parent had no live block (free lists, stacks, globals)
};

class CopyOnWrite {
 public:
  // Ranges ascending, apart. Returns the worker's number.
  size_t AddWorker(std::vector<CopiedRange> ranges);

  // A block of the parent, alive when it forked `worker`, that stands for `weight` blocks like it.
  void AddBlock(size_t worker, uint64_t address, uint64_t bytes, double weight, size_t site);

  // What sampled blocks stand for may come out above what was copied; it is scaled down then.
  CopyOnWriteAttribution Finish() const;

 private:
  std::vector<std::vector<CopiedRange>> workers_;
  std::map<size_t, double> by_site_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_COPY_ON_WRITE_H_
