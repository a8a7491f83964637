// The fourth stage: what verdicts are told of the run of a process: how long it was, what limits it, what the
// readings of its ledger say.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_

#include <optional>
#include <vector>

#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/reader/read_summary.h"
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

// Which share of its events a trace has lost, when `events` of them were replayed. Calls inside of a hook and of threads without a slot
// are lost before anything is sampled, so they are a share of all calls; other losses are a share of what was recorded.
double LostShare(const reader::ReadSummary& summary, uint64_t events);

// By site: whether lost frees cannot explain most of what stays. Lost events meet all stacks alike: twenty million blocks
// that were freed and forty that stay look as if a few frees of the site had been lost, but where the forty are all that
// one of its stacks ever made, they were not. Empty when no event was lost.
std::vector<bool> KeepsDespiteLoss(const replay::StackRows& rows, const series::RunContext& run);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
