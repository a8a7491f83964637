#include "analyzer/report/page/html_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

// report_page.S holds the bundled page between these two.
extern "C" {
extern const char plateau_report_page_begin[];
extern const char plateau_report_page_end[];
}

namespace plateau::report {
namespace {

// Bytes that are no UTF-8 would make the title unreadable; keep printable ASCII and whole UTF-8 from valid
// JSON only.
std::string Title(const ReportModel& model) {
  std::string command;
  for (char c : model.recording.command) command += c >= 0x20 && c < 0x7f ? c : '?';
  return EscapeHtml(absl::StrCat("Plateau: ", verdict::VerdictTitle(model.verdict.name), ", ", command));
}

}  // namespace

absl::string_view PageTemplate() {
  return absl::string_view(plateau_report_page_begin,
                           static_cast<size_t>(plateau_report_page_end - plateau_report_page_begin));
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string EscapeJsonForHtml(absl::string_view json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

std::string WriteHtmlReport(const ReportModel& model, const PageLimits& limits) {
  const std::string json = EscapeJsonForHtml(
      BuildPageData(model, limits).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  constexpr absl::string_view kTitle = "@PLATEAU_TITLE@";
  constexpr absl::string_view kData = "@PLATEAU_DATA@";
  const absl::string_view page = PageTemplate();
  const size_t title = page.find(kTitle);
  const size_t data = page.find(kData);
  // The template is part of this binary and its test looks for both marks.
  if (title == absl::string_view::npos || data == absl::string_view::npos || data < title) return "";
  return absl::StrCat(page.substr(0, title), Title(model),
                      page.substr(title + kTitle.size(), data - title - kTitle.size()), json,
                      page.substr(data + kData.size()));
}

}  // namespace plateau::report
