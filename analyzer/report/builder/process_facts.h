// What a trace says about its process: role, rank, how it ended, and what could not be recorded.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_FACTS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/reader/child_signals.h"
#include "analyzer/reader/trace_identity.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

Process FactsOf(const process::ProcessAnalysis& process, double recording_start_seconds);
// Its place in a job: rank, attempt, groups of parallelism.
reader::TraceIdentity IdentityOf(const replay::Definitions& definitions);
// "ended in order", "killed or still running", "exit 3", as far as the trace knows.
std::string EndingOf(const process::ProcessAnalysis& process);
// Its trace does not know.
bool HasNoEnding(const Process& process);
// How it ended, with what the process that waited for it noted.
std::string EndingWith(const reader::ChildSignals& signals, const std::string& machine,
                       const Process& process);
// "/usr/bin/python3 train.py": the command line, its zero bytes made spaces.
std::string CommandOf(const replay::Definitions& definitions);
// "malloc", "mmap", "pymalloc", "torch", "cuda".
std::vector<std::string> SourcesOf(const process::ProcessAnalysis& process);
// Which levels were armed, and why another was not: {"torch", "ranges armed: ..."}.
std::vector<std::pair<std::string, std::string>> LevelsOf(const process::ProcessAnalysis& process);
// Of a recording that began while its program ran.
std::optional<Attached> AttachedOf(const process::ProcessAnalysis& process);
std::vector<LedgerReading> LedgerOf(const process::ProcessAnalysis& process);

Steps StepsOf(const series::StepClock& clock);
std::vector<Phase> PhasesOf(const process::ProcessAnalysis& process);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_PROCESS_FACTS_H_
