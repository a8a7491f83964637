// Lines of code and what they hold: a site, who keeps its objects alive, the tree of stacks. Part of report_model.h.
//
// A site refers to frames, and a node of the tree to frames and sites, by their place in the model's lists.
// SortSites() renumbers them; whoever takes a site out has to do the same.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_SITES_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_SITES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/interval.h"
#include "analyzer/report/model_verdict.h"

namespace plateau::report {

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
  // The next line of a Python program that stores what this one makes, and its text; of sites that may go on growing.
  int stored_at_line = 0;  // 0: none is known
  std::string stored_at_text;
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

// "data.py:12 in load (python)": one line of code may hold memory of several kinds, each a row of its own.
std::string NameWithPool(const Site& site);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_SITES_H_
