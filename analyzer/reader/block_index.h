// Finds the blocks of one trace file, whatever state the file is in.
//
// Order of work, so that a file that is being written has no false gap:
//   1. open blocks of the ring slots are copied: from then on everything before them is in the data
//   2. the data is walked by block length, every checksum checked, by sound_blocks.h as far as it goes; where
//      no sound block starts, the next one is looked for at 64-byte steps; bytes that are all zero were never
//      written and are not damage
//   3. of two copies of (stream, seq) the sealed one wins
//
// Reads the file once, front to back, or its headers alone (Check::kWhenLoaded). Memory: one entry per block
// plus the open blocks themselves.
#ifndef PLATEAU_ANALYZER_READER_BLOCK_INDEX_H_
#define PLATEAU_ANALYZER_READER_BLOCK_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/base/input_file.h"
#include "analyzer/reader/read_summary.h"
#include "preload/trace/format.h"

namespace plateau::reader {

// Blocks larger than this are taken for damage: no writer makes them.
inline constexpr uint32_t kMaxBlockBytes = 64u << 20;
// What the blocks of a packed file may unpack to, all together. A loop of one malloc and one free packs to 1/1500; blocks
// beyond this count as damage.
inline constexpr uint64_t kMaxUnpackedRatio = 10'000;
inline constexpr uint64_t kFreeUnpackedBytes = uint64_t{64} << 20;

// When the checksums of blocks are looked at. A file is read once less when that is done while a block is
// loaded; what is damaged then shows too late to look for what is left, see TraceReader.
enum class Check { kNow, kWhenLoaded };

struct BlockRef {
  trace::BlockHeader header;
  uint64_t offset = 0;     // of the header in the file
  int32_t open_copy = -1;  // index into BlockIndex::open_payloads when it was taken from the ring
};

// The blocks of one stream (thread) in order.
struct StreamIndex {
  uint32_t stream = 0;
  std::vector<BlockRef> blocks;
};

struct BlockIndex {
  std::vector<StreamIndex> streams;  // by stream number
  std::vector<std::string> open_payloads;
};

// `header` is what ReadFileHeader gave. Counts what it meets into `summary`. Fails only when the file cannot
// be read.
absl::Status BuildBlockIndex(const InputFile& file, const trace::FileHeader& header, Check check,
                             BlockIndex* index, ReadSummary* summary);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_BLOCK_INDEX_H_
