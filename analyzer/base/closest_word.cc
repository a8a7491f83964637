#include "analyzer/base/closest_word.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace plateau {
namespace {

constexpr size_t kLongestWord = 64;  // nobody mistypes a longer one by a letter or two

// Edits needed to turn one word into the other.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestWord(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kLongestWord) return "";
  std::string best;
  size_t best_distance = word.size() <= 4 ? 2 : 3;
  for (const std::string& candidate : known) {
    const size_t distance = Distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string closest = ClosestWord(word, known);
  return closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?");
}

}  // namespace plateau
