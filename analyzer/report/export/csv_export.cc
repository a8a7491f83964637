#include "analyzer/report/export/csv_export.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace plateau::report {
namespace {

std::string WithoutControls(absl::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f') c = '?';
  }
  return clean;
}

class CsvWriter {
 public:
  explicit CsvWriter(const std::vector<const char*>& columns) {
    for (const char* column : columns) Text(column);
    End();
  }
  void Text(absl::string_view text) {
    Separate();
    // Names come from outside. Control characters could steer a terminal that shows the file. What begins with = + - @,
    // also behind white space, would be run as a formula by spreadsheets; an apostrophe makes it text.
    const std::string clean = WithoutControls(text);
    text = clean;
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool formula = first != text.npos && absl::StrContains("=+-@", text.substr(first, 1));
    if (formula || absl::StrContains(text, ",") || absl::StrContains(text, "\"") ||
        absl::StrContains(text, "\n") || absl::StrContains(text, "\r")) {
      absl::StrAppend(&out_, "\"", formula ? "'" : "", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
    } else {
      absl::StrAppend(&out_, text);
    }
  }
  void Number(int64_t value) {
    Separate();
    absl::StrAppend(&out_, value);
  }
  void Real(double value) {
    Separate();
    absl::StrAppendFormat(&out_, "%.10g", value);
  }
  void Empty() { Separate(); }
  void End() {
    out_ += "\r\n";
    first_ = true;
  }
  std::string Take() { return std::move(out_); }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string out_;
  bool first_ = true;
};

std::string Sites(const ReportModel& model) {
  CsvWriter csv({"site",        "file",           "line",           "function",
                 "module",      "pool",           "phase",          "category",
                 "verdict",     "retained_bytes", "retained_count", "growth_bytes_per_step",
                 "growth_low",  "growth_high",    "peak_bytes",     "temporary_bytes",
                 "alloc_bytes", "alloc_count",    "tensor_count",   "evidence"});
  for (const Site& s : model.sites) {
    csv.Text(s.site);
    csv.Text(s.file);
    csv.Number(s.line);
    csv.Text(s.function);
    csv.Text(s.module);
    csv.Text(s.pool);
    csv.Text(s.phase);
    csv.Text(s.category);
    csv.Text(s.verdict);
    csv.Number(s.retained_bytes);
    csv.Number(s.retained_count);
    csv.Real(s.growth_bytes_per_step);
    if (s.growth_interval.has_value()) {
      csv.Real(s.growth_interval->low);
      csv.Real(s.growth_interval->high);
    } else {
      csv.Empty();
      csv.Empty();
    }
    csv.Number(s.peak_bytes);
    csv.Number(s.temporary_bytes);
    csv.Number(s.alloc_bytes);
    csv.Number(s.alloc_count);
    csv.Number(s.tensor_count);
    csv.Text(s.evidence);
    csv.End();
  }
  for (const Leftover& l : model.leftovers) {
    csv.Text(l.name);
    for (int i = 0; i < 8; ++i) csv.Empty();
    csv.Number(l.retained_bytes);
    csv.Number(l.retained_count);
    for (int i = 0; i < 3; ++i) csv.Empty();
    csv.Number(l.peak_bytes);
    csv.Number(l.temporary_bytes);
    csv.Number(l.alloc_bytes);
    csv.Number(l.alloc_count);
    csv.Empty();
    csv.Text(l.explanation);
    csv.End();
  }
  return csv.Take();
}

std::string Ledger(const ReportModel& model) {
  CsvWriter csv({"time_seconds", "step", "live_bytes", "rss_bytes", "rss_anon_bytes", "rss_file_bytes",
                 "rss_shmem_bytes", "allocator_gap_bytes", "own_bytes", "pinned_bytes", "device_live_bytes",
                 "device_reserved_bytes", "cgroup_bytes", "unexplained_bytes"});
  for (const LedgerReading& s : model.ledger) {
    csv.Real(s.time_seconds);
    csv.Real(s.step);
    for (int64_t value : {s.live_bytes, s.rss_bytes, s.rss_anon_bytes, s.rss_file_bytes, s.rss_shmem_bytes,
                          s.allocator_gap_bytes, s.own_bytes, s.pinned_bytes, s.device_live_bytes,
                          s.device_reserved_bytes, s.cgroup_bytes, s.unexplained_bytes}) {
      csv.Number(value);
    }
    csv.End();
  }
  return csv.Take();
}

std::string Series(const ReportModel& model) {
  CsvWriter csv({"site", "step", "live_bytes", "survivor_bytes"});
  for (const Site& s : model.sites) {
    for (size_t i = 0; i < s.live_bytes.size() && i < model.axis_steps.size(); ++i) {
      csv.Text(s.site);
      csv.Real(model.axis_steps[i]);
      csv.Number(s.live_bytes[i]);
      csv.Number(i < s.survivor_bytes.size() ? s.survivor_bytes[i] : 0);
      csv.End();
    }
  }
  return csv.Take();
}

std::string Processes(const ReportModel& model) {
  CsvWriter csv({"pid", "parent_pid", "role", "rank", "verdict", "retained_bytes", "peak_bytes",
                 "peak_rss_bytes", "growth_bytes_per_step", "ending", "command"});
  for (const Process& p : model.processes) {
    csv.Number(p.pid);
    csv.Number(p.parent_pid);
    csv.Text(p.role);
    if (p.rank.has_value()) {
      csv.Number(*p.rank);
    } else {
      csv.Empty();
    }
    csv.Text(p.verdict);
    csv.Number(p.retained_bytes);
    csv.Number(p.peak_bytes);
    csv.Number(p.peak_rss_bytes);
    csv.Real(p.growth_bytes_per_step);
    csv.Text(p.ending);
    csv.Text(p.command);
    csv.End();
  }
  return csv.Take();
}

std::string Hypotheses(const ReportModel& model) {
  CsvWriter csv({"name", "result", "evidence"});
  for (const TestedHypothesis& h : model.hypotheses) {
    csv.Text(h.name);
    csv.Text(h.result);
    csv.Text(h.evidence);
    csv.End();
  }
  return csv.Take();
}

std::string Holders(const ReportModel& model) {
  CsvWriter csv({"site", "path", "share", "bytes", "end", "root", "root_owner", "container", "container_type",
                 "items", "bound", "items_per_step"});
  const auto number = [&csv](const std::optional<double>& value) { value ? csv.Real(*value) : csv.Empty(); };
  for (const Site& s : model.sites) {
    for (const HolderPath& p : s.held_by) {
      csv.Text(s.site);
      csv.Text(p.text);
      csv.Real(p.share);
      csv.Number(p.bytes);
      csv.Text(p.end);
      csv.Text(p.root);
      csv.Text(p.root_owner);
      csv.Text(p.container);
      csv.Text(p.container_type);
      number(p.items);
      number(p.bound);
      number(p.items_per_step);
      csv.End();
    }
  }
  return csv.Take();
}

}  // namespace

absl::StatusOr<std::string> WriteCsv(const ReportModel& model, absl::string_view table) {
  if (table == "sites") return Sites(model);
  if (table == "ledger") return Ledger(model);
  if (table == "series") return Series(model);
  if (table == "processes") return Processes(model);
  if (table == "hypotheses") return Hypotheses(model);
  if (table == "holders") return Holders(model);
  return absl::InvalidArgumentError(absl::StrCat(
      "no CSV table \"", table, "\"; there are sites, ledger, series, processes, hypotheses and holders"));
}

}  // namespace plateau::report
