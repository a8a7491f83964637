// What a recording says of one rank of a job, or why it says nothing.
#ifndef PLATEAU_ANALYZER_REPORT_RANK_REPORT_H_
#define PLATEAU_ANALYZER_REPORT_RANK_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

// The state of a recording, or of a rank in it: whether its rows can be relied on.
enum class Soundness { kOk, kRunning, kDamaged, kEmpty, kNewer, kUnreadable };
inline const char* SoundnessName(Soundness soundness) {
  constexpr const char* kNames[] = {"ok", "running", "damaged", "empty", "newer", "unreadable"};
  return kNames[static_cast<int>(soundness)];
}

struct RankReport {
  int rank = 0;
  bool has_rank = false;  // else the whole recording counts as rank 0
  int attempt = 0;        // a rank that was started again has several
  std::optional<int> world;
  std::optional<int> local_rank;
  int64_t pid = 0;
  std::string host;
  std::string pod;
  std::string job;           // as its scheduler or launcher names it; may be empty
  std::string group;         // "dp=1/2 tp=0/2"
  std::string code_version;  // of the program, where somebody said one
  Soundness soundness = Soundness::kOk;
  std::string reason;  // one sentence where it is not kOk
  ReportModel model;   // of this rank and the processes under it; empty where nothing could be analysed

  // The program that its process was at the end: by exec it becomes another. Null where nothing could be analysed.
  Process* LastProgram() {
    Process* last = nullptr;
    for (Process& process : model.processes) last = process.pid == pid ? &process : last;
    return last;
  }
  const Process* LastProgram() const { return const_cast<RankReport*>(this)->LastProgram(); }
};

// One recording, as ranks.
struct RecordingReport {
  std::string path;
  Soundness soundness = Soundness::kOk;
  std::string reason;
  std::vector<RankReport> ranks;  // by rank, then by attempt
  uint64_t trace_files = 0;
  uint64_t other_processes = 0;  // launchers and helpers: of no rank
  uint64_t unreadable_files = 0;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_RANK_REPORT_H_
