// Which part of a job a trace is of: rank, attempt, host, job, groups, as launchers, schedulers and torch said it.
//
// Read from INFO records, which a process writes when it starts and when torch.distributed has told it its place; only
// the first blocks of a trace are looked at. Errors are those of TraceReader::Open().
#ifndef PLATEAU_ANALYZER_READER_TRACE_IDENTITY_H_
#define PLATEAU_ANALYZER_READER_TRACE_IDENTITY_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace plateau::reader {

// Who says a rank. A launcher of the training knows better than the scheduler that started the launcher.
enum class RankSource { kNone, kScheduler, kLauncher, kTorch };

struct TraceIdentity {
  std::optional<int> rank;
  RankSource rank_source = RankSource::kNone;
  std::optional<int> world;       // how many ranks the job has
  std::optional<int> local_rank;  // on its host
  int attempt = 0;                // of the launcher: how often the ranks were started again before
  std::string job;
  std::string host;
  std::string pod;
  std::string role;          // "main", "forked worker", "spawned worker", ...
  std::string command;       // without secrets
  std::string code_version;  // of the program, where somebody said one
  // Groups of parallelism: "dp=1/2 tp=0/2", in the words of a device mesh.
  std::string group;
};

// From the INFO records: `info` gives the last value of a key, "" when there is none.
TraceIdentity IdentityFrom(const std::function<std::string(const std::string& key)>& info);

absl::StatusOr<TraceIdentity> ReadTraceIdentity(const std::string& path);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_TRACE_IDENTITY_H_
