#include "analyzer/report/builder/holder_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/whole_number.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

std::string Percent(double share) {
  const double percent = 100 * share;
  if (percent > 99 && percent < 100) return "over 99 %";
  return absl::StrCat(std::round(percent), " %");
}

// ", 97 % of the bytes". Of a look that ended early, a small share says nothing.
std::string ShareText(double share, bool was_cut) {
  constexpr double kTelling = 0.1;
  if (!was_cut || share > 0.995) return absl::StrCat(", ", Percent(share), " of the bytes");
  return share < kTelling ? "" : absl::StrCat(", at least ", Percent(share), " of the bytes");
}

HolderPath ToModel(const series::HolderPath& path, int64_t retained_bytes) {
  HolderPath out;
  out.end = series::HeldByName(path.end);
  out.root = path.root;
  out.root_owner = series::RootOwnerName(path.owner);
  out.text = path.text;
  out.container = path.container;
  out.container_type = path.container_type;
  out.share = path.share;
  out.bytes = Round(path.share * static_cast<double>(retained_bytes));
  out.items_per_step = path.ItemsPerStep();
  for (const series::LengthReading& reading : path.lengths)
    out.lengths.push_back({reading.step, reading.items});
  if (!path.lengths.empty()) {
    out.items = path.lengths.back().items;
    if (path.lengths.back().bound > 0) out.bound = path.lengths.back().bound;
  }
  for (const series::HolderLink& link : path.links)
    out.links.push_back({link.kind, link.text, link.is_user_data});
  out.container_links = static_cast<int64_t>(path.container_links);
  return out;
}

std::string Sentence(const HolderLooks& looks) {
  std::string out;
  if (looks.walks > 0) {
    out = absl::StrCat(Counted(static_cast<uint64_t>(looks.walks), "look"), " for holders took ",
                       FormatDuration(looks.seconds), " in all; the last one, at step ",
                       HumanCount(looks.last_step), ", visited ", HumanCount(looks.objects), " objects");
    if (looks.cut > 0)
      absl::StrAppend(&out, "; ", looks.cut, " of them ended early at a limit of time or memory");
    out += ".";
  }
  if (looks.skipped > 0) {
    absl::StrAppend(
        &out, out.empty() ? "" : " ", looks.walks > 0 ? "" : "Nobody looked for holders: ",
        looks.walks > 0
            ? absl::StrCat(looks.skipped, looks.skipped == 1 ? " look was" : " looks were", " left out: ")
            : "",
        looks.skipped_why, ".");
  }
  if (looks.garbage_objects > 0) {
    absl::StrAppend(&out, out.empty() ? "" : " ", HumanCount(looks.garbage_objects),
                    looks.garbage_objects == 1 ? " object" : " objects",
                    " in cycles waited for the collector",
                    looks.is_collector_off ? ", which is switched off" : "", ".");
  }
  if (looks.frozen_objects > 0) {
    absl::StrAppend(&out, out.empty() ? "" : " ", HumanCount(looks.frozen_objects),
                    " objects are frozen (gc.freeze) and are never collected.");
  }
  if (looks.damaged > 0) {
    absl::StrAppend(&out, out.empty() ? "" : " ", Counted(static_cast<uint64_t>(looks.damaged), "record"),
                    " of holders could not be used.");
  }
  return out;
}

// "trainer.seen[*]['x'] (trainer.seen: list, 1,240 items, +8 a step)": with the name when the path goes on.
std::string WithContainer(const series::HolderPath& path) {
  if (path.container.empty() || path.lengths.empty()) return path.text;
  std::string about = series::ContainerText(path);
  about = about.substr(path.container.size());  // " (list, 1,240 items)"
  return path.text + about;
}

}  // namespace

HolderLooks LooksOf(const process::ProcessAnalysis& process) {
  const process::HolderLooks& from = process.holders.looks;
  HolderLooks out;
  out.walks = static_cast<int64_t>(from.walks);
  out.cut = static_cast<int64_t>(from.cut);
  out.skipped = static_cast<int64_t>(from.skipped);
  out.skipped_why = from.skipped_why;
  out.objects = from.objects;
  out.seconds = from.seconds;
  out.last_step = from.last_step;
  out.garbage_objects = from.garbage_objects;
  out.garbage_bytes = from.garbage_bytes;
  out.frozen_objects = from.frozen_objects;
  out.is_collector_off = from.is_collector_off;
  out.damaged = static_cast<int64_t>(std::min<uint64_t>(from.damaged, INT64_MAX));
  out.sentence = Sentence(out);
  return out;
}

void AddHolders(const series::SiteHolding& holding, int64_t retained_bytes, Site* site) {
  site->held_by.clear();
  for (const series::HolderPath& path : holding.paths) site->held_by.push_back(ToModel(path, retained_bytes));
  site->looked_at = holding.looked_at;
  site->not_found_share = holding.not_found_share;
  site->garbage_share = holding.garbage_share;
  site->look_was_cut = holding.was_cut;
}

std::vector<std::string> HeldByLines(const series::SiteHolding& holding) {
  constexpr size_t kMostLines = 2;
  std::vector<std::string> lines;
  for (const series::HolderPath& path : holding.paths) {
    if (lines.size() >= kMostLines) break;
    std::string line = absl::StrCat(WithContainer(path), ShareText(path.share, holding.was_cut));
    const bool is_main =
        path.root.empty() || path.root == "module __main__" || path.text.find(path.root) == 0;
    if (!is_main && path.end == series::HeldBy::kRoot) absl::StrAppend(&line, "; ", path.root);
    lines.push_back(std::move(line));
  }
  if (lines.empty() && holding.was_cut) {
    lines.emplace_back(
        "not known, because the look ended at a limit of time or memory before it came to them");
  } else if (lines.empty() && holding.not_found_share > 0.5) {
    lines.push_back(absl::StrCat("not found: for ", Percent(holding.not_found_share), " of ",
                                 HumanCount(holding.looked_at), " objects no reference was found"));
  }
  return lines;
}

std::vector<std::string> HeldByHeadline(const process::ProcessAnalysis& process) {
  const std::optional<size_t>& site = process.verdicts.process.headline_site;
  if (!site || *site >= process.holders.sites.size()) return {};
  return HeldByLines(process.holders.sites[*site]);
}

}  // namespace plateau::report
