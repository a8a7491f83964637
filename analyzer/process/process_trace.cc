#include "analyzer/process/process_trace.h"

#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "analyzer/base/other_core.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/python_lines.h"

namespace plateau::process {
namespace {

replay::SiteTableOptions TableOptions(const replay::Definitions& definitions, replay::SiteRule rule,
                                      symbols::Symbolizer* symbolizer) {
  replay::SiteTableOptions options;
  options.rule = rule;
  options.main_program = definitions.Info("exe");
  options.python_line = [](const replay::CodeObject& code, uint32_t offset) {
    return symbols::PythonLine(code.python_version, static_cast<int>(code.first_line), code.line_table,
                               offset);
  };
  options.is_plumbing = [symbolizer](const replay::Module& module, uint64_t offset) {
    return symbols::IsLibraryPlumbing(symbolizer->SymbolAt(module.path, module.build_id, offset));
  };
  return options;
}

// Sites are found for the stacks that are merged already, where there are many and another core.
void MergeStacks(int threads, replay::Definitions* definitions, replay::SiteTable* sites) {
  constexpr size_t kNodesWorthAThread = 100'000;
  const bool has_other_core = threads != 1 && std::thread::hardware_concurrency() > 1;
  if (!has_other_core || definitions->nodes.size() < kNodesWorthAThread) return definitions->MergeStacks();
  replay::SettledNodes settled;
  std::jthread follower([&] { sites->Follow(settled); });
  const absl::Cleanup let_it_end = [&settled] { settled.Set(UINT32_MAX); };  // whatever happens here
  SendToOtherCore(follower.native_handle());
  definitions->MergeStacks(&settled);
}

}  // namespace

absl::StatusOr<ProcessTrace> ReadTrace(const std::string& path, reader::Check check, int threads,
                                       SymbolsAhead* ahead) {
  ProcessTrace trace;
  PLATEAU_ASSIGN_OR_RETURN(trace.reader, reader::TraceReader::Open(path, check));
  PLATEAU_ASSIGN_OR_RETURN(trace.definitions,
                           replay::CollectDefinitions(
                               *trace.reader, threads, [ahead](const auto& known) { ahead->Read(known); },
                               replay::MergeStacks::kLater));
  return trace;
}

ProcessSites MakeSites(ProcessTrace* trace, replay::SiteRule rule, int threads,
                       symbols::Symbolizer* symbolizer) {
  replay::Definitions& definitions = trace->definitions;
  ProcessSites sites;
  sites.table =
      std::make_unique<replay::SiteTable>(&definitions, TableOptions(definitions, rule, symbolizer));
  MergeStacks(threads, &definitions, sites.table.get());
  sites.names = std::make_unique<FrameNames>(&definitions, symbolizer);
  return sites;
}

}  // namespace plateau::process
