#include "analyzer/report/builder/build_report.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "analyzer/base/whole_number.h"
#include "analyzer/base/work_on_threads.h"
#include "analyzer/process/forked_worker.h"
#include "analyzer/process/queue/process_queue.h"
#include "analyzer/reader/child_signals.h"
#include "analyzer/reader/process_tree.h"
#include "analyzer/report/builder/device_facts.h"
#include "analyzer/report/builder/last_minutes.h"
#include "analyzer/report/builder/process_facts.h"
#include "analyzer/report/builder/process_headline.h"
#include "analyzer/report/builder/rank_table.h"
#include "analyzer/report/builder/report_rows.h"
#include "analyzer/report/builder/sampling_notes.h"

namespace plateau::report {
namespace {

// With a number of threads that was given, no more than these work.
process::Lanes LanesFor(const reader::Recording& recording, const BuildOptions& options) {
  std::vector<uint64_t> bytes;
  for (const reader::TraceFile& trace : recording.traces) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(trace.path, error);
    bytes.push_back(error ? 0 : size);
  }
  const int threads = options.process.threads;
  process::Lanes lanes = process::PlanLanes(
      std::move(bytes), threads > 0 ? static_cast<size_t>(threads) : std::thread::hardware_concurrency());
  if (lanes.count == 1) lanes.threads = threads;
  return lanes;
}

class ReportBuilder {
 public:
  ReportBuilder(const reader::Recording& recording, const BuildOptions& options)
      : tree_(recording),
        recording_(recording),
        options_(options),
        rows_(options, &model_),
        ranks_(recording, tree_),
        lanes_(LanesFor(recording, options)) {}

  absl::StatusOr<ReportModel> Run() {
    absl::Status last_error =
        absl::FailedPreconditionError(absl::StrCat(recording_.path, ": no traces in it"));
    AnalyzeWorkers();
    process::ProcessQueue queue(recording_.traces.size(), tree_, options_.sysroot, lanes_,
                                [this](size_t i, int threads, symbols::Symbolizer* symbolizer) {
                                  return Analyze(i, threads, symbolizer);
                                });
    for (size_t i = 0; i < recording_.traces.size(); ++i) {
      process::Analyzed process = queue.Take(i);
      if (process.ok()) {
        AddProcess(i, **process);
        KeepMarks(i, process->get());
      } else {
        last_error = process.status();
        ++unread_;
        notes_.push_back(std::string(process.status().message()));
      }
      process = absl::UnknownError("done");
      queue.Done(i);
    }
    if (headlines_.empty()) return last_error;
    Finish(queue.Problems());
    return std::move(model_);
  }

 private:
  // Forked workers come first: what they copy of their parent's pages belongs to the parent's verdict. Of
  // each only that is kept; however many there are, as many as there are lanes are in memory at a time.
  void AnalyzeWorkers() {
    absl::flat_hash_set<uint32_t> pids;
    for (const reader::TraceFile& trace : recording_.traces) pids.insert(trace.header.pid);
    std::vector<std::optional<process::ForkedWorker>> read(recording_.traces.size());
    std::atomic<size_t> next{0};
    WorkOnThreads(lanes_.count, [&](size_t) {
      for (size_t i = next++; i < read.size(); i = next++) {
        const reader::TraceFile& trace = recording_.traces[i];
        if (!pids.contains(trace.header.parent_pid)) continue;
        auto worker = process::ReadWorker(trace.path, lanes_.count > 1 ? 1 : options_.process.threads);
        if (worker.ok()) read[i] = *std::move(worker);
      }
    });
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i].has_value())
        workers_[recording_.traces[i].header.parent_pid].push_back(*std::move(read[i]));
    }
  }

  // Those whom a process started began later, so they come later.
  void KeepMarks(size_t index, process::ProcessAnalysis* process) {
    const bool trains = process->clock.steps.step_count() > 0 && !process->clock.is_of_parent;
    if (!trains || !tree_.HasChildren(index)) return;
    const std::lock_guard lock(marks_mutex_);
    marks_[index] = std::move(process->trace.definitions.marks);
  }

  // The marks of the nearest process above that trains: workers may be forked, spawned, or started by a server.
  std::vector<replay::TimedMark> MarksAbove(size_t index) {
    const std::lock_guard lock(marks_mutex_);
    for (auto above = tree_.ParentOf(index); above.has_value(); above = tree_.ParentOf(*above)) {
      if (const auto found = marks_.find(*above); found != marks_.end()) return found->second;
    }
    return {};
  }

  // On any thread: changes nothing here.
  process::Analyzed Analyze(size_t index, int threads, symbols::Symbolizer* symbolizer) {
    const reader::TraceFile& trace = recording_.traces[index];
    process::ProcessOptions options = options_.process;
    if (const auto found = workers_.find(trace.header.pid); found != workers_.end())
      options.workers = found->second;
    options.parent_marks = MarksAbove(index);
    if (lanes_.count > 1) options.threads = threads;
    return process::AnalyzeProcess(trace.path, options, symbolizer);
  }

  void AddProcess(size_t index, const process::ProcessAnalysis& process) {
    if (headlines_.empty())
      start_seconds_ = static_cast<double>(process.trace.reader->header().start_realtime_ns) * 1e-9;
    model_.processes.push_back(FactsOf(process, start_seconds_));
    headlines_.push_back(HeadlineOf(process));
    headlines_.back().begin_seconds = model_.processes.back().start_seconds;
    headlines_.back().end_seconds = model_.processes.back().end_seconds;
    ranks_.Add(index, process, model_.processes.back(), headlines_.back());
    machines_.push_back(reader::MachineOf(IdentityOf(process.trace.definitions)));
    for (const auto& [key, value] : process.trace.definitions.infos)
      reader::AddChildSignal(machines_.back(), model_.processes.back().pid, key, value, &child_signals_);
    AddRefusals(process);
    rows_.Add(process, headlines_.size() - 1);
    AddLosses(process);
    const auto shares = process.memory.breakdown.Shares();
    for (size_t i = 0; i < series::kHeldAs && !process.IsGone(); ++i) {
      breakdown_[i].bytes += shares[i].bytes;
      breakdown_[i].count += shares[i].count;
    }
    model_.recording.events += process.memory.heap.events;
    model_.recording.trace_bytes += process.trace.definitions.summary.file_bytes;
    ++model_.recording.trace_files;
    for (const std::string& source : SourcesOf(process)) sources_.insert(source);
    AddSamplingNotes(process, &model_.recording, &notes_);
  }

  // Requests for device memory that were refused.
  void AddRefusals(const process::ProcessAnalysis& process) {
    for (OutOfMemory& refusal : RefusalsOf(process)) model_.out_of_memory.push_back(std::move(refusal));
    model_.out_of_memory_count +=
        static_cast<int64_t>(process.memory.device_summary->ledger().out_of_memory_count());
  }

  void AddLosses(const process::ProcessAnalysis& process) {
    const reader::ReadSummary& summary = process.trace.definitions.summary;
    Losses& losses = model_.losses;
    losses.dropped_events += summary.TotalDroppedEvents();
    losses.dropped_bytes += summary.TotalDroppedBytes();
    losses.unknown_frees += process.memory.heap.unknown_frees;
    losses.damaged_blocks += summary.damaged_blocks + summary.damaged_records;
    losses.damaged_bytes += summary.damaged_bytes;
    losses.missing_blocks += summary.gap_blocks;
    losses.damaged_headers += summary.header_damaged ? 1 : 0;
    losses.skipped_records += summary.unknown_records;
    for (const std::string& sentence : summary.Sentences()) {
      losses.messages.push_back(absl::StrCat(process.trace.reader->path(), ": ", sentence));
    }
    for (const std::string& note : summary.notes) losses.messages.push_back(note);
  }

  void Finish(const std::vector<std::string>& problems) {
    const size_t chosen = ChooseHeadline(headlines_);
    ProcessHeadline& headline = headlines_[chosen];
    NameWhatWorkersKeep(headlines_, &headline);
    RefuseAllClear(unread_, &headline);
    if (headline.is_worker) {
      SayInAWorker(&headline);
      AddSentence(WhichWorker(headlines_, chosen), &headline.words);
    }
    AddSentence(WhoElseGrows(headlines_, chosen), &headline.words);
    SayHowTheyEnded();
    AddSentence(ranks_.Finish(model_.processes, &model_.ranks), &headline.words);
    model_.tool_version = PLATEAU_VERSION;
    MoveIntoModel(&headline, &model_);
    rows_.Finish(chosen);
    AddBreakdown();
    DescribeRecording(chosen);
    for (const std::string& problem : problems)
      model_.recording.notes.push_back(absl::StrCat("no symbols: ", problem));
    if (!options_.with_stacks) model_.stacks.clear();
    SortSites(model_);
    if (options_.with_details) rows_.AddExcerpts();
    model_.last_minutes = LastMinutesOf(model_);
  }

  // Those that left no word: they became another program, or a signal ended them.
  void SayHowTheyEnded() {
    std::set<std::pair<std::string, int64_t>> later;
    for (size_t i = model_.processes.size(); i > 0; --i) {
      Process& process = model_.processes[i - 1];
      const bool is_last = later.insert({machines_[i - 1], process.pid}).second;
      if (!HasNoEnding(process)) continue;
      process.ending =
          is_last ? EndingWith(child_signals_, machines_[i - 1], process) : "became another program";
    }
  }

  // Only when there is something to tell apart. "other" takes the rounding, so that the shares add up.
  void AddBreakdown() {
    constexpr size_t kOther = static_cast<size_t>(series::HeldAs::kOther);
    int64_t rest = model_.totals.retained_bytes;
    for (size_t i = 0; i < series::kHeldAs; ++i) {
      const int64_t bytes = Round(breakdown_[i].bytes);
      if (i == kOther || bytes == 0) continue;
      const auto category = static_cast<series::HeldAs>(i);
      model_.breakdown.push_back({std::string(series::HeldAsName(category)), bytes,
                                  Round(breakdown_[i].count), std::string(series::HeldAsRule(category))});
      rest -= bytes;
    }
    if (model_.breakdown.empty()) return;
    model_.breakdown.push_back({std::string(series::HeldAsName(series::HeldAs::kOther)), rest,
                                Round(breakdown_[kOther].count),
                                std::string(series::HeldAsRule(series::HeldAs::kOther))});
  }

  void DescribeRecording(size_t chosen) {
    const ProcessHeadline& h = headlines_[chosen];
    RecordingInfo& r = model_.recording;
    r.path = recording_.path;
    r.command = headlines_[TitleProcess(headlines_, chosen)].command;
    r.mode = IsExact(h.header) ? "exact" : "default";
    r.sample_bytes = IsExact(h.header) ? 0 : h.header.sample_bytes;
    r.exact_from_bytes = h.header.exact_from_bytes;
    r.started_utc = absl::FormatTime(
        "%Y-%m-%dT%H:%M:%SZ",
        absl::FromUnixNanos(static_cast<int64_t>(headlines_.front().header.start_realtime_ns)),
        absl::UTCTimeZone());
    for (const Process& process : model_.processes)
      r.duration_seconds = std::max(r.duration_seconds, process.end_seconds);
    r.ending = recording_.ending.empty() ? headlines_.front().ending : recording_.ending;
    r.sources.assign(sources_.begin(), sources_.end());
    r.environment = h.environment;
    r.levels = h.levels;
    // A worker that speaks for the recording was forked later, and the recording was attached all the same.
    for (size_t i = 0; i < headlines_.size() && !model_.attached; ++i)
      model_.attached = headlines_[i].attached;
    if (!h.clock_sentence.empty()) r.notes.push_back(h.clock_sentence);
    r.notes.insert(r.notes.end(), notes_.begin(), notes_.end());
    model_.losses.unreadable_files = recording_.skipped.size();
    for (const std::string& sentence : recording_.skipped) model_.losses.messages.push_back(sentence);
  }

  absl::flat_hash_map<uint32_t, std::vector<process::ForkedWorker>> workers_;  // by the pid of their parent
  reader::ProcessTree tree_;
  std::mutex marks_mutex_;
  absl::flat_hash_map<size_t, std::vector<replay::TimedMark>>
      marks_;  // of those that train and have children, by trace
  const reader::Recording& recording_;
  const BuildOptions& options_;
  ReportModel model_;
  ReportRows rows_;
  RankTable ranks_;
  std::vector<std::string> machines_;  // of each process
  reader::ChildSignals child_signals_;
  const process::Lanes lanes_;
  std::vector<ProcessHeadline> headlines_;
  size_t unread_ = 0;  // traces that could not be analyzed
  std::vector<std::string> notes_;
  std::set<std::string> sources_;
  double start_seconds_ = 0;
  std::array<series::BreakdownShare, series::kHeldAs> breakdown_{};
};

}  // namespace

absl::StatusOr<ReportModel> BuildReport(const reader::Recording& recording, const BuildOptions& options) {
  // What a killed run did last is read from the curves of its sites.
  BuildOptions wanted = options;
  wanted.with_details = options.with_details || WasKilled(recording.ending);
  return ReportBuilder(recording, wanted).Run();
}

}  // namespace plateau::report
