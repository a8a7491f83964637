// The last stage: names the sites for those who judge them, and asks for the verdicts.
#ifndef PLATEAU_ANALYZER_PROCESS_JUDGE_PROCESS_H_
#define PLATEAU_ANALYZER_PROCESS_JUDGE_PROCESS_H_

#include <vector>

#include "analyzer/process/forked_worker.h"
#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_memory.h"
#include "analyzer/process/process_run.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/process/row_digest.h"
#include "analyzer/process/site_holders.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::process {

verdict::Analysis JudgeProcess(const ProcessTrace& trace, const ProcessSites& sites,
                               const ProcessClock& clock, const ProcessMemory& memory, const RowDigest& rows,
                               const ProcessRun& run, const SiteHolders& holders,
                               const std::vector<ForkedWorker>& workers);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_JUDGE_PROCESS_H_
