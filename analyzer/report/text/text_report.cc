#include "analyzer/report/text/text_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/report/helper_processes.h"
#include "analyzer/report/process_order.h"
#include "analyzer/report/text/device_text.h"
#include "analyzer/report/text/holders_text.h"
#include "analyzer/report/text/memory_text.h"
#include "analyzer/report/text_grid.h"
#include "analyzer/report/units.h"

namespace plateau::report {
namespace {

constexpr int kDeepest = 4;  // of the processes below each other; the indent goes no further

std::string Heading(const std::string& title, const TextOptions& text) {
  return text.color ? absl::StrCat("\n\x1b[1m", title, "\x1b[0m\n") : absl::StrCat("\n", title, "\n");
}

std::string RateOrDash(double rate) { return rate == 0 ? "-" : HumanRate(rate); }

std::string Breakdown(const ReportModel& model, const TextOptions& text) {
  if (model.breakdown.empty()) return "";
  TextGrid grid({{"", false}, {"bytes"}, {"share"}, {"objects"}});
  for (const BreakdownItem& item : model.breakdown) {
    const double whole = static_cast<double>(model.totals.retained_bytes);
    grid.Add({item.name, FormatBytes(item.bytes),
              whole > 0 ? absl::StrFormat("%.1f %%", 100 * item.bytes / whole) : "", HumanCount(item.count)});
  }
  grid.AddRule();
  grid.Add({"Total", FormatBytes(model.totals.retained_bytes), "", ""});
  return absl::StrCat(Heading("What is held", text), grid.Write(text.columns));
}

std::string Hypotheses(const ReportModel& model, const TextOptions& text) {
  if (model.hypotheses.empty()) return "";
  std::string out = Heading("Hypotheses", text);
  int longest = 0;
  for (const TestedHypothesis& h : model.hypotheses)
    longest = std::max(longest, DisplayWidth(Printable(h.name)));
  longest = std::min(longest, text.columns * 2 / 5);
  for (const TestedHypothesis& h : model.hypotheses) {
    const std::string start = absl::StrFormat(
        "%-*s  %-10s  ", longest, MiddleEllipsis(Printable(h.name), longest), Printable(h.result));
    const std::vector<std::string> lines =
        WrapText(Printable(h.evidence), text.columns - DisplayWidth(start));
    absl::StrAppend(&out, start, lines.empty() ? "" : lines[0], "\n");
    for (size_t i = 1; i < lines.size(); ++i)
      absl::StrAppend(&out, std::string(DisplayWidth(start), ' '), lines[i], "\n");
  }
  return out;
}

std::string Ledger(const ReportModel& model, const TextOptions& text) {
  if (model.ledger.empty()) return "";
  auto first = std::find_if(model.ledger.begin(), model.ledger.end(),
                            [](const LedgerReading& s) { return s.step >= 1; });
  if (first == model.ledger.end()) first = model.ledger.begin();
  const LedgerReading& last = model.ledger.back();
  TextGrid grid({{"", false},
                 {absl::StrCat("step ", HumanStep(first->step))},
                 {absl::StrCat("step ", HumanStep(last.step))},
                 {"change"}});
  auto row = [&](const char* name, int64_t LedgerReading::*field, bool always = false) {
    const int64_t from = (*first).*field, to = last.*field;
    if (from == 0 && to == 0 && !always) return;
    grid.Add({name, FormatBytes(from), FormatBytes(to),
              absl::StrCat(to > from ? "+" : "", FormatBytes(to - from))});
  };
  row("live", &LedgerReading::live_bytes, true);
  const bool is_estimated = first->allocator_gap_is_estimated || last.allocator_gap_is_estimated;
  row(is_estimated ? "allocator gap, estimated" : "allocator gap", &LedgerReading::allocator_gap_bytes, true);
  row("files", &LedgerReading::rss_file_bytes);
  row("shared", &LedgerReading::rss_shmem_bytes);
  row("Plateau itself", &LedgerReading::own_bytes);
  row("unexplained", &LedgerReading::unexplained_bytes, true);
  grid.AddRule();
  row("RSS", &LedgerReading::rss_bytes, true);
  row("pinned", &LedgerReading::pinned_bytes);
  row("device live", &LedgerReading::device_live_bytes);
  row("device reserved", &LedgerReading::device_reserved_bytes);
  row("cgroup", &LedgerReading::cgroup_bytes);
  return absl::StrCat(Heading("Ledger", text), grid.Write(text.columns));
}

// The count that people print by hand each step, at a few steps from the first to the last.
std::string Tensors(const ReportModel& model, const TextOptions& text) {
  if (model.tensors.empty() || model.axis_steps.empty()) return "";
  constexpr size_t kShown = 6;
  const size_t first = model.axis_steps.size() > 1 ? 1 : 0;  // before the first step there is only the set-up
  const size_t last = model.axis_steps.size() - 1;
  std::vector<size_t> at;
  for (size_t i = 0; i < kShown; ++i) {
    const size_t bucket = first + (last - first) * i / (kShown - 1);
    if (at.empty() || at.back() != bucket) at.push_back(bucket);
  }
  std::vector<TextGrid::Column> columns = {{"", false}};
  for (const size_t bucket : at) {
    const double end = bucket < last ? model.axis_steps[bucket + 1] - 1
                                     : std::max<double>(model.axis_steps[last], model.steps.count);
    // Every second column goes first where the terminal is narrow; the first and the last stay.
    const bool is_end = columns.size() == 1 || bucket == at.back();
    columns.push_back({.title = absl::StrCat("step ", HumanStep(end)),
                       .drop = is_end                    ? 0
                               : columns.size() % 2 == 0 ? 2
                                                         : 1});
  }
  TextGrid grid(std::move(columns));
  const auto row = [&](const std::string& name, const std::vector<int64_t>& values, auto format) {
    std::vector<std::string> cells = {name};
    for (const size_t bucket : at) cells.push_back(bucket < values.size() ? format(values[bucket]) : "");
    grid.Add(std::move(cells));
  };
  for (const TensorCurve& curve : model.tensors) {
    const std::string where = curve.pool == "host" ? "host" : curve.pool.substr(0, curve.pool.rfind(' '));
    row(absl::StrCat(where, " tensors"), curve.live_count, [](int64_t n) { return HumanCount(n); });
    row(absl::StrCat(where, " bytes"), curve.live_bytes, [](int64_t n) { return FormatBytes(n); });
  }
  return absl::StrCat(Heading("Live tensors", text), grid.Write(text.columns));
}

std::string Processes(const ReportModel& model, const TextOptions& text) {
  if (model.processes.size() < 2 && model.pools.size() < 2) return "";
  std::string out;
  if (model.pools.size() > 1) {
    TextGrid grid({{"Pool", false}, {"verdict", false}, {"live"}, {"peak"}, {"growth"}});
    for (const PoolSummary& p : model.pools) {
      grid.Add({p.name, p.verdict, FormatBytes(p.live_bytes), FormatBytes(p.peak_bytes),
                RateOrDash(p.growth_bytes_per_step)});
    }
    absl::StrAppend(&out, Heading("Pools", text), grid.Write(text.columns));
  }
  if (model.processes.size() > 1) {
    TextGrid grid({{"Process", false},
                   {.title = "role", .right = false, .drop = 2},
                   {"rank"},
                   {"verdict", false},
                   {"retained"},
                   {.title = "peak RSS", .drop = 1},
                   {.title = "ended", .right = false, .drop = 3}});
    const HelperProcesses helpers = FindHelpers(model);
    for (const ProcessPlace& place : OrderAsTree(model.processes)) {
      if (helpers.is_helper[place.index]) continue;
      const Process& p = model.processes[place.index];
      const std::string indent(2 * static_cast<size_t>(std::min(place.depth, kDeepest)), ' ');
      grid.Add({absl::StrCat(indent, p.pid), p.role, p.rank.has_value() ? absl::StrCat(*p.rank) : "",
                p.verdict, FormatBytes(p.retained_bytes), FormatBytes(p.peak_rss_bytes), p.ending});
    }
    absl::StrAppend(&out, Heading("Processes", text), grid.Write(text.columns));
    for (const std::string& line : WrapText(Printable(helpers.sentence), text.columns)) {
      absl::StrAppend(&out, line, "\n");
    }
  }
  return out;
}

std::string Recording(const ReportModel& model, const TextOptions& text) {
  const RecordingInfo& r = model.recording;
  std::vector<std::string> lines = {
      absl::StrCat(HumanCount(r.events), " events in ", FormatBytes(r.trace_bytes), ", ", r.trace_files,
                   r.trace_files == 1 ? " file" : " files"),
      absl::StrCat(HumanCount(model.totals.alloc_count), " allocations of ",
                   FormatBytes(model.totals.alloc_bytes), ", ", HumanCount(model.totals.free_count),
                   " freed")};
  if (!r.sources.empty()) lines.push_back(absl::StrCat("sources: ", absl::StrJoin(r.sources, ", ")));
  for (const std::string& note : r.notes) lines.push_back(note);
  for (const auto& [name, status] : r.levels) lines.push_back(absl::StrCat(name, ": ", status));
  for (const std::string& message : model.losses.messages) lines.push_back(message);
  std::string out = Heading("Recording", text);
  for (const std::string& line : lines) {
    for (const std::string& part : WrapText(Printable(line), text.columns)) absl::StrAppend(&out, part, "\n");
  }
  return out;
}

}  // namespace

std::string WriteSiteTable(const ReportModel& model, const TableOptions& options, const TextOptions& text) {
  const SiteListing table = ListSites(model, options);
  TextGrid grid({{.title = options.group == Grouping::kSite ? "Site" : "Group", .right = false},
                 {.title = "retained"},
                 {.title = "growth/step"},
                 {.title = "at peak", .drop = 1},
                 {.title = "temporary", .drop = 3},
                 {.title = "objects", .drop = 2},
                 {.title = "tensors", .drop = 4},
                 {.title = "verdict", .right = false}});
  auto add = [&](const TableRow& row) {
    grid.Add({row.name, FormatBytes(row.retained_bytes),
              row.growth_bytes_per_step == 0 ? "-" : FormatBytes(row.growth_bytes_per_step),
              FormatBytes(row.peak_bytes), FormatBytes(row.temporary_bytes), HumanCount(row.retained_count),
              row.tensor_count == 0 ? "-" : HumanCount(row.tensor_count), row.verdict});
  };
  for (const TableRow& row : table.rows) add(row);
  if (!table.rest.empty()) grid.AddRule();
  for (const TableRow& row : table.rest) add(row);
  grid.AddRule();
  add(table.total);
  return grid.Write(text.columns);
}

std::string WriteTextReport(const ReportModel& model, const TableOptions& table, const TextOptions& text) {
  return absl::StrCat(WriteLastMinutes(model, text), Heading("Sites", text),
                      WriteSiteTable(model, table, text), WriteHolders(model, text), Breakdown(model, text),
                      Tensors(model, text), Ledger(model, text), WriteAllocators(model, text),
                      WriteHoles(model, text), Hypotheses(model, text), Processes(model, text),
                      WriteDevices(model, text), Recording(model, text));
}

}  // namespace plateau::report
