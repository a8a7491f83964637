#include "analyzer/process/names/notebook_cells.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plateau::process {
namespace {

constexpr absl::string_view kNoteBegin = "cell ";

std::string TitleOf(uint64_t number) { return absl::StrCat("In [", number, "]"); }

}  // namespace

NotebookCells::NotebookCells(const std::vector<replay::TimedMark>& marks) {
  for (const replay::TimedMark& mark : marks) {
    const absl::string_view note = mark.name;
    if (mark.kind != trace::MarkKind::kNote || mark.source != trace::MarkSource::kSiteCustomize ||
        !absl::StartsWith(note, kNoteBegin))
      continue;
    const size_t end = note.find('\n');
    if (end == absl::string_view::npos) continue;
    const std::string file(note.substr(kNoteBegin.size(), end - kNoteBegin.size()));
    const std::string title = TitleOf(mark.value);
    titles_[file] = title;
    texts_.emplace_back(title, note.substr(end + 1));
  }
}

std::string NotebookCells::Title(const std::string& file) const {
  if (const auto known = titles_.find(file); known != titles_.end()) return known->second;
  constexpr absl::string_view kInput = "<ipython-input-";
  if (!absl::StartsWith(file, kInput)) return file;
  const absl::string_view rest = absl::string_view(file).substr(kInput.size());
  uint64_t number = 0;
  return absl::SimpleAtoi(rest.substr(0, rest.find('-')), &number) ? TitleOf(number) : file;
}

}  // namespace plateau::process
