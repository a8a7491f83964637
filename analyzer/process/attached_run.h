// A recording that began while its program ran: what was there before, and what may not be said.
//
// The first pass over the data was seen in part or not at all, so growth that ended may have been a cache that is full. What
// was live before has no line; it is the allocator's account less what was born since, and no gap. Blocks whose address came
// again without a free of theirs show that some frees are not seen: then what stays may have been freed.
#ifndef PLATEAU_ANALYZER_PROCESS_ATTACHED_RUN_H_
#define PLATEAU_ANALYZER_PROCESS_ATTACHED_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/series/ledger.h"
#include "analyzer/series/run_context.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::process {

// A child that was forked later is recorded from its start.
bool IsAttached(const ProcessTrace& trace);

// What a process had when it was attached to. Zeros when its ATTACH record was lost.
struct BeforeAttach {
  double age_seconds = 0;
  double resident_bytes = 0;
  double heap_bytes = 0;         // in use by the C library's allocator; 0 when it was not asked
  double beside_heap_bytes = 0;  // other resident anonymous memory
};
BeforeAttach WhatWasBefore(const ProcessTrace& trace);

// Counts what was live before as live in each sample, less what has been freed of it since.
void AddBeforeAttach(const ProcessTrace& trace, std::vector<series::LedgerSample>* samples);

// More than a few blocks had an address of others that nobody was seen to free.
bool MissesFrees(const replay::ReplayResult& heap);

// Takes out of `run` what only a run that is seen from its first step can know. `epoch_steps`: given by the user.
void ForgetFirstPass(const series::StepClock& clock, std::optional<double> epoch_steps,
                     series::RunContext* run);

// "Warm-up is complete" and "in progress" become inconclusive unless a whole pass was seen and growth ended away from the ends
// of passes; programs that make no passes keep their verdict. Growth becomes inconclusive where frees are missed. True when the
// verdict was changed.
bool JudgeFromWithin(const series::StepClock& clock, const series::RunContext& run, bool misses_frees,
                     verdict::Verdict* verdict);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_ATTACHED_RUN_H_
