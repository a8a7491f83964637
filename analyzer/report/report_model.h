// Everything a report says, as plain data: the one source of the card, the tables, JSON, HTML and every
// exporter.
//
// Filled once by the analysis and then only read. Holds no pointers into other objects, so a model may be
// copied, kept after the recording is closed, and built by hand in a test.
//
// Bytes are signed: a leftover that corrects a sampled estimate may be below zero. What must hold, and what
// CheckTotals() verifies:
//
//   sum of sites[].X + sum of leftovers[].X == totals.X     for X in retained, peak, temporary, allocated
//   sum of stacks[].X                       == totals.X     (bytes and counts)
//
// Steps are training steps counted from 1; step 0 is what came before the first one. When a recording has no
// steps the clock is a time bucket and `steps.source` says so.
#ifndef PLATEAU_ANALYZER_REPORT_REPORT_MODEL_H_
#define PLATEAU_ANALYZER_REPORT_REPORT_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/model_devices.h"
#include "analyzer/report/model_memory.h"
#include "analyzer/report/model_sites.h"
#include "analyzer/report/model_verdict.h"
#include "analyzer/report/rank_summary.h"
#include "analyzer/symbols/frame.h"

namespace plateau::report {

// How the recording was made and how much of it could be read.
struct RecordingInfo {
  std::string path;
  std::string command;            // as started, joined with spaces
  std::string mode = "default";   // "default" (sampled below exact_from_bytes) or "exact"
  uint64_t sample_bytes = 0;      // mean distance between samples; 0 in exact mode
  uint64_t exact_from_bytes = 0;  // requests of this size or more are always recorded
  // The same of Python's small objects, which exact mode samples too; 0: there were none, or each is there.
  uint64_t python_sample_bytes = 0;
  std::string started_utc;  // ISO 8601
  double duration_seconds = 0;
  std::string ending;  // "exit 0", "signal 9", "still running"
  uint64_t trace_bytes = 0;
  uint64_t trace_files = 0;
  uint64_t events = 0;
  // From then on a trace in exact mode was sampled, to keep the size limit; the first of all traces.
  std::optional<double> sampled_from_seconds;
  // From then on a trace had no room for events and holds totals of its sites; the first of all traces.
  std::optional<double> totals_only_from_seconds;
  std::vector<std::string> sources;  // "malloc", "mmap", "pymalloc", "torch", "cuda runtime", ...
  std::vector<std::string> notes;    // coarsened sampling, missing symbols, ...; one sentence each
  std::vector<std::pair<std::string, std::string>> environment;  // host, kernel, python, torch, ...
  // "python", "torch", "cuda": what of it was traced, or why not; one sentence each.
  std::vector<std::pair<std::string, std::string>> levels;
};

// Not recorded (drops) and recorded but unreadable (damage).
struct Losses {
  uint64_t dropped_events = 0;
  uint64_t dropped_bytes = 0;
  uint64_t unknown_frees = 0;
  uint64_t damaged_blocks = 0;
  uint64_t damaged_bytes = 0;
  uint64_t missing_blocks = 0;    // their numbers are absent from the file
  uint64_t damaged_headers = 0;   // files whose settings may be wrong
  uint64_t skipped_records = 0;   // kinds this version does not know
  uint64_t unreadable_files = 0;  // named as traces; nothing of them could be read
  std::vector<std::string> messages;
};

struct Steps {
  int64_t count = 0;
  std::string source;     // "optimizer", "marks", "dataloader", "time buckets", ...
  std::string loop;       // whose rounds they are: "train.py:21, seen in stacks"; else empty
  double confidence = 1;  // 0..1
  std::optional<double> steps_per_epoch;
  std::vector<double> epoch_ends;   // step at which each epoch ended
  std::vector<double> evaluations;  // step at which each evaluation began
  std::vector<double> checkpoints;  // step after which each checkpoint was written
};

struct Totals {
  int64_t alloc_count = 0;
  int64_t alloc_bytes = 0;
  int64_t free_count = 0;
  int64_t free_bytes = 0;
  int64_t retained_bytes = 0;  // live at the end
  int64_t retained_count = 0;
  int64_t peak_bytes = 0;  // highest live bytes
  double peak_step = 0;
  int64_t temporary_bytes = 0;  // allocated and freed within one step
};

// Bytes that belong to no site: "[no stack]", "[freed elsewhere]", "[dropped]", "[sampling]".
struct Leftover {
  std::string name;
  std::string explanation;
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  int64_t peak_bytes = 0;
  int64_t temporary_bytes = 0;
  int64_t alloc_bytes = 0;
  int64_t alloc_count = 0;
};

struct Process {
  int64_t pid = 0;
  int64_t parent_pid = 0;
  std::string role;  // "main", "dataloader worker", "rank", ...
  std::optional<int> rank;
  std::string exe;
  std::string command;
  std::string ending;
  double start_seconds = 0;  // from the start of the recording
  double end_seconds = 0;
  std::string verdict;
  int64_t retained_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t peak_rss_bytes = 0;
  double growth_bytes_per_step = 0;
  uint64_t dropped_events = 0;
};

// A recording that began while its program ran.
struct Attached {
  double age_seconds = 0;      // of the program then
  std::string from_time;       // "14:02", of this machine's clock
  std::string to_time;         //
  int64_t resident_bytes = 0;  // when it began
  int64_t before_bytes = 0;    // of them live, without a line
  uint64_t unknown_frees = 0;  // of blocks that were allocated before
  uint64_t implied_frees = 0;  // of blocks whose address came again: nobody was seen to free them
  uint64_t modules = 0;
  uint64_t modules_not_hooked = 0;
  bool program_imports = true;  // else the program's own calls of its allocator are not seen
  std::string sentence;
};

// A stretch of the run to shade: kind is "warm_up", "plateau", "epoch", "evaluation" or "checkpoint".
struct Phase {
  std::string kind;
  std::string label;
  double from_step = 0;
  double to_step = 0;
  double from_seconds = 0;
  double to_seconds = 0;
};

using symbols::Frame;

struct ReportModel {
  std::string tool_version;
  RecordingInfo recording;
  Losses losses;
  Verdict verdict;
  Steps steps;
  Totals totals;
  std::vector<Leftover> leftovers;
  std::vector<LedgerReading> ledger;
  std::vector<PoolSummary> pools;
  std::vector<Process> processes;
  std::vector<RankSummary> ranks;  // of a job of several
  std::vector<TestedHypothesis> hypotheses;
  std::vector<MatchedPattern> patterns;
  std::vector<BreakdownItem> breakdown;
  std::vector<LibraryAllocator> allocators;
  HeapHoles heap_holes;
  HolderLooks holders;
  LastMinutes last_minutes;
  std::optional<Attached> attached;
  std::vector<Phase> phases;
  std::vector<TensorCurve> tensors;  // one per pool that has any
  std::vector<Device> devices;
  std::vector<OutOfMemory> out_of_memory;  // the first refusals
  int64_t out_of_memory_count = 0;         // all of them
  std::vector<double> axis_steps;          // first step of each bucket of the sites' series
  std::vector<double> axis_seconds;        // the same in seconds, empty when unknown
  std::vector<Site> sites;                 // by retained bytes, largest first
  std::vector<Frame> frames;
  std::vector<StackTreeNode> stacks;
};

// What does not add up, one sentence each; empty when every total is the sum of its parts.
std::vector<std::string> CheckTotals(const ReportModel& model);

// Orders sites by retained bytes (then growth, then name) and renumbers what refers to them. Without steps, by
// what grew while the clock ran: most of what is retained then is what imports left.
void SortSites(ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_REPORT_MODEL_H_
