#include "analyzer/report/metrics/open_metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/base/valid_utf8.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

constexpr size_t kSites = 10;
constexpr size_t kProcesses = 64;

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string LabelText(const Labels& labels) {
  if (labels.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : labels) {
    parts.push_back(absl::StrCat(
        name, "=\"", absl::StrReplaceAll(ValidUtf8(value), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
        "\""));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
}

class Metrics {
 public:
  // Samples that follow belong to this family.
  void Family(const char* name, const char* type, const char* unit, const char* help) {
    name_ = name;
    suffix_ = std::string(type) == "counter" ? "_total" : "";
    absl::StrAppend(&out_, "# TYPE ", name, " ", type, "\n");
    if (*unit != '\0') absl::StrAppend(&out_, "# UNIT ", name, " ", unit, "\n");
    absl::StrAppend(&out_, "# HELP ", name, " ", help, "\n");
  }
  void Sample(double value, const Labels& labels = {}) {
    absl::StrAppend(&out_, name_, suffix_, LabelText(labels), absl::StrFormat(" %.15g\n", value));
  }
  std::string Take() { return std::move(out_) + "# EOF\n"; }

 private:
  std::string out_, name_, suffix_;
};

std::optional<double> StepsToLimit(const ReportModel& model) {
  std::optional<double> steps;
  for (const Forecast& forecast : model.verdict.forecasts) {
    if (!forecast.limit_step) continue;
    const double left = std::max(0.0, *forecast.limit_step - static_cast<double>(model.steps.count));
    if (!steps || left < *steps) steps = left;
  }
  return steps;
}

void AddMemory(const ReportModel& model, Metrics* out) {
  const LedgerReading now = model.ledger.empty() ? LedgerReading{} : model.ledger.back();
  const std::tuple<const char*, const char*, int64_t> rows[] = {
      {"plateau_live_bytes",
       "Bytes that are allocated and not freed, in the process that the verdict is about.", now.live_bytes},
      {"plateau_rss_bytes", "Resident memory of that process.", now.rss_bytes},
      {"plateau_allocator_gap_bytes", "Held by the allocator beside what is live.", now.allocator_gap_bytes},
      {"plateau_unexplained_bytes", "Resident memory that no part of the ledger explains.",
       now.unexplained_bytes},
      {"plateau_own_bytes", "Of the recorder itself.", now.own_bytes},
      {"plateau_device_live_bytes", "Live memory of devices.", now.device_live_bytes},
      {"plateau_device_reserved_bytes", "Memory of devices that is reserved.", now.device_reserved_bytes}};
  for (const auto& [name, help, value] : rows) {
    out->Family(name, "gauge", "bytes", help);
    out->Sample(static_cast<double>(value));
  }
}

void AddSites(const ReportModel& model, Metrics* out) {
  std::map<std::string, double> by_name;  // sites of one name are one series
  for (const Site& site : model.sites) {
    if (site.growth_bytes_per_step > 0) by_name[site.site] += site.growth_bytes_per_step;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, growth] : by_name) order.emplace_back(-growth, name);
  std::sort(order.begin(), order.end());
  if (order.size() > kSites) order.resize(kSites);
  out->Family("plateau_growth_bytes_per_step", "gauge", "", "Growth of the sites that grow most.");
  for (const auto& [growth, name] : order) out->Sample(-growth, {{"site", name}});
}

void AddProcesses(const ReportModel& model, Metrics* out) {
  std::vector<const Process*> processes;
  for (const Process& process : model.processes) processes.push_back(&process);
  std::stable_sort(processes.begin(), processes.end(),
                   [](const Process* a, const Process* b) { return a->peak_rss_bytes > b->peak_rss_bytes; });
  if (processes.size() > kProcesses) processes.resize(kProcesses);
  const auto labels = [](const Process& process) {
    return Labels{{"pid", absl::StrCat(process.pid)},
                  {"role", process.role},
                  {"rank", process.rank ? absl::StrCat(*process.rank) : ""}};
  };
  out->Family("plateau_process_live_bytes", "gauge", "bytes",
              "Live memory by process, the largest processes.");
  for (const Process* process : processes)
    out->Sample(static_cast<double>(process->retained_bytes), labels(*process));
  out->Family("plateau_process_growth_bytes_per_step", "gauge", "",
              "Growth by process, the largest processes.");
  for (const Process* process : processes) out->Sample(process->growth_bytes_per_step, labels(*process));
}

}  // namespace

std::string WriteOpenMetrics(const ReportModel& model, const LookState& look) {
  Metrics out;
  out.Family("plateau_running", "gauge", "", "Whether a process of the recording is alive.");
  out.Sample(look.is_running ? 1 : 0);
  out.Family("plateau_look_timestamp_seconds", "gauge", "seconds", "When the recording was read last.");
  out.Sample(look.time_seconds);
  out.Family("plateau_failed_looks", "counter", "", "Times the recording could not be read.");
  out.Sample(static_cast<double>(look.failed_looks));
  out.Family("plateau_verdict", "gauge", "", "1 for the verdict of the run so far, 0 for the others.");
  for (const verdict::VerdictRow& row : verdict::AllVerdicts())
    out.Sample(row.name == model.verdict.name ? 1 : 0, {{"kind", std::string(row.name)}});
  out.Family("plateau_steps", "counter", "", "Steps of the training so far.");
  out.Sample(static_cast<double>(model.steps.count));
  out.Family("plateau_dropped_events", "counter", "", "Events that were not recorded.");
  out.Sample(static_cast<double>(model.losses.dropped_events));
  // Without a forecast there is no sample: an alert on it then stays silent.
  out.Family("plateau_steps_to_limit", "gauge", "",
             "Steps until the memory limit is reached, at the present growth.");
  if (const auto steps = StepsToLimit(model)) out.Sample(*steps);
  out.Family("plateau_limit_bytes", "gauge", "bytes", "The memory limit that forecasts refer to.");
  if (model.verdict.limit_bytes) out.Sample(*model.verdict.limit_bytes);
  AddMemory(model, &out);
  AddSites(model, &out);
  AddProcesses(model, &out);
  return out.Take();
}

}  // namespace plateau::report
