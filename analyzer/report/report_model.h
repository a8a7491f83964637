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

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/interval.h"
#include "analyzer/symbols/frame.h"

namespace plateau::report {

// A number that supports a sentence: {"rate_bytes_per_step", 1.2e6}. Names carry their unit.
struct EvidenceNumber {
  std::string name;
  double value = 0;
};

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

// One possible future. Several when the mechanism is undecided: "if it is a leak", "if it is a first-pass
// fill".
struct Forecast {
  std::string label;
  std::string sentence;
  double from_step = 0;
  double from_bytes = 0;
  double rate_bytes_per_step = 0;
  std::optional<Interval> rate_interval;
  std::optional<double> plateau_bytes;
  std::optional<Interval> plateau_interval;
  std::optional<double> plateau_step;
  std::optional<Interval> plateau_step_interval;
  std::optional<double> limit_step;  // when the memory limit is reached
  std::optional<Interval> limit_step_interval;
};

struct Verdict {
  std::string name = "inconclusive";  // design vocabulary, lower snake case
  std::string reason;            // fixed reason of an inconclusive verdict: "first_pass", "too_short", ...
  std::string summary;           // who, what, how fast, until when: the headline, see builder/headline_text.h
  std::string site;              // of sites[], that made the verdict; empty when none did
  std::string sentence;          // plain words with the numbers filled in
  std::vector<std::string> why;  // what made it, one line each
  std::vector<EvidenceNumber> numbers;
  std::string outcome;  // "oom_either_way", "safe_in_this_run", ... or empty
  std::vector<Forecast> forecasts;
  std::optional<double> detectable_bytes_per_step;  // smallest leak this run could have shown
  std::optional<double> needs_steps;                // more steps that would decide it
  std::optional<double> limit_bytes;                // memory limit forecasts refer to
  std::string limit_source;                         // whose it is: "given", "cgroup", "machine"; or empty
  std::vector<std::string> held_by;                 // who keeps the bytes alive, one line each
  std::vector<std::string> next_steps;              // what to do now
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

// One reading of the ledger. RSS = live + allocator_gap + file + shmem + own + unexplained.
struct LedgerReading {
  double time_seconds = 0;
  double step = 0;
  int64_t live_bytes = 0;
  int64_t rss_bytes = 0;
  int64_t rss_anon_bytes = 0;
  int64_t rss_file_bytes = 0;
  int64_t rss_shmem_bytes = 0;
  int64_t allocator_gap_bytes = 0;
  bool allocator_gap_is_estimated = false;  // the allocator was not asked for this reading
  int64_t own_bytes = 0;
  int64_t pinned_bytes = 0;
  int64_t device_live_bytes = 0;
  int64_t device_reserved_bytes = 0;
  int64_t cgroup_bytes = 0;
  int64_t unexplained_bytes = 0;
  int64_t tensor_bytes = 0;  // of live_bytes: storages of host tensors
  int64_t tensor_count = 0;
};

// A kind of memory with its own verdict: "host", "pinned", "device 0", "shared", "files".
struct PoolSummary {
  std::string name;
  std::string verdict;
  std::string evidence;
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t reserved_bytes = 0;
  double growth_bytes_per_step = 0;
};

// Live tensors by step in one pool: "host", or "device 0 tensors".
struct TensorCurve {
  std::string pool;
  std::vector<int64_t> live_count;  // at the end of each bucket of ReportModel::axis_steps
  std::vector<int64_t> live_bytes;
};

// How full a device is at one moment. Tensors lie inside torch's segments, these inside what is reserved.
struct DeviceLevels {
  int64_t tensor_bytes = 0;            // live blocks of torch's caching allocator
  int64_t reserved_bytes = 0;          // what the driver has given to this process
  int64_t torch_reserved_bytes = 0;    // as torch says; 0 when it says nothing
  int64_t free_in_segments_bytes = 0;  // torch's, held and unused
  int64_t largest_free_bytes = 0;      // the largest piece of it
  int64_t async_reserved_bytes = 0;    // of the pools of stream-ordered memory
  int64_t async_used_bytes = 0;
  int64_t limit_bytes = 0;        // memory of the device; 0 while unknown: asked when a request is refused
  int64_t driver_used_bytes = 0;  // of it in use then, by all processes
  double fragmentation = 0;       // share of the free bytes outside the largest piece, 0 to 1
};

// The totals torch passes along with each of its blocks, against ours.
struct TorchComparison {
  int64_t compared = 0;
  int64_t mismatches = 0;  // times the difference changed; 0: equal all along
  int64_t last_difference_bytes = 0;
  int64_t blocks_outside_segments = 0;
  int64_t reserved_exceeded = 0;  // times torch claimed more than the driver level shows
};

// A device when the training ended.
struct Device {
  int device = -1;
  DeviceLevels levels;
  int64_t tensor_peak_bytes = 0;
  int64_t reserved_peak_bytes = 0;
  int64_t graph_private_bytes = 0;  // of CUDA graphs
  std::optional<TorchComparison> torch_check;
};

// A request for device memory that was refused, with the device's state at that moment.
struct OutOfMemory {
  double time_seconds = 0;
  double step = 0;
  int device = -1;
  std::string level;  // who was refused: "runtime", "driver", "torch"
  std::string call;
  int64_t requested_bytes = 0;
  DeviceLevels levels;
  std::string site;  // "train.py:42 in forward"
  std::string file;
  int line = 0;
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

struct TestedHypothesis {
  std::string name;    // "optimizer state"
  std::string result;  // "ruled out", "supported", "possible", "not tested"
  std::string evidence;
};

struct MatchedPattern {
  std::string id;  // "K11"
  std::string title;
  std::string explanation;
  std::string fix;
  std::string evidence;
};

// A share of what is held: "parameters", "gradients", "optimizer state", ...; shares add up to
// totals.retained_bytes.
struct BreakdownItem {
  std::string name;
  int64_t bytes = 0;
  int64_t count = 0;
  std::string how;  // how it was recognised
};

// An allocator that a library brought along and that takes its memory from the kernel: its blocks are not traced.
struct LibraryAllocator {
  std::string name;  // "mimalloc in libarrow.so.2100"
  int64_t resident_bytes = 0;
  int64_t reserved_bytes = 0;
  double growth_bytes_per_step = 0;
  std::string site;    // the line whose work mapped most of it
  std::string remedy;  // the documented switch that makes its blocks visible; may be empty
  std::string sentence;
};

// Holes of the heap that the survivors of one site hold.
struct HoleHolder {
  std::string site;
  int64_t bytes = 0;
  int64_t low_bytes = 0;  // 95 %; both are `bytes` when every block was recorded
  int64_t high_bytes = 0;
  int64_t block_count = 0;
  int64_t block_bytes = 0;  // of one, on average
};

struct HeapHoles {
  int64_t bytes = 0;             // all of it; 0 when it was not looked at
  int64_t empty_page_bytes = 0;  // of that: on pages without a live block
  int64_t other_bytes = 0;       // held by sites that are not listed
  bool is_exact = false;
  std::string sentence;
  std::vector<HoleHolder> holders;
};

// What a site asked for and held in the last minutes of a run that was killed.
struct LastAsker {
  std::string site;
  int64_t grown_bytes = 0;     // held at the end and not at the beginning of that stretch
  int64_t retained_bytes = 0;  // held at the end
};

// The end of a run that was killed, by the kernel or by somebody: who asked last, what was largest, what was refused.
struct LastMinutes {
  double from_seconds = 0;
  double to_seconds = 0;  // 0: the run ended by itself, and there is nothing to tell
  double from_step = 0;
  double to_step = 0;
  int64_t rss_from_bytes = 0;
  int64_t rss_to_bytes = 0;
  bool is_out_of_memory = false;  // the kernel counts that it killed for want of memory
  std::string sentence;
  std::vector<LastAsker> asked;      // by what they grew, the most first
  std::vector<LastAsker> largest;    // by what they held
  std::vector<std::string> refused;  // one sentence each
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

// What one thread or process holds of a site.
struct Share {
  std::string name;
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  int64_t peak_bytes = 0;
  int64_t temporary_bytes = 0;
  double growth_bytes_per_step = 0;
};

// One link of a reference path, "attribute" and ".history".
struct HolderLink {
  std::string kind;
  std::string text;
  bool is_user_data = false;  // a key: part of what the program works on
};

// How long the container of a path was when a walk looked at it.
struct ContainerReading {
  double step = 0;
  double items = 0;
};

// The references that keep a site's objects alive: "trainer.meter.history[*]['loss']".
struct HolderPath {
  std::string end;              // "path", "native", "garbage", "lost"; see docs/holders.md
  std::string root;             // "a local of main() (train.py:31)", "module cache"
  std::string root_owner;       // "user", "library", "interpreter", "native"
  std::string text;             // the whole path
  std::string container;        // the part of it that leads to the container; empty: there is none
  std::string container_type;   // "list"
  double share = 0;             // of what the last walk looked at
  int64_t bytes = 0;            // that share of what the site retains
  std::optional<double> items;  // of the container, at the last walk
  std::optional<double> bound;  // how many it can have, where it says so
  std::optional<double> items_per_step;
  std::vector<ContainerReading> lengths;  // by step
  std::vector<HolderLink> links;
  int64_t container_links = 0;  // how many of them lead to the container
};

// What walks over the living objects found of the process that the report is about.
struct HolderLooks {
  int64_t walks = 0;
  int64_t cut = 0;  // of them, by a limit of time or memory
  int64_t skipped = 0;
  std::string skipped_why;  // of the last one
  double objects = 0;       // visited by the last walk
  double seconds = 0;       // of all walks
  double last_step = 0;
  double garbage_objects = 0;  // in cycles that wait for the collector
  double garbage_bytes = 0;    // of what was looked at
  double frozen_objects = 0;   // gc.freeze()
  bool is_collector_off = false;
  int64_t damaged = 0;  // records that could not be used
  std::string sentence;
};

// Ages in steps: 0 | 1 | 2-3 | 4-7 | ...
inline constexpr int kAgeBuckets = 24;

struct Site {
  std::string site;  // how the site is shown: "train.py:42 in collate"
  std::string file;
  int line = 0;
  std::string function;
  std::string module;
  std::string pool = "host";
  std::string phase;        // where most of its bytes are born: "forward", "data", "evaluation", ...
  std::string source_line;  // text of that line, when the file could be read
  // The lines around it as they are in the file, the first of them with number excerpt_from; of the first sites only.
  std::vector<std::string> excerpt;
  int excerpt_from = 0;
  std::string category;  // breakdown item it belongs to
  // Where a library that this line called allocated, "collate.py:180 in default_collate": the innermost Python
  // line of the most common stack. Empty when the line itself allocates.
  std::string library;
  bool is_import = false;           // the line imports a module, and that allocated
  std::vector<HolderPath> held_by;  // the most telling first
  double looked_at = 0;             // how many of its objects the last walk looked at
  double not_found_share = 0;       // of them: nobody was found who holds them
  double garbage_share = 0;         // of them: they wait for the collector
  bool look_was_cut = false;  // it ended at a limit, so that what it did not find may be held by anybody
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  int64_t grown_bytes = 0;  // of the retained bytes: allocated while the clock ran, not before its first step
  double growth_bytes_per_step = 0;
  std::optional<Interval> growth_interval;
  int64_t peak_bytes = 0;       // held when the process was at its peak
  int64_t temporary_bytes = 0;  // allocated and freed within one step
  int64_t alloc_bytes = 0;
  int64_t alloc_count = 0;
  int64_t free_count = 0;
  int64_t tensor_count = 0;  // alive at the end
  int64_t tensor_bytes = 0;
  double first_step = 0;
  double last_step = 0;
  std::string verdict;
  std::string evidence;
  std::vector<EvidenceNumber> numbers;
  std::vector<int64_t> live_bytes;         // per bucket of ReportModel::axis_steps; empty when not kept
  std::vector<int64_t> survivor_bytes;     // born in that bucket and alive at the end; same axis
  std::vector<int64_t> tensor_live_count;  // live tensors; same axis; empty without tensors
  std::vector<int64_t> tensor_live_bytes;
  std::array<int64_t, kAgeBuckets> age_bytes{};  // age of what is alive at the end
  std::vector<uint32_t> stack;                   // most common stack, indices into frames, leaf first
  std::vector<Share> threads;
  std::vector<Share> processes;
};

// A node of the stack tree, values its own without its children's. Parents come before their children.
struct StackTreeNode {
  int32_t parent = -1;  // -1: a root
  uint32_t frame = 0;   // index into frames
  int32_t site = -1;    // index into sites, -1: a leftover
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  double growth_bytes_per_step = 0;
  int64_t peak_bytes = 0;
  int64_t temporary_bytes = 0;
  int64_t alloc_bytes = 0;
  int64_t alloc_count = 0;
};

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
