#include "analyzer/report/text/holders_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

constexpr int kShare = 7;  // " 97 %  "

std::string Wrapped(const std::string& text, int indent, int columns) {
  std::string out;
  for (const std::string& line : WrapText(Printable(text), std::max(20, columns - indent)))
    absl::StrAppend(&out, std::string(static_cast<size_t>(indent), ' '), line, "\n");
  return out;
}

// "  97 %  trainer.seen[*]['x'] (list, 127 items: 31, 63, 127 at step 32, 64, 128)".
std::string PathLines(const HolderPath& path, int columns) {
  std::string text = path.text;
  if (!path.container.empty() && !path.lengths.empty()) {
    constexpr size_t kShown = 5;
    const size_t first = path.lengths.size() > kShown ? path.lengths.size() - kShown : 0;
    std::string items, steps;
    for (size_t i = first; i < path.lengths.size(); ++i) {
      absl::StrAppend(&items, items.empty() ? "" : ", ", HumanCount(path.lengths[i].items));
      absl::StrAppend(&steps, steps.empty() ? "" : ", ", HumanStep(path.lengths[i].step));
    }
    absl::StrAppend(&text, "; ", path.container_type.empty() ? "container" : path.container_type, " of ",
                    items,
                    path.bound.has_value() ? absl::StrCat(" of at most ", HumanCount(*path.bound)) : "",
                    " items at step ", steps);
  }
  if (path.end == "path" && !path.root.empty() && path.root != "module __main__")
    absl::StrAppend(&text, "; ", path.root);
  std::string out = Wrapped(text, kShare, columns);
  std::string share = absl::StrCat(std::round(100 * path.share), " %");
  share.insert(0, static_cast<size_t>(std::max(0, kShare - 2 - static_cast<int>(share.size()))), ' ');
  return out.replace(0, share.size(), share);
}

}  // namespace

std::string WriteHolders(const ReportModel& model, const TextOptions& text, size_t sites) {
  if (model.holders.sentence.empty()) return "";
  std::string out = text.color ? "\n\x1b[1mHeld by\x1b[0m\n" : "\nHeld by\n";
  size_t shown = 0, left_out = 0;
  for (const Site& site : model.sites) {
    if (site.looked_at == 0 || (site.look_was_cut && site.held_by.empty())) continue;
    if (sites != 0 && shown >= sites) {
      ++left_out;
      continue;
    }
    ++shown;
    absl::StrAppend(
        &out, Wrapped(absl::StrCat(site.site, ", ", FormatBytes(site.retained_bytes)), 0, text.columns));
    for (const HolderPath& path : site.held_by) absl::StrAppend(&out, PathLines(path, text.columns));
    if (site.not_found_share > 0.005) {
      const std::string rest = absl::StrCat(std::round(100 * site.not_found_share), " % of ",
                                            HumanCount(site.looked_at), " objects");
      absl::StrAppend(&out,
                      Wrapped(site.look_was_cut ? absl::StrCat("not reached before the look ended: ", rest)
                                                : absl::StrCat("not found: ", rest),
                              kShare, text.columns));
    }
  }
  if (shown == 0)
    absl::StrAppend(&out, Wrapped("Of no line it is known who holds its bytes.", 0, text.columns));
  if (left_out > 0)
    absl::StrAppend(&out, "and of ", left_out, left_out == 1 ? " more site\n" : " more sites\n");
  return out + Wrapped(model.holders.sentence, 0, text.columns);
}

}  // namespace plateau::report
