// What lies between the frame that is blamed for a stack and the allocation: which library line allocated, and
// whether it happened while a module was imported.
//
//   malloc < default_collate (collate.py:180) < Trainer.train (trainer.py:42) < main (train.py:9)
//                             ^ the library line                                 ^ the site
#ifndef PLATEAU_ANALYZER_PROCESS_NAMES_SITE_PATH_H_
#define PLATEAU_ANALYZER_PROCESS_NAMES_SITE_PATH_H_

#include <vector>

#include "analyzer/symbols/frame.h"

namespace plateau::process {

struct SitePath {
  const symbols::Frame* library =
      nullptr;  // the innermost Python line that was not made at run time; may be null
  bool is_import = false;
};

// `stack` leaf first, as FrameNames::Stack() gives it; `site` is the line of one of its frames. A site that is not
// the user's, as of a stack that was too deep to be walked to the end, is an import's if any of its callers is.
SitePath PathToAllocation(const std::vector<const symbols::Frame*>& stack, const symbols::Frame* site,
                          bool site_is_users);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_NAMES_SITE_PATH_H_
