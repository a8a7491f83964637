// The first pass over a trace: everything that is not an allocation. Names of modules and code objects, the
// stack tree, threads, marks, ledger readings, changes of the sampling rate.
//
// A definition may stand in another thread's block than its first use, and a kill may have left it in a ring
// slot: so all definitions are collected before any event is replayed. Blocks are read on all cores; the
// result does not depend on the order in which they were. A block whose header says that it has events of
// the heap alone is not read: its damage is left to the second pass.
//
// Memory: definitions, marks and ledger readings; no events. Immutable after CollectDefinitions().
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_DEFINITIONS_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_DEFINITIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/holder_log.h"
#include "analyzer/replay/definitions/stack_nodes.h"
#include "preload/trace/record.h"

namespace plateau::replay {

struct Module {
  uint64_t base = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  std::string path;      // empty: never defined
  std::string build_id;  // raw bytes
};

struct CodeObject {
  uint16_t python_version = 0;
  uint32_t first_line = 0;
  std::string file;
  std::string name;
  std::string line_table;
  std::string loops;  // as recorded; empty: not known
};

struct Location {
  enum class Kind : uint8_t { kUnknown, kNative, kPython };
  Kind kind = Kind::kUnknown;
  uint32_t owner = 0;   // module or code id
  uint64_t offset = 0;  // within the module, or into the bytecode
};

struct ThreadInfo {
  uint32_t stream = 0;
  uint32_t thread_id = 0;
  std::string name;
  uint64_t start_tsc = 0;
  uint32_t creator_stack = 0;  // of whoever started it; 0: not known
  uint64_t end_tsc = 0;        // 0: it did not end, as far as was recorded
};

// Groups of steps whose marks the recording left out to keep its size limit.
struct LeftOutMarks {
  uint64_t groups = 0;
  uint64_t groups_drawn = 0;  // fewer when a damaged trace, or millions of steps, would make too many marks
};

struct TimedMark {
  uint64_t tsc;
  uint32_t stream;
  trace::MarkKind kind;
  trace::MarkSource source;
  uint64_t value;
  std::string name;
};

struct TimedLedger {
  uint64_t tsc;
  std::map<trace::LedgerField, uint64_t> fields;
};

struct TimedRate {
  uint64_t tsc;
  trace::RateRecord rate;
};

struct TimedResidency {
  uint64_t tsc;
  trace::ResidencyRecord region;
};

// Pages number `first` to `first + count - 1`, of trace::kCopiedPageBytes each.
struct PageRun {
  uint64_t first;
  uint64_t count;
};

struct TimedAttach {
  uint64_t tsc;
  trace::AttachRecord attach;
};

struct Definitions {
  StackNodes nodes;                 // those of equal paths are merged
  std::vector<Location> locations;  // by location id
  std::vector<Module> modules;      // by module id
  std::vector<CodeObject> codes;    // by code id
  std::vector<ThreadInfo> threads;  // by stream
  std::vector<TimedMark> marks;     // by time, with those that were left out
  LeftOutMarks left_out_marks;
  std::vector<TimedLedger> ledger;                         // by time
  std::vector<TimedRate> rates;                            // by time
  std::vector<std::pair<std::string, std::string>> infos;  // in the order of the streams
  std::vector<TimedResidency> residency;                   // by time
  HolderLog holders;
  std::optional<TimedAttach> attach;  // the recording began while the program ran
  std::vector<uint32_t> fork_children;
  std::vector<PageRun> copied_pages;  // of a forked child: no longer shared with its parent; ascending, apart
  absl::flat_hash_set<uint64_t>
      pymalloc_granules;  // address / kArenaGranuleBytes of what pymalloc handed out
  uint64_t first_tsc = 0;
  uint64_t last_tsc = 0;
  uint64_t event_count = 0;     // about: of a block that was not read, its records
  reader::ReadSummary summary;  // the reader's, with records counted

  static constexpr uint64_t kArenaGranuleBytes = 256 * 1024;

  uint32_t Canonical(uint32_t node) const { return nodes.Canonical(node); }
  // The value of the first info record with that key, or "".
  const std::string& Info(const std::string& key) const;
};

// Called, by one thread at a time, when the first modules and locations are there, and again when all of them
// are: what they are made of can be looked up while the rest is read. Never when there is but one core.
using LocatedFunction = std::function<void(const Definitions&)>;

// With 0 `threads` there are as many as the machine has.
absl::StatusOr<Definitions> CollectDefinitions(const reader::TraceReader& reader, int threads = 0,
                                               const LocatedFunction& on_located = nullptr);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_DEFINITIONS_H_
