#include "analyzer/report/text/memory_text.h"

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/text_grid.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

std::string Heading(const char* title, const TextOptions& text) {
  return text.color ? absl::StrCat("\n\x1b[1m", title, "\x1b[0m\n") : absl::StrCat("\n", title, "\n");
}

std::string Paragraph(const std::string& sentence, const TextOptions& text) {
  std::string out;
  for (const std::string& line : WrapText(Printable(sentence), text.columns))
    absl::StrAppend(&out, line, "\n");
  return out;
}

}  // namespace

std::string WriteAllocators(const ReportModel& model, const TextOptions& text) {
  if (model.allocators.empty()) return "";
  TextGrid grid({{"", false}, {"in memory"}, {"reserved"}, {"growth/step"}, {"mapped at", false}});
  for (const LibraryAllocator& a : model.allocators) {
    grid.Add({a.name, FormatBytes(a.resident_bytes), FormatBytes(a.reserved_bytes),
              a.growth_bytes_per_step == 0 ? "-" : FormatBytes(a.growth_bytes_per_step), a.site});
  }
  std::string out = absl::StrCat(Heading("Allocators of libraries", text), grid.Write(text.columns));
  for (const LibraryAllocator& a : model.allocators) absl::StrAppend(&out, Paragraph(a.sentence + ".", text));
  return out;
}

std::string WriteHoles(const ReportModel& model, const TextOptions& text) {
  const HeapHoles& holes = model.heap_holes;
  if (holes.holders.empty()) return "";
  TextGrid grid({{"held by blocks of", false}, {"holes"}, {"from"}, {"to"}, {"blocks"}, {"bytes each"}});
  for (const HoleHolder& h : holes.holders) {
    grid.Add({h.site, FormatBytes(h.bytes), FormatBytes(h.low_bytes), FormatBytes(h.high_bytes),
              HumanCount(h.block_count), HumanCount(h.block_bytes)});
  }
  if (holes.other_bytes > 0) grid.Add({"[other sites]", FormatBytes(holes.other_bytes), "", "", "", ""});
  grid.AddRule();
  grid.Add({"Total", FormatBytes(holes.bytes), "", "", "", ""});
  return absl::StrCat(
      Heading("Holes of the heap", text), grid.Write(text.columns),
      Paragraph(absl::StrCat(FormatBytes(holes.empty_page_bytes),
                             " of them are pages without a live block: malloc_trim(0) would return them.",
                             holes.is_exact ? "" : " All of this is estimated from a sample of the blocks."),
                text));
}

std::string WriteLastMinutes(const ReportModel& model, const TextOptions& text) {
  const LastMinutes& last = model.last_minutes;
  if (last.to_seconds <= 0) return "";
  std::string out = Heading("The last minutes", text);
  absl::StrAppend(
      &out, Paragraph(absl::StrCat("The run was killed (", model.recording.ending, "). From ",
                                   FormatDuration(last.from_seconds), " to ", FormatDuration(last.to_seconds),
                                   " resident memory went from ", FormatBytes(last.rss_from_bytes), " to ",
                                   FormatBytes(last.rss_to_bytes), "."),
                      text));
  const auto rows = [&](const char* title, const std::vector<LastAsker>& askers) {
    if (askers.empty()) return;
    TextGrid grid({{title, false}, {"grew by"}, {"held"}});
    for (const LastAsker& asker : askers)
      grid.Add({asker.site, FormatBytes(asker.grown_bytes), FormatBytes(asker.retained_bytes)});
    absl::StrAppend(&out, grid.Write(text.columns));
  };
  rows("asked last", last.asked);
  rows("largest", last.largest);
  for (const std::string& refused : last.refused)
    absl::StrAppend(&out, Paragraph(absl::StrCat("Refused: ", refused, "."), text));
  return out;
}

}  // namespace plateau::report
