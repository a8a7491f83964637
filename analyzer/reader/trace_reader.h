// One trace file as streams of blocks.
//
//   PLATEAU_ASSIGN_OR_RETURN(auto reader, TraceReader::Open(path));
//   for (const StreamIndex& stream : reader->streams())
//     for (const BlockRef& ref : stream.blocks) {
//       LoadedBlock block;
//       if (!reader->Load(ref, &block).ok()) continue;              // counted by the caller
//       trace::RecordReader records(block.header, block.payload);   // ...
//     }
//
// The file may still be written, or have been cut off by a kill: block_index.h says what is taken then.
// Errors of Open(): NotFound (no file), FailedPrecondition (not a trace, or nothing usable in it),
// Unimplemented (a newer version), or what the system said. Thread-safe after Open().
//
// With Check::kWhenLoaded checksums are looked at by Load(): who has loaded every block asks
// has_unsound_block(), and if there was one opens the file again with Check::kNow, which finds what is left
// around the damage.
#ifndef PLATEAU_ANALYZER_READER_TRACE_READER_H_
#define PLATEAU_ANALYZER_READER_TRACE_READER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/base/input_file.h"
#include "analyzer/reader/block_index.h"
#include "analyzer/reader/read_summary.h"
#include "preload/trace/format.h"

namespace plateau::reader {

// A block in memory, decompressed. Reusing one saves allocations.
struct LoadedBlock {
  trace::BlockHeader header;
  std::string_view payload;  // of kEvents records; into the strings below or into the reader

  std::string stored;
  std::string unpacked;
};

class TraceReader {
 public:
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(const std::string& path,
                                                           Check check = Check::kNow);

  const std::string& path() const { return file_.path(); }
  const trace::FileHeader& header() const { return header_; }
  const std::vector<StreamIndex>& streams() const { return index_.streams; }
  // Damage found so far; records are counted by whoever decodes them.
  const ReadSummary& summary() const { return summary_; }

  absl::Status Load(const BlockRef& ref, LoadedBlock* block) const;
  // Load() met one whose checksum is wrong.
  bool has_unsound_block() const { return has_unsound_block_.load(std::memory_order_relaxed); }

  // Time stamps are ticks of a clock that the header calibrates.
  double NsPerTick() const { return ns_per_tick_; }
  double SecondsSinceStart(uint64_t tsc) const {
    return static_cast<double>(static_cast<int64_t>(tsc - header_.start_tsc)) * ns_per_tick_ * 1e-9;
  }

 private:
  TraceReader(InputFile file, Check check) : file_(std::move(file)), check_(check) {}

  // The payload of a block as it lies in the file.
  absl::StatusOr<std::string_view> ReadPayload(const BlockRef& ref, std::string* buffer) const;

  InputFile file_;
  const Check check_;
  mutable std::atomic<bool> has_unsound_block_{false};
  trace::FileHeader header_;
  BlockIndex index_;
  ReadSummary summary_;
  double ns_per_tick_ = 1;
};

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_TRACE_READER_H_
