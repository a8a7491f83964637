// What verdicts are told of the run of a process: how long it was, what limits it, what its readings say.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_

#include <vector>

#include "analyzer/series/ledger.h"
#include "analyzer/series/run_context.h"

namespace plateau::report {

struct ProcessOptions;
struct ProcessPass;

// When the replay is over.
std::vector<series::LedgerSample> SamplesOf(const ProcessPass& pass);
// When `pass` has its ledger.
series::RunContext RunOf(const ProcessPass& pass, const ProcessOptions& options);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_RUN_H_
