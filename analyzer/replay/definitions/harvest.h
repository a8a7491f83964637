// The first pass over the blocks of a trace: takes what they define, and counts the rest.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HARVEST_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HARVEST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "analyzer/reader/read_summary.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/holder_log.h"
#include "analyzer/replay/definitions/stack_nodes.h"
#include "preload/trace/decoder.h"

namespace plateau::replay {

// The granules in which addresses lie. Neighbours come together, so the set is rarely asked.
class Granules {
 public:
  void Add(uint64_t address) {
    const uint64_t granule = address / Definitions::kArenaGranuleBytes;
    uint64_t& recent = recent_[granule % recent_.size()];
    if (recent == granule + 1) return;
    recent = granule + 1;
    all_.insert(granule);
  }
  const absl::flat_hash_set<uint64_t>& all() const { return all_; }

 private:
  std::array<uint64_t, 64> recent_{};  // plus 1
  absl::flat_hash_set<uint64_t> all_;
};

// What one block contributes.
struct Harvest {
  // For a block that is left to the second pass, which tells when it cannot be read.
  static Harvest OfHeader(const trace::BlockHeader& header) {
    Harvest harvest;
    harvest.last_tsc = header.last_tsc;
    harvest.records = harvest.events = header.record_count;
    return harvest;
  }

  uint32_t last_node = 0;  // the largest number
  std::vector<std::pair<uint32_t, Location>> locations;
  std::vector<std::pair<uint32_t, Module>> modules;
  std::vector<std::pair<uint32_t, CodeObject>> codes;
  std::vector<ThreadInfo> threads;
  std::vector<std::pair<uint32_t, uint64_t>> thread_ends;  // stream and time
  std::vector<TimedMark> marks;
  std::vector<TimedLedger> ledger;
  std::vector<TimedRate> rates;
  std::vector<TimedResidency> residency;
  HolderLog holders;
  std::optional<TimedAttach> attach;  // the first of the block
  std::vector<std::pair<std::string, std::string>> infos;
  uint64_t groups = 0;  // of steps, since folding began
  std::vector<uint32_t> fork_children;
  std::vector<PageRun> copied_pages;
  Granules granules;
  reader::DropCounts drops;
  uint64_t unknown_records = 0;
  uint64_t last_tsc = 0;
  uint64_t records = 0;
  uint64_t events = 0;
  bool is_loaded = true;
  reader::ReadSummary damage;
};

// Reads blocks, one after the other. Not thread-safe: each thread has its own.
class BlockHarvester {
 public:
  // Both must outlive this object. Stack nodes go where they belong at once.
  BlockHarvester(const reader::TraceReader* reader, StackNodes* nodes) : reader_(*reader), nodes_(*nodes) {}

  std::unique_ptr<Harvest> Read(const reader::BlockRef& ref);

 private:
  // Takes stack nodes up to the next other record; false when there was none.
  bool TakeNodes(trace::RecordReader* records, Harvest* harvest);

  const reader::TraceReader& reader_;
  StackNodes& nodes_;
  reader::LoadedBlock block_;
  trace::Record record_;
};

// ---- Damage ----
//
// Blocks whose records cannot be read are counted, with a note about each, by the pass that reads them first.
// The first pass leaves out blocks that say they have events of the heap alone, so their damage is found by
// the second, which hands it on in ReplayResult::damage.

// TraceReader::Load() failed with `status`.
void CountUnloadable(const reader::BlockRef& ref, const absl::Status& status, reader::ReadSummary* summary);

// The record at byte `record_offset` of the payload, and all that follow it, cannot be read.
void CountUnreadable(const reader::TraceReader& reader, const reader::BlockRef& ref, size_t record_offset,
                     reader::ReadSummary* summary);

// Reads a block that IsHeapOnly() once more to say what is wrong with it; nothing may be. Definitions in it
// were not collected: they count as damage.
void CountDamage(const reader::TraceReader& reader, const reader::BlockRef& ref,
                 reader::ReadSummary* summary);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_HARVEST_H_
