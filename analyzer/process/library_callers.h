// Who calls a library in the steps: the line that stands for what threads of the library allocate.
//
//   tokenizers.abi3.so in a thread of rayon          keeps 40 MiB; no frame of the program's above it
//   tokenizers.abi3.so < encode_batch (train.py:65)  19 of 20 bytes that the library allocated beneath a line
//
// Such a thread works for whoever called the library, and a trace does not say who that was. Where one line made most of
// the calls, it is shown.
#ifndef PLATEAU_ANALYZER_PROCESS_LIBRARY_CALLERS_H_
#define PLATEAU_ANALYZER_PROCESS_LIBRARY_CALLERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/site_table.h"
#include "analyzer/replay/stack_rows.h"
#include "analyzer/series/large_regions.h"
#include "analyzer/series/series_accumulator.h"

namespace plateau::process {

class LibraryCallers {
 public:
  // Of finished series; all must outlive it.
  LibraryCallers(const replay::StackRows* rows, const replay::Definitions* definitions,
                 const series::SeriesAccumulator* series, replay::SiteTable* table)
      : rows_(*rows), definitions_(*definitions), series_(*series), table_(*table) {}

  // Bytes that a row of maps got in the steps.
  struct Made {
    uint32_t row;
    double bytes;
  };

  // A site of the line of the program's beneath which the module allocated more than `share` of what it allocated
  // beneath such lines in the steps; `maps` count too.
  std::optional<uint32_t> SiteThatCalls(uint32_t module, double share, const std::vector<Made>& maps = {});

 private:
  double ShareOfSteps(uint32_t site);
  bool IsOfProgram(uint32_t site);

  const replay::StackRows& rows_;
  const replay::Definitions& definitions_;
  const series::SeriesAccumulator& series_;
  replay::SiteTable& table_;
  absl::flat_hash_map<uint32_t, double> shares_;  // by site
};

// Shows what threads of a library keep at the line that makes nearly all calls of it, where that is a material amount.
// `gained` is what each site gained in the steps.
void ChargeThreads(const std::vector<series::SiteReservation>& gained, const replay::Definitions& definitions,
                   LibraryCallers* callers, replay::SiteTable* table);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_LIBRARY_CALLERS_H_
