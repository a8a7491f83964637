// The first stage: what a trace says about its process before any event is replayed.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_TRACE_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/process/names/frame_names.h"
#include "analyzer/process/names/symbols_ahead.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/site_table.h"
#include "analyzer/symbols/symbolizer.h"

namespace plateau::process {

// Readings of the ledger in which the resident memory is missing, because the process may not read it any more (a filter
// of system calls, a hidden /proc). They say nothing of memory; taken for numbers they would say that all of it is gone.
struct UnreadMemory {
  size_t readings = 0;
  uint64_t first_tsc = 0;
};

struct ProcessTrace {
  std::unique_ptr<reader::TraceReader> reader;
  replay::Definitions definitions;  // modules, stacks, marks, readings of the ledger, damage
  UnreadMemory unread_memory;       // readings that `definitions` does not have any more

  double Seconds(uint64_t tsc) const { return reader->SecondsSinceStart(tsc); }
};

// Which call stacks belong to which site, and what people call them. The replay adds sites as it meets them.
struct ProcessSites {
  std::unique_ptr<replay::SiteTable> table;
  std::unique_ptr<FrameNames> names;

  size_t count() const { return table->sites().size(); }
  replay::Pool pool(size_t site) const { return table->sites()[site].pool; }
  // Whether the site's frame is the user's own code.
  bool IsUsers(size_t site) const {
    return table->OwnerOf(table->sites()[site].location) == replay::SiteTable::Owner::kUser;
  }
  bool IsOfDevice(size_t site) const { return static_cast<size_t>(pool(site)) >= replay::kPools; }
};

// Opens the trace and reads all definitions; symbols of the modules that matter are read by `ahead` meanwhile.
// Fails only when the file cannot be read; damage inside it is in `definitions.summary`.
absl::StatusOr<ProcessTrace> ReadTrace(const std::string& path, reader::Check check, int threads,
                                       SymbolsAhead* ahead);

// `trace` and `symbolizer` must outlive the result and stay where they are.
ProcessSites MakeSites(const ProcessTrace& trace, replay::SiteRule rule, symbols::Symbolizer* symbolizer);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_TRACE_H_
