#include "analyzer/process/forked_worker.h"

#include <algorithm>

#include "analyzer/base/status_macros.h"
#include "analyzer/process/ledger_samples.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"

namespace plateau::process {

using trace::LedgerField;

absl::StatusOr<std::optional<ForkedWorker>> ReadWorker(const std::string& path, int threads) {
  PLATEAU_ASSIGN_OR_RETURN(const auto reader, reader::TraceReader::Open(path));
  PLATEAU_ASSIGN_OR_RETURN(const replay::Definitions definitions,
                           replay::CollectDefinitions(*reader, threads));
  if (definitions.Info("role") != "forked worker") return std::nullopt;
  ForkedWorker forked;
  forked.fork_tsc = reader->header().start_tsc;
  forked.copied_pages = definitions.copied_pages;
  series::WorkerSeries& worker = forked.memory;
  worker.pid = static_cast<int>(reader->header().pid);
  worker.begin_time = forked.fork_tsc;
  worker.end_time = definitions.last_tsc;
  const auto tells = [](const replay::TimedLedger& reading) {
    return reading.fields.contains(LedgerField::kPrivateDirtyBytes);
  };
  if (std::none_of(definitions.ledger.begin(), definitions.ledger.end(), tells)) return forked;

  replay::ReplayOptions options;
  options.threads = threads;
  options.site_of = [](replay::Pool, uint32_t) { return 0u; };
  const replay::ReplayResult replayed = replay::ReplayHeap(*reader, definitions, options);
  for (size_t i = 0; i < definitions.ledger.size(); ++i) {
    const replay::TimedLedger& reading = definitions.ledger[i];
    if (!tells(reading)) continue;
    if (worker.private_bytes.empty()) {
      worker.shared_at_fork_bytes = LedgerValue(reading, LedgerField::kSharedBytes);
    }
    worker.private_bytes.push_back(std::max(0.0, LedgerValue(reading, LedgerField::kPrivateDirtyBytes) -
                                                     LedgerValue(reading, LedgerField::kOwnBytes)));
    worker.live_bytes.push_back(HeapBytes(replayed.ledger[i]) + MappedBytes(replayed.ledger[i]));
  }
  return forked;
}

}  // namespace plateau::process
