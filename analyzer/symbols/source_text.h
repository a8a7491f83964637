// Lines of source files, for showing the line a site points to.
//
// Reads a file when first asked; a file that is missing, huge or no text gives "". Not thread-safe.
#ifndef PLATEAU_ANALYZER_SYMBOLS_SOURCE_TEXT_H_
#define PLATEAU_ANALYZER_SYMBOLS_SOURCE_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/symbols/sysroot.h"

namespace plateau::symbols {

class SourceText {
 public:
  SourceText() = default;
  // Files are those of another system, unpacked somewhere.
  explicit SourceText(Sysroot sysroot) : sysroot_(std::move(sysroot)) {}

  // Line `line` (from 1) without the white space around it.
  std::string Line(const std::string& path, int line);
  // The lines around it, at most `reach` before and behind it, as they are in the file; `*first` is the number of the
  // first one. Empty where Line() is.
  std::vector<std::string> Excerpt(const std::string& path, int line, int reach, int* first);
  // Of the Python file: the next line that stores what line `line` makes (see passed_on.h); 0 when there is none.
  int LineThatStores(const std::string& path, int line);
  // The text of what is no file, under the name that frames have for it.
  void Add(const std::string& path, std::string text) { files_[path] = std::move(text); }

 private:
  // Of the whole file; empty when it cannot or must not be read.
  const std::string& TextOf(const std::string& path);

  Sysroot sysroot_;
  absl::flat_hash_map<std::string, std::string> files_;  // their text
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_SOURCE_TEXT_H_
