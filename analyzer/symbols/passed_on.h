// Where a Python program puts what a line makes: the next line that appends it to something or stores it.
//
//   29   out = self.net(batch)
//   30   self.outputs.append(out)      <- of line 29: line 30
//
// An allocation belongs to the line that makes an object; the line that keeps it allocates nothing, or a few bytes of a
// list. This reads the source text and nothing else: it says where the name goes, not that this is what keeps it.
// Only names that the line assigns are followed, to the end of their block or until they are assigned anew, and only
// as they are: `losses.append(loss.item())` keeps a number.
#ifndef PLATEAU_ANALYZER_SYMBOLS_PASSED_ON_H_
#define PLATEAU_ANALYZER_SYMBOLS_PASSED_ON_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace plateau::symbols {

// `text` is the whole file, `line` counts from 1.
std::optional<int> LineThatStores(absl::string_view text, int line);

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_PASSED_ON_H_
