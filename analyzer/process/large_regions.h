// Large blocks and maps, of which the bytes in memory count: what they may still become, and which of them are
// the memory of an allocator that a library brought along.
//
//   LargeRegions regions;
//   regions.Add(view);                        // everything retained, during the replay
//   regions.Finish(rows, definitions, &table);  // afterwards
//
// Memory: 40 bytes for each row that has such a region.
#ifndef PLATEAU_ANALYZER_PROCESS_LARGE_REGIONS_H_
#define PLATEAU_ANALYZER_PROCESS_LARGE_REGIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/process/library_callers.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/site_table.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/series/large_regions.h"

namespace plateau::process {

class LargeRegions {
 public:
  void Add(const replay::LiveView& object);

  // Sums up by site, and by library for maps that a library made.
  void Finish(const replay::StackRows& rows, const replay::Definitions& definitions,
              replay::SiteTable* table);

  // Maps of an allocator that grew during the steps are shown at the line that called its library most in them,
  // where one line did: the maps were made when the library was first used, by whoever was first, or by a thread of its
  // own. Maps made in the steps beneath a line say the same of the others.
  void ChargeCallers(LibraryCallers* callers, replay::SiteTable* table);

  // By site; a site without large regions may be missing at the end.
  const std::vector<series::SiteReservation>& sites() const { return sites_; }

  // Maps of one library, with a stack that made some of them: its symbols may name the allocator.
  struct LibraryMaps {
    series::BundledAllocator allocator;  // without a name, a remedy and a rate
    std::string path;
    uint32_t module = 0;
    uint32_t node = 0;
    double largest_bytes = 0;  // in memory of what that stack mapped
  };
  const std::vector<LibraryMaps>& libraries() const { return libraries_; }

 private:
  struct Row {
    double reserved_bytes = 0, resident_bytes = 0;
    double arrived_bytes = 0;  // pages of what was there, in the steps
    double grown_bytes = 0;    // those, and what was reserved anew
  };

  absl::flat_hash_map<uint32_t, Row> rows_;
  std::vector<series::SiteReservation> sites_;
  std::vector<LibraryMaps> libraries_;
};

// The allocator that made a map, by the functions next to it ("_mi_prim_alloc"), leaf first, and the library
// they are in; and the documented switch that makes its blocks visible.
void NameAllocator(const std::vector<std::string>& functions, series::BundledAllocator* allocator);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_LARGE_REGIONS_H_
