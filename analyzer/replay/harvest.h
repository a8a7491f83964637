// The first pass over the blocks of a trace: takes what they define, and counts the rest.
//
// Events are passed by, two blocks at a time: where a record ends must be known before the next one can be
// looked at, and while one block waits for that the other goes on.
#ifndef PLATEAU_ANALYZER_REPLAY_HARVEST_H_
#define PLATEAU_ANALYZER_REPLAY_HARVEST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/reader/read_summary.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/replay/stack_nodes.h"
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
  // Of a block that is left to the second pass, which tells when it cannot be read.
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
  std::vector<TimedMark> marks;
  std::vector<TimedLedger> ledger;
  std::vector<TimedRate> rates;
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

// Reads blocks, one pair after the other. Not thread-safe: each thread has its own.
class BlockHarvester {
 public:
  // Both must outlive this object. Stack nodes go where they belong at once.
  BlockHarvester(const reader::TraceReader* reader, StackNodes* nodes)
      : walks_{BlockWalk(reader, nodes), BlockWalk(reader, nodes)} {}

  // `second` may be null, and its harvest is then.
  std::array<std::unique_ptr<Harvest>, 2> Read(const reader::BlockRef& first, const reader::BlockRef* second);

 private:
  // Where we are in a block.
  class BlockWalk {
   public:
    BlockWalk(const reader::TraceReader* reader, StackNodes* nodes) : reader_(*reader), nodes_(*nodes) {}

    void Begin(const reader::BlockRef& ref);
    std::unique_ptr<Harvest> End();

    bool is_over() const { return is_over_; }
    // Passes by what is of no interest in both.
    template <typename Join>
    static void PassBoth(BlockWalk* a, BlockWalk* b);
    // Takes what PassBoth() does not pass by, if that is next.
    void TakeOne();
    template <typename Join>
    void TakeRest();

   private:
    bool TakeNodes();
    void TakeOther();

    const reader::TraceReader& reader_;
    StackNodes& nodes_;
    const reader::BlockRef* ref_ = nullptr;
    reader::LoadedBlock block_;
    std::unique_ptr<trace::RecordReader> records_;
    trace::Record record_;
    std::unique_ptr<Harvest> harvest_;
    bool is_over_ = true;
  };

  template <typename Join>
  void ReadAll();
  PLATEAU_FOR_BMI2 void ReadAllByPext();

  std::array<BlockWalk, 2> walks_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HARVEST_H_
