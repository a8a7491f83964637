// The stage before the verdicts: which references keep alive what each site made, from what the process itself
// saw of them while it ran.
#ifndef PLATEAU_ANALYZER_PROCESS_SITE_HOLDERS_H_
#define PLATEAU_ANALYZER_PROCESS_SITE_HOLDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/series/holding.h"

namespace plateau::process {

struct HolderLooks {
  uint64_t walks = 0;
  uint64_t cut = 0;  // of them
  uint64_t skipped = 0;
  std::string skipped_why;  // of the last that was skipped, in words
  double objects = 0;       // visited, by the last walk
  double seconds = 0;       // by all of them
  double last_step = 0;
  double garbage_objects = 0;  // by the last walk that counted them
  double garbage_bytes = 0;    // of what was looked at
  double frozen_objects = 0;
  bool is_collector_off = false;
  uint64_t damaged = 0;  // chains and walks that could not be used
};

struct SiteHolders {
  std::vector<series::SiteHolding> sites;  // by site; empty when no walk asked for any
  HolderLooks looks;
};

SiteHolders FindHolders(const ProcessTrace& trace, const ProcessClock& clock, const ProcessMemory& memory,
                        ProcessSites* sites);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_SITE_HOLDERS_H_
