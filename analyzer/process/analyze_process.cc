#include "analyzer/process/analyze_process.h"

#include <utility>

#include "analyzer/base/status_macros.h"
#include "analyzer/process/judge_process.h"
#include "analyzer/process/names/symbols_ahead.h"

namespace plateau::process {
namespace {

absl::StatusOr<std::unique_ptr<ProcessAnalysis>> Analyze(const std::string& path, reader::Check check,
                                                         const ProcessOptions& options,
                                                         symbols::Symbolizer* symbolizer) {
  auto analysis = std::make_unique<ProcessAnalysis>();
  ProcessAnalysis& a = *analysis;

  // Read what the trace defines: modules, call stacks (equal ones are merged), marks, readings of the ledger.
  // Symbols of the modules that are called most are read at the same time.
  SymbolsAhead ahead(symbolizer);
  PLATEAU_ASSIGN_OR_RETURN(a.trace, ReadTrace(path, check, options.threads, &ahead));

  // Prepare to find the frame that a reader would blame for each call stack, and its name.
  a.sites = MakeSites(a.trace, options.site_rule, symbolizer);

  // Find the steps, epochs and phases by which everything is counted.
  a.clock = BuildClock(a.trace, options.parent_marks, a.sites.names.get(), options.threads);

  // Replay every event of heap and devices: who holds how much, in which step it was allocated and freed.
  a.memory = ReplayMemory(a.clock, options.workers, options.threads, &a.trace, &a.sites);
  ahead.Stop();

  // Sum up the rows, one per call stack, and find those that matter.
  a.rows = DigestRows(a.memory, a.sites, options.threads);

  // Set the readings of the ledger against the replay; say how long the run was and what limits it.
  a.run = DescribeRun(a.trace, a.clock, a.memory, options.known);

  // Tie the references that walks found to the sites whose bytes they keep alive.
  a.holders = FindHolders(a.trace, a.clock, a.memory, &a.sites);

  // Judge every site, every pool and the process; test the hypotheses and match the known patterns.
  a.verdicts = JudgeProcess(a.trace, a.sites, a.clock, a.memory, a.rows, a.run, a.holders, options.workers);
  return analysis;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessAnalysis>> AnalyzeProcess(const std::string& path,
                                                                const ProcessOptions& options,
                                                                symbols::Symbolizer* symbolizer) {
  PLATEAU_ASSIGN_OR_RETURN(auto analysis, Analyze(path, reader::Check::kWhenLoaded, options, symbolizer));
  if (!analysis->trace.reader->has_unsound_block()) return analysis;
  // A block turned out to be damaged: begin again, with the care that finds what is left around the damage.
  analysis.reset();
  return Analyze(path, reader::Check::kNow, options, symbolizer);
}

}  // namespace plateau::process
