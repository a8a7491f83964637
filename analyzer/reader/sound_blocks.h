// The blocks from one place of a file on, as far as nothing is wrong with them: nearly always all of them.
//
// Follows the row that the headers make, each block beginning where the one before it ends, without looking
// at the payloads; then checks all of them on all cores, unless they are to be checked when they are loaded.
// The walk of block_index.h goes on where this one stops: at damage, at an open block, at bytes that were
// never written.
//
// Reads each block once, or its header alone. What is found does not depend on the number of cores. Memory: a
// block per thread.
#ifndef PLATEAU_ANALYZER_READER_SOUND_BLOCKS_H_
#define PLATEAU_ANALYZER_READER_SOUND_BLOCKS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/base/input_file.h"
#include "analyzer/base/progress.h"
#include "analyzer/reader/block_index.h"

namespace plateau::reader {

struct SoundBlocks {
  std::vector<BlockRef> blocks;  // in the order of the file
  uint64_t unknown_blocks = 0;   // sound, but of a type from a later version
  uint64_t end = 0;              // where the walk goes on
};

// `file_bytes`: what lies behind is not looked at. `extents`: begin and end of what is passed over.
SoundBlocks FindSoundBlocks(const InputFile& file, uint64_t begin, uint64_t file_bytes,
                            const std::map<uint64_t, uint64_t>& extents, Check check, Progress* progress);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_SOUND_BLOCKS_H_
