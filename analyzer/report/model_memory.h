// Where a process's memory is beside its sites: the ledger, pools, what is held by purpose, allocators of libraries,
// holes of the heap, the last minutes. Part of report_model.h.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_MEMORY_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace plateau::report {

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

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_MEMORY_H_
