// The known word that somebody probably meant, for messages about a word that is not known.
//
//   ClosestWord("repotr", {"report", "run"})   "report"
//   DidYouMean("--htm", {"--html"})            "; did you mean '--html'?"
//
// Pure. Words are expected to be short: the work grows with the product of their lengths.
#ifndef PLATEAU_ANALYZER_BASE_CLOSEST_WORD_H_
#define PLATEAU_ANALYZER_BASE_CLOSEST_WORD_H_

#include <string>
#include <string_view>
#include <vector>

namespace plateau {

// "" when no word is near. A word of up to four letters may differ by one edit, a longer one by two.
std::string ClosestWord(std::string_view word, const std::vector<std::string>& known);

// "" when no word is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_BASE_CLOSEST_WORD_H_
