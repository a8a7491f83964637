// Reads symbols that a report will need on threads of its own, while the trace is still being read.
#ifndef PLATEAU_ANALYZER_PROCESS_NAMES_SYMBOLS_AHEAD_H_
#define PLATEAU_ANALYZER_PROCESS_NAMES_SYMBOLS_AHEAD_H_

#include <thread>
#include <vector>

#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/symbols/symbolizer.h"

namespace plateau::process {

// The destructor waits for what was begun. Not thread-safe, but the calls may come from different threads.
class SymbolsAhead {
 public:
  explicit SymbolsAhead(symbols::Symbolizer* symbolizer) : symbolizer_(*symbolizer) {}

  // Begins to read those of the few modules with the most call sites: names in them will be needed.
  void Read(const replay::Definitions& definitions);

  // Begins with no other module from now on.
  void Stop();

 private:
  symbols::Symbolizer& symbolizer_;
  std::vector<std::jthread> readers_;
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_NAMES_SYMBOLS_AHEAD_H_
