// What is known of a site's large blocks and maps, of which the bytes in memory count and not their size.
//
// An array of zeros that is filled over the run grows, and no leak does that: nothing is allocated, and the
// size it can reach was reserved at the start. An allocator that a library brought along looks the same in one
// reservation, but takes another when that is full; so its reservation is no bound.
//
// Plain values.
#ifndef PLATEAU_ANALYZER_SERIES_LARGE_REGIONS_H_
#define PLATEAU_ANALYZER_SERIES_LARGE_REGIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace plateau::series {

// Of one site, at the end of the run.
struct SiteReservation {
  double reserved_bytes = 0;   // size of what is followed
  double resident_bytes = 0;   // of it in memory
  double arrived_bytes = 0;    // of that: came into memory during the steps, in what existed before
  double grown_bytes = 0;      // all that was born at the site during the steps and is alive
  double unbounded_bytes = 0;  // gained in the steps by maps that a library made, which makes others too

  bool is_by_caller =
      false;  // the site is not the one that made the maps, but the one that calls the library

  double room_bytes() const { return reserved_bytes - resident_bytes; }
  static constexpr double kNearlyAll = 0.9;
  // Whether the growth of the site is the filling of what is reserved already.
  bool IsFill() const {
    return grown_bytes > 0 && arrived_bytes - unbounded_bytes >= kNearlyAll * grown_bytes;
  }
  // Whether it is in maps that a library made for its allocator.
  bool IsLibrarys() const { return grown_bytes > 0 && unbounded_bytes >= kNearlyAll * grown_bytes; }
};

// An allocator that a library brought along and that asks the kernel for its memory: blocks inside it are not
// in the trace.
struct BundledAllocator {
  std::string name;     // "mimalloc"; empty when only its behaviour is known
  std::string library;  // "libarrow.so.2100"
  std::string remedy;   // the documented switch that makes its blocks visible; empty when there is none
  double reserved_bytes = 0;
  double resident_bytes = 0;
  double grown_bytes = 0;          // came into memory during the steps
  double rate_bytes_per_step = 0;  // over the last half of the steps
  std::vector<uint32_t> sites;     // the lines whose work made its maps, the largest first

  // "mimalloc in libarrow.so.2100", "an allocator in libfoo.so".
  std::string Title() const;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_LARGE_REGIONS_H_
