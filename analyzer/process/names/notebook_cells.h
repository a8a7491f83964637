// Cells of a notebook: what a reader knows as "In [7]" is a file of no name to the interpreter.
//
// The start-up hook notes each cell when it is compiled: a NOTE mark "cell NAME\nTEXT" with the number as its
// value. IPython without the hook has the number in the name, "<ipython-input-7-2f3a>", and no text.
#ifndef PLATEAU_ANALYZER_PROCESS_NAMES_NOTEBOOK_CELLS_H_
#define PLATEAU_ANALYZER_PROCESS_NAMES_NOTEBOOK_CELLS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/replay/definitions/definitions.h"

namespace plateau::process {

class NotebookCells {
 public:
  NotebookCells() = default;
  explicit NotebookCells(const std::vector<replay::TimedMark>& marks);

  // "In [7]" for the file of a cell, else the file itself.
  std::string Title(const std::string& file) const;
  // Titles with their text.
  const std::vector<std::pair<std::string, std::string>>& texts() const { return texts_; }

 private:
  absl::flat_hash_map<std::string, std::string> titles_;  // by file
  std::vector<std::pair<std::string, std::string>> texts_;
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_NAMES_NOTEBOOK_CELLS_H_
