// A table of text with aligned columns: the first takes what is left of the width, numbers stand right. When
// too little is left for it, columns are dropped, those with the highest `drop` first.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_GRID_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_GRID_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/report/units.h"

namespace plateau::report {

class TextGrid {
 public:
  struct Column {
    std::string title;
    bool right = true;
    int drop = 0;  // 0: never
  };

  explicit TextGrid(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = Printable(cell);
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
  }
  void AddRule() { rows_.emplace_back(); }

  // Lines of at most `width` columns, each ended by a newline; the first column is cut in the middle when it
  // must be.
  std::string Write(int width) const {
    std::vector<int> widths(columns_.size(), 0);
    for (size_t c = 0; c < columns_.size(); ++c) {
      widths[c] = DisplayWidth(columns_[c].title);
      for (const auto& row : rows_) {
        if (!row.empty()) widths[c] = std::max(widths[c], DisplayWidth(row[c]));
      }
    }
    std::vector<bool> shown(columns_.size(), true);
    int others = 0;
    for (size_t c = 1; c < columns_.size(); ++c) others += 2 + widths[c];
    while (width - others < std::min(widths[0], kMinFirst)) {
      size_t next = 0;
      for (size_t c = 1; c < columns_.size(); ++c) {
        if (shown[c] && columns_[c].drop > (next == 0 ? 0 : columns_[next].drop)) next = c;
      }
      if (next == 0) break;
      shown[next] = false;
      others -= 2 + widths[next];
    }
    widths[0] = std::min(widths[0], std::max(16, width - others));
    std::string out;
    auto line = [&](const std::vector<std::string>& cells) {
      std::string text;
      for (size_t c = 0; c < cells.size(); ++c) {
        if (!shown[c]) continue;
        const std::string cell = SiteEllipsis(cells[c], widths[c]);
        const std::string pad(widths[c] - DisplayWidth(cell), ' ');
        absl::StrAppend(&text, c == 0 ? "" : "  ", columns_[c].right ? pad : "", cell,
                        columns_[c].right ? "" : pad);
      }
      while (!text.empty() && text.back() == ' ') text.pop_back();
      absl::StrAppend(&out, text, "\n");
    };
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    line(titles);
    for (const auto& row : rows_) {
      if (row.empty()) {
        absl::StrAppend(&out, std::string(std::min(width, widths[0] + others), '-'), "\n");
      } else {
        line(row);
      }
    }
    return out;
  }

 private:
  static constexpr int kMinFirst = 36;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_GRID_H_
