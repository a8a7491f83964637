#include "analyzer/report/builder/rank_reports.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/work_on_threads.h"
#include "analyzer/reader/child_signals.h"
#include "analyzer/reader/process_tree.h"
#include "analyzer/report/builder/process_facts.h"

namespace plateau::report {
namespace {

using reader::RankSource;
using reader::TraceIdentity;

// Ranks when the processes in `launchers` are none, though they have a number.
std::vector<std::optional<size_t>> Assign(const reader::Recording& recording, const reader::ProcessTree& tree,
                                          const std::vector<TraceIdentity>& identities,
                                          const std::set<size_t>& launchers) {
  std::vector<std::optional<size_t>> rank_of(identities.size());
  std::map<uint32_t, size_t> by_pid;
  for (size_t i = 0; i < identities.size(); ++i) {  // parents come before their children
    if (launchers.contains(i)) continue;
    const TraceIdentity& mine = identities[i];
    const auto parent = tree.ParentOf(i);
    const std::optional<size_t> above = parent ? rank_of[*parent] : std::nullopt;
    rank_of[i] = above;
    if (!mine.rank.has_value()) continue;
    const bool is_inherited =
        above.has_value() && mine.rank_source <= identities[*above].rank_source &&
        (mine.rank == identities[*above].rank || mine.rank_source < identities[*above].rank_source);
    if (is_inherited) continue;
    // By exec a process becomes another program: `env`, a shell and the training are one attempt of one rank.
    const auto [place, is_new] = by_pid.try_emplace(recording.traces[i].header.pid, i);
    if (!is_new && identities[place->second].rank != mine.rank) place->second = i;
    rank_of[i] = place->second;
  }
  return rank_of;
}

// A process that starts ranks of other numbers, or of one that somebody knows better, is their launcher: torchrun under
// Slurm has the number of its task.
std::set<size_t> LaunchersIn(const reader::ProcessTree& tree,
                             const std::vector<std::optional<size_t>>& rank_of) {
  std::set<size_t> launchers;
  for (size_t i = 0; i < rank_of.size(); ++i) {
    if (rank_of[i] != i) continue;
    if (const auto parent = tree.ParentOf(i); parent && rank_of[*parent]) launchers.insert(*rank_of[*parent]);
  }
  return launchers;
}

struct Part {
  size_t speaker = 0;  // the last program of the process that is the rank: it knows most of its place
  std::vector<size_t> traces;
};

RankReport Analyze(const reader::Recording& recording, const Part& part, const TraceIdentity& who,
                   const BuildOptions& options) {
  RankReport report;
  report.has_rank = who.rank.has_value();
  report.rank = who.rank.value_or(0);
  report.attempt = who.attempt;
  report.world = who.world;
  report.local_rank = who.local_rank;
  report.host = who.host;
  report.pod = who.pod;
  report.job = who.job;
  report.group = who.group;
  report.code_version = who.code_version;
  reader::Recording own;
  own.path = recording.path;
  own.ending = recording.ending;
  for (const size_t trace : part.traces) own.traces.push_back(recording.traces[trace]);
  report.pid = own.traces.front().header.pid;
  const bool is_running = own.IsRunning();
  absl::StatusOr<ReportModel> model = BuildReport(own, options);
  if (!model.ok()) {
    report.soundness = absl::IsUnimplemented(model.status()) ? Soundness::kNewer : Soundness::kUnreadable;
    report.reason = std::string(model.status().message());
    return report;
  }
  report.model = *std::move(model);
  const Losses& losses = report.model.losses;
  if (losses.damaged_blocks + losses.damaged_headers + losses.missing_blocks > 0) {
    report.soundness = Soundness::kDamaged;
    report.reason = losses.messages.empty() ? "blocks of it are damaged" : losses.messages.front();
  } else if (is_running) {
    report.soundness = Soundness::kRunning;
    report.reason = "it is still being written: these are its numbers so far";
  } else if (report.model.steps.count == 0 && report.model.recording.events == 0) {
    report.soundness = Soundness::kEmpty;
    report.reason = "no event was recorded";
  }
  return report;
}

// A rank whose trace has no end was killed, or was stopped because another one was: its launcher knows. Of several traces
// with the launcher's number only those of its own machine count.
void SayWhoWasKilled(const reader::Recording& recording, const std::vector<TraceIdentity>& identities,
                     std::vector<RankReport>* ranks) {
  std::set<std::pair<std::string, int64_t>> launchers;  // of those that ended without a word
  std::vector<Process*> programs;
  std::vector<std::string> machines;
  for (RankReport& rank : *ranks) {
    Process* program = rank.LastProgram();
    if (program == nullptr || !HasNoEnding(*program)) continue;
    programs.push_back(program);
    machines.push_back(reader::MachineOf({.host = rank.host, .pod = rank.pod}));
    launchers.insert({machines.back(), program->parent_pid});
  }
  reader::ChildSignals signals;
  for (size_t i = 0; i < recording.traces.size(); ++i) {
    const reader::TraceFile& trace = recording.traces[i];
    const std::string machine = reader::MachineOf(identities[i]);
    if (!launchers.contains({machine, trace.header.pid})) continue;
    // One that cannot be read says nothing; it is counted elsewhere.
    reader::ReadChildSignals(trace.path, machine, &signals).IgnoreError();
  }
  for (size_t i = 0; i < programs.size(); ++i)
    programs[i]->ending = EndingWith(signals, machines[i], *programs[i]);
}

Soundness SoundnessOf(const absl::Status& status) {
  if (absl::IsUnimplemented(status)) return Soundness::kNewer;
  return absl::StrContains(status.message(), "no traces in this directory") ? Soundness::kEmpty
                                                                            : Soundness::kUnreadable;
}

}  // namespace

std::vector<std::optional<size_t>> RanksOf(const reader::Recording& recording,
                                           const std::vector<TraceIdentity>& identities) {
  const reader::ProcessTree tree(recording);
  std::set<size_t> launchers;
  while (true) {  // ends, because each round finds a launcher or nothing
    const auto rank_of = Assign(recording, tree, identities, launchers);
    const std::set<size_t> found = LaunchersIn(tree, rank_of);
    if (found.empty()) return rank_of;
    launchers.insert(found.begin(), found.end());
  }
}

RecordingReport BuildRankReports(const std::string& path, const BuildOptions& options, size_t threads) {
  RecordingReport report;
  report.path = path;
  const absl::StatusOr<reader::Recording> recording = reader::OpenRecording({path});
  if (!recording.ok()) {
    report.soundness = SoundnessOf(recording.status());
    report.reason = std::string(recording.status().message());
    return report;
  }
  report.trace_files = recording->traces.size();
  report.unreadable_files = recording->skipped.size();
  std::vector<TraceIdentity> identities;
  for (const reader::TraceFile& trace : recording->traces)
    identities.push_back(reader::ReadTraceIdentity(trace.path).value_or(TraceIdentity{}));
  const auto rank_of = RanksOf(*recording, identities);
  std::map<size_t, Part> by_root;
  for (size_t i = 0; i < rank_of.size(); ++i) {
    if (!rank_of[i]) continue;
    Part& part = by_root[*rank_of[i]];
    part.traces.push_back(i);
    if (recording->traces[i].header.pid == recording->traces[*rank_of[i]].header.pid && identities[i].rank)
      part.speaker = i;
  }
  std::vector<Part> parts;
  for (auto& [root, part] : by_root) parts.push_back(std::move(part));
  if (parts.empty()) {
    parts.emplace_back();
    for (size_t i = 0; i < rank_of.size(); ++i) parts[0].traces.push_back(i);
  }
  // Who does not say what it is was damaged: it may have been a rank.
  std::string nameless;
  for (size_t i = 0; i < rank_of.size() && !by_root.empty(); ++i) {
    if (rank_of[i] || !identities[i].role.empty()) continue;
    ++report.unreadable_files;
    nameless = absl::StrCat(recording->traces[i].path,
                            ": does not say which process it is of, so it may be a rank's");
  }
  report.other_processes = rank_of.size();
  for (const Part& part : parts) report.other_processes -= part.traces.size();

  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  threads = std::min(threads, parts.size());
  BuildOptions one = options;
  if (parts.size() > 1) one.process.threads = 1;
  report.ranks.resize(parts.size());
  std::atomic<size_t> next{0};
  WorkOnThreads(threads, [&](size_t) {
    for (size_t i = next++; i < parts.size(); i = next++)
      report.ranks[i] = Analyze(*recording, parts[i], identities[parts[i].speaker], one);
  });
  SayWhoWasKilled(*recording, identities, &report.ranks);
  // Attempts that nobody counted are told apart by the order of their start.
  std::stable_sort(report.ranks.begin(), report.ranks.end(), [](const RankReport& a, const RankReport& b) {
    return std::tuple(a.rank, a.attempt) < std::tuple(b.rank, b.attempt);
  });
  for (size_t i = 1; i < report.ranks.size(); ++i) {
    const RankReport& before = report.ranks[i - 1];
    if (before.rank == report.ranks[i].rank && report.ranks[i].attempt <= before.attempt)
      report.ranks[i].attempt = before.attempt + 1;
  }
  for (const RankReport& rank : report.ranks) {
    if (rank.soundness == Soundness::kOk || report.soundness != Soundness::kOk) continue;
    report.soundness = rank.soundness;
    report.reason = rank.reason;
  }
  if (report.unreadable_files > 0 && report.soundness == Soundness::kOk) {
    report.soundness = Soundness::kDamaged;
    report.reason = recording->skipped.empty() ? nameless : recording->skipped.front();
  }
  return report;
}

}  // namespace plateau::report
