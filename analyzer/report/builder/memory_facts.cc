#include "analyzer/report/builder/memory_facts.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/whole_number.h"
#include "analyzer/process/names/frame_names.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

using verdict::VerdictKind;

constexpr size_t kMostHolders = 20;

std::string TitleOf(const process::ProcessAnalysis& process, uint32_t site) {
  const uint32_t location = process.sites.table->sites()[site].location;
  return location == 0 ? "[no stack]" : process::SiteTitle(process.sites.names->Shown(location));
}

std::string SentenceOf(const LibraryAllocator& a) {
  std::string out = absl::StrCat(a.name, ": ", FormatBytes(a.resident_bytes), " of ",
                                 FormatBytes(a.reserved_bytes), " reserved are in memory");
  if (a.growth_bytes_per_step > 0) absl::StrAppend(&out, ", growing by ", HumanRate(a.growth_bytes_per_step));
  absl::StrAppend(&out, "; its blocks are not traced");
  if (!a.remedy.empty())
    absl::StrAppend(&out, "; with ", a.remedy, " it takes them from malloc, and then they are");
  return out;
}

}  // namespace

std::vector<LibraryAllocator> AllocatorsOf(const process::ProcessAnalysis& process) {
  std::vector<LibraryAllocator> out;
  for (const series::BundledAllocator& allocator : process.verdicts.allocators) {
    LibraryAllocator a;
    a.name = allocator.Title();
    a.resident_bytes = Round(allocator.resident_bytes);
    a.reserved_bytes = Round(allocator.reserved_bytes);
    a.growth_bytes_per_step = allocator.rate_bytes_per_step;
    if (!allocator.sites.empty()) a.site = TitleOf(process, allocator.sites.front());
    a.remedy = allocator.remedy;
    a.sentence = SentenceOf(a);
    out.push_back(std::move(a));
  }
  return out;
}

HeapHoles HolesOf(const process::ProcessAnalysis& process) {
  const series::HeapHoles& holes = process.memory.holes;
  HeapHoles out;
  if (holes.sites.empty()) return out;
  out.bytes = Round(holes.hole_bytes);
  out.empty_page_bytes = Round(holes.empty_page_bytes);
  out.is_exact = holes.is_exact;
  int64_t rest = out.bytes;
  for (size_t i = 0; i < std::min(holes.sites.size(), kMostHolders); ++i) {
    const series::PinningSite& site = holes.sites[i];
    if (Round(site.hole_bytes) == 0) break;
    out.holders.push_back({TitleOf(process, site.site), Round(site.hole_bytes), Round(site.hole_interval.low),
                           Round(site.hole_interval.high), Round(site.block_count), Round(site.block_bytes)});
    rest -= out.holders.back().bytes;
  }
  out.other_bytes = rest;
  const auto text = [&](const HoleHolder& h) {
    const bool has_range = h.low_bytes < h.bytes || h.high_bytes > h.bytes;
    return absl::StrCat(
        holes.is_exact ? "" : "about ", FormatBytes(h.bytes),
        has_range ? absl::StrCat(" (", FormatBytes(h.low_bytes), " to ", FormatBytes(h.high_bytes), ")") : "",
        " of holes are held by ", holes.is_exact ? "" : "some ", HumanCount(h.block_count), " blocks of ",
        HumanCount(h.block_bytes), " bytes made at ", h.site);
  };
  if (!out.holders.empty()) out.sentence = text(out.holders.front());
  return out;
}

void ExplainByMemory(const process::ProcessAnalysis& process, const std::vector<LibraryAllocator>& allocators,
                     const HeapHoles& holes, Verdict* words) {
  const verdict::ProcessVerdict& verdict = process.verdicts.process;
  for (size_t i = 0; i < allocators.size(); ++i) {
    const series::BundledAllocator& allocator = process.verdicts.allocators[i];
    const bool is_headline =
        verdict.headline_site.has_value() &&
        absl::c_linear_search(allocator.sites, static_cast<uint32_t>(*verdict.headline_site));
    if (!is_headline || allocator.rate_bytes_per_step <= 0) continue;
    words->why.insert(words->why.begin(), absl::StrCat("the growth is in ", allocators[i].sentence));
    if (allocator.remedy.empty()) continue;
    words->next_steps.insert(
        words->next_steps.begin(),
        absl::StrCat("Record again with ", allocator.remedy,
                     " in the environment, and the lines that keep the blocks will show."));
  }
  const VerdictKind kind = verdict.headline.kind;
  const bool is_about_holes = kind == VerdictKind::kFragmentation || kind == VerdictKind::kAllocatorRetention;
  if (is_about_holes && !holes.sentence.empty()) words->why.insert(words->why.begin(), holes.sentence);
}

}  // namespace plateau::report
