// The frames of a recording with names: functions, files, lines, inlined levels.
//
// Asks the symbolizer when a location is first needed and remembers the answer. What has no symbol is called
// "module+0xoffset". Not thread-safe.
#ifndef PLATEAU_ANALYZER_PROCESS_NAMES_FRAME_NAMES_H_
#define PLATEAU_ANALYZER_PROCESS_NAMES_FRAME_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/process/names/notebook_cells.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/symbols/frame.h"
#include "analyzer/symbols/source_text.h"
#include "analyzer/symbols/symbolizer.h"

namespace plateau::process {

using symbols::Frame;

class FrameNames {
 public:
  FrameNames(const replay::Definitions* definitions, symbols::Symbolizer* symbolizer)
      : definitions_(*definitions), symbolizer_(*symbolizer), cells_(definitions->marks) {}

  // The levels of a location, innermost first; never empty.
  const std::vector<Frame>& Of(uint32_t location);

  // The one to show for a site: the innermost level that is the user's code and not the standard library
  // inlined into it.
  const Frame& Shown(uint32_t location);

  // All frames of a stack, leaf first; they stay where they are as long as this object.
  std::vector<const Frame*> Stack(uint32_t node);

  const NotebookCells& cells() const { return cells_; }

 private:
  int BehindDecorators(const std::string& file, int first_line, int line);
  std::vector<Frame> Name(uint32_t location);

  const replay::Definitions& definitions_;
  symbols::Symbolizer& symbolizer_;
  NotebookCells cells_;
  symbols::SourceText source_;
  absl::flat_hash_map<uint32_t, std::vector<Frame>> named_;
};

// "train.py:42 in collate", "collate (train+0x12a4)".
std::string SiteTitle(const Frame& frame);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_NAMES_FRAME_NAMES_H_
