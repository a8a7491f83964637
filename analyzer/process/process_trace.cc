#include "analyzer/process/process_trace.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/installed_packages.h"
#include "analyzer/symbols/python_lines.h"

namespace plateau::process {
namespace {

// "python\0-u\0-c\0import torch; ...\0": whether an interpreter was given its program as an argument.
bool IsProgramInCommand(const std::string& command) {
  const std::vector<absl::string_view> words = absl::StrSplit(command, '\0');
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-c") return true;
    const bool is_option = absl::StartsWith(words[i], "-");
    const bool has_value = i > 1 && (words[i - 1] == "-W" || words[i - 1] == "-X");
    if (!is_option && !has_value) return false;
  }
  return false;
}

// Whether nothing at that address is the program's own: a lambda that was inlined into std::function's call is.
bool IsPlumbing(symbols::Symbolizer* symbolizer, const replay::Module& module, uint64_t offset) {
  if (!symbols::IsLibraryPlumbing(symbolizer->SymbolAt(module.path, module.build_id, offset))) return false;
  const std::vector<symbols::SourceFrame>& frames = symbolizer->Resolve(module.path, module.build_id, offset);
  return std::all_of(frames.begin(), frames.end(), [](const symbols::SourceFrame& frame) {
    return frame.file.empty() || absl::StartsWith(frame.file, "/usr/include/") ||
           absl::StrContains(frame.file, "/include/c++/");
  });
}

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
    return IsPlumbing(symbolizer, module, offset);
  };
  options.is_installed = [packages = std::make_shared<symbols::InstalledPackages>(),
                          sysroot = symbolizer->sysroot()](const std::string& path) {
    return packages->Has(sysroot.Find(path));
  };
  options.is_program_in_command = IsProgramInCommand(definitions.Info("cmdline"));
  return options;
}

UnreadMemory LeaveOutUnread(std::vector<replay::TimedLedger>* ledger) {
  UnreadMemory unread;
  const auto is_unread = [](const replay::TimedLedger& reading) {
    return !reading.fields.contains(trace::LedgerField::kRssAnonBytes);
  };
  const auto first = std::find_if(ledger->begin(), ledger->end(), is_unread);
  if (first == ledger->end()) return unread;
  unread.first_tsc = first->tsc;
  unread.readings = std::erase_if(*ledger, is_unread);
  return unread;
}

}  // namespace

absl::StatusOr<ProcessTrace> ReadTrace(const std::string& path, reader::Check check, int threads,
                                       SymbolsAhead* ahead) {
  ProcessTrace trace;
  PLATEAU_ASSIGN_OR_RETURN(trace.reader, reader::TraceReader::Open(path, check));
  const auto read_symbols = [ahead](const replay::Definitions& known) { ahead->Read(known); };
  PLATEAU_ASSIGN_OR_RETURN(trace.definitions,
                           replay::CollectDefinitions(*trace.reader, threads, read_symbols));
  trace.unread_memory = LeaveOutUnread(&trace.definitions.ledger);
  return trace;
}

ProcessSites MakeSites(const ProcessTrace& trace, replay::SiteRule rule, symbols::Symbolizer* symbolizer) {
  const replay::Definitions& definitions = trace.definitions;
  ProcessSites sites;
  sites.table =
      std::make_unique<replay::SiteTable>(&definitions, TableOptions(definitions, rule, symbolizer));
  sites.names = std::make_unique<FrameNames>(&definitions, symbolizer);
  return sites;
}

}  // namespace plateau::process
