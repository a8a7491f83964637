// The fourth stage: what verdicts are told of the run of a process: how long it was, what limits it, what the
// readings of its ledger say.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_

#include <optional>
#include <vector>

#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/series/ledger.h"
#include "analyzer/series/run_context.h"

namespace plateau::process {

struct ProcessRun {
  std::vector<series::LedgerSample> ledger;  // one per reading, with what was live at that moment
  series::RunContext context;
};

// What the user knows about the run and the trace does not.
struct KnownRun {
  std::optional<double> epoch_steps;
  std::optional<double> planned_steps;
  std::optional<double> limit_bytes;
};

ProcessRun DescribeRun(const ProcessTrace& trace, const ProcessClock& clock, const ProcessMemory& memory,
                       const KnownRun& known);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
