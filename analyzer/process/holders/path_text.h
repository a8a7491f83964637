// A chain of references in the words of the language it is of: "trainer.meter.history[*]['loss']".
//
// What the text is made of comes from the traced program, so nothing here is trusted: every byte that is no
// part of a name is escaped in keys, and a kind of segment from a later version is shown by its text.
#ifndef PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_TEXT_H_
#define PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/replay/definitions/holder_log.h"
#include "analyzer/series/holding.h"

namespace plateau::process {

struct PathText {
  std::vector<series::HolderLink> links;
  std::string root;       // where the path begins, in words; empty for a variable of the main program
  std::string text;       // the links one after the other
  std::string container;  // of the first segments of it
  size_t container_links = 0;
};

// The first `container_segments` of `path` lead to the container; 0: there is none.
PathText TextOfPath(const std::vector<replay::PathSegment>& path, size_t container_segments);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_TEXT_H_
