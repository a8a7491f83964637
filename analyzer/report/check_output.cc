#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "analyzer/report/check.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

const char* StatusName(CheckStatus status) {
  switch (status) {
    case CheckStatus::kPassed:
      return "passed";
    case CheckStatus::kWarned:
      return "warned";
    case CheckStatus::kFailed:
      return "failed";
  }
  return "";
}

// Text that is safe in XML 1.0: markup escaped, characters XML does not know replaced.
std::string Xml(absl::string_view text) {
  std::string out;
  for (unsigned char c : Printable(text)) {
    // U+FFFE and U+FFFF cannot stand in XML, nor can broken UTF-8; names that are not ASCII are rare enough
    // to spell out.
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if ((c & 0xc0) != 0x80) {
      out += '?';
    }
  }
  return absl::StrReplaceAll(out, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// Text that stays text in a Markdown table cell.
std::string Cell(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text),
                             {{"|", "\\|"}, {"<", "&lt;"}, {">", "&gt;"}, {"`", "'"}, {"@", "&#64;"}});
}

}  // namespace

std::string WriteCheckText(const CheckReport& report) {
  std::string out;
  for (const CheckOutcome& o : report.outcomes) {
    absl::StrAppend(&out, absl::StrFormat("%-7s", StatusName(o.status)), o.rule, ": ", o.message, "\n");
    if (o.status == CheckStatus::kPassed) continue;
    for (size_t i = 0; i < o.details.size() && i < 10; ++i)
      absl::StrAppend(&out, "         ", o.details[i], "\n");
    if (o.details.size() > 10) absl::StrAppend(&out, "         and ", o.details.size() - 10, " more\n");
  }
  absl::StrAppend(&out, report.passed() ? "check passed\n" : "check failed\n");
  return out;
}

std::string WriteCheckJson(const ReportModel& model, const CheckReport& report) {
  using Json = nlohmann::ordered_json;
  Json rules = Json::array();
  for (const CheckOutcome& o : report.outcomes) {
    rules.push_back(
        {{"rule", o.rule}, {"status", StatusName(o.status)}, {"message", o.message}, {"details", o.details}});
  }
  const Json out = {{"schema", "plateau-check/1"},
                    {"passed", report.passed()},
                    {"verdict", model.verdict.name},
                    {"rules", rules}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string WriteCheckJunit(const ReportModel& model, const CheckReport& report) {
  const auto failures = std::count_if(report.outcomes.begin(), report.outcomes.end(),
                                      [](const CheckOutcome& o) { return o.status == CheckStatus::kFailed; });
  const std::string counts =
      absl::StrCat("tests=\"", report.outcomes.size(), "\" failures=\"", failures, "\" errors=\"0\"");
  std::string out = absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ", counts,
                                 ">\n  <testsuite name=\"plateau check\" ", counts, " skipped=\"0\" time=\"",
                                 absl::StrFormat("%.3f", model.recording.duration_seconds), "\" timestamp=\"",
                                 Xml(model.recording.started_utc.substr(0, 19)), "\">\n");
  for (const CheckOutcome& o : report.outcomes) {
    absl::StrAppend(&out, "    <testcase classname=\"plateau\" name=\"", Xml(o.rule), "\" time=\"0\">\n");
    std::string text = o.message;
    for (const std::string& detail : o.details) absl::StrAppend(&text, "\n", detail);
    std::string lines;
    for (const char c : text) lines += c == '\n' ? std::string("\n") : Xml(absl::string_view(&c, 1));
    if (o.status == CheckStatus::kFailed) {
      absl::StrAppend(&out, "      <failure message=\"", Xml(o.message), "\" type=\"",
                      Xml(model.verdict.name), "\">", lines, "</failure>\n");
    } else {
      absl::StrAppend(&out, "      <system-out>", o.status == CheckStatus::kWarned ? "warning: " : "", lines,
                      "</system-out>\n");
    }
    absl::StrAppend(&out, "    </testcase>\n");
  }
  return absl::StrCat(out, "  </testsuite>\n</testsuites>\n");
}

std::string WriteCheckMarkdown(const ReportModel& model, const CheckReport& report) {
  std::string out = absl::StrCat("## Plateau: ", report.passed() ? "check passed" : "check failed", "\n\n**",
                                 verdict::VerdictTitle(model.verdict.name), ":** ",
                                 Cell(model.verdict.summary), ".\n\n", Cell(model.verdict.sentence), "\n\n");
  if (model.verdict.name == "inconclusive") {
    for (const Forecast& f : model.verdict.forecasts)
      absl::StrAppend(&out, "- ", Cell(f.label), ": ", Cell(f.sentence), "\n");
    if (!model.verdict.forecasts.empty()) absl::StrAppend(&out, "\n");
  }
  absl::StrAppend(&out, "| rule | result | why |\n|---|---|---|\n");
  for (const CheckOutcome& o : report.outcomes) {
    absl::StrAppend(&out, "| `", Cell(o.rule), "` | ",
                    o.status == CheckStatus::kFailed ? "**failed**" : StatusName(o.status), " | ",
                    Cell(o.message), " |\n");
  }
  absl::StrAppend(&out, "\n| site | retained | growth/step | verdict |\n|---|--:|--:|---|\n");
  for (size_t i = 0; i < model.sites.size() && i < 10; ++i) {
    const Site& s = model.sites[i];
    absl::StrAppend(&out, "| `", Cell(s.site), "` | ", FormatBytes(s.retained_bytes), " | ",
                    s.growth_bytes_per_step == 0 ? "-" : FormatBytes(s.growth_bytes_per_step), " | ",
                    Cell(s.verdict), " |\n");
  }
  absl::StrAppend(
      &out, "\n", HumanCount(model.steps.count), " steps, peak ", FormatBytes(model.totals.peak_bytes), ", ",
      model.losses.dropped_events == 0 ? "nothing" : HumanCount(model.losses.dropped_events), " dropped.\n");
  return out;
}

}  // namespace plateau::report
