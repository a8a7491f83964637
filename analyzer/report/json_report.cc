#include "analyzer/report/json_report.h"

#include <algorithm>
#include <cmath>

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

Json Maybe(const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(nullptr); }
Json Maybe(const std::optional<Interval>& value) {
  return value.has_value() ? Json::array({value->low, value->high}) : Json(nullptr);
}

Json Numbers(const std::vector<EvidenceNumber>& numbers) {
  Json out = Json::object();
  for (const EvidenceNumber& number : numbers) out[number.name] = number.value;
  return out;
}

Json ToJson(const Forecast& f) {
  return {{"label", f.label},
          {"sentence", f.sentence},
          {"from_step", f.from_step},
          {"from_bytes", f.from_bytes},
          {"rate_bytes_per_step", f.rate_bytes_per_step},
          {"rate_interval", Maybe(f.rate_interval)},
          {"plateau_bytes", Maybe(f.plateau_bytes)},
          {"plateau_interval", Maybe(f.plateau_interval)},
          {"plateau_step", Maybe(f.plateau_step)},
          {"plateau_step_interval", Maybe(f.plateau_step_interval)},
          {"limit_step", Maybe(f.limit_step)},
          {"limit_step_interval", Maybe(f.limit_step_interval)}};
}

Json Headline(const Verdict& v) {
  Json forecasts = Json::array();
  for (const Forecast& forecast : v.forecasts) forecasts.push_back(ToJson(forecast));
  return {{"verdict", v.name},
          {"reason", v.reason},
          {"sentence", v.sentence},
          {"why", v.why},
          {"numbers", Numbers(v.numbers)},
          {"outcome", v.outcome},
          {"forecasts", forecasts},
          {"detectable_bytes_per_step", Maybe(v.detectable_bytes_per_step)},
          {"needs_steps", Maybe(v.needs_steps)},
          {"limit_bytes", Maybe(v.limit_bytes)},
          {"next_steps", v.next_steps}};
}

Json ToJson(const RecordingInfo& r) {
  Json environment = Json::object();
  for (const auto& [key, value] : r.environment) environment[key] = value;
  Json levels = Json::object();
  for (const auto& [key, value] : r.levels) levels[key] = value;
  return {{"path", r.path},
          {"command", r.command},
          {"mode", r.mode},
          {"sample_bytes", r.sample_bytes},
          {"exact_from_bytes", r.exact_from_bytes},
          {"started_utc", r.started_utc},
          {"duration_seconds", r.duration_seconds},
          {"ending", r.ending},
          {"trace_bytes", r.trace_bytes},
          {"trace_files", r.trace_files},
          {"events", r.events},
          {"sources", r.sources},
          {"notes", r.notes},
          {"environment", environment},
          {"levels", levels}};
}

Json StepsToJson(const Steps& s) {
  return {{"count", s.count},
          {"source", s.source},
          {"confidence", s.confidence},
          {"epochs", s.epoch_ends.size()},
          {"evaluations", s.evaluations.size()},
          {"steps_per_epoch", Maybe(s.steps_per_epoch)},
          {"epoch_ends", s.epoch_ends},
          {"evaluation_steps", s.evaluations}};
}

Json TotalsToJson(const ReportModel& model) {
  const Totals& t = model.totals;
  Json leftovers = Json::array();
  for (const Leftover& l : model.leftovers) {
    leftovers.push_back({{"name", l.name},
                         {"explanation", l.explanation},
                         {"retained_bytes", l.retained_bytes},
                         {"retained_count", l.retained_count},
                         {"peak_bytes", l.peak_bytes},
                         {"temporary_bytes", l.temporary_bytes},
                         {"alloc_bytes", l.alloc_bytes},
                         {"alloc_count", l.alloc_count}});
  }
  return {{"alloc_count", t.alloc_count},         {"alloc_bytes", t.alloc_bytes},
          {"free_count", t.free_count},           {"free_bytes", t.free_bytes},
          {"retained_bytes", t.retained_bytes},   {"retained_count", t.retained_count},
          {"peak_bytes", t.peak_bytes},           {"peak_step", t.peak_step},
          {"temporary_bytes", t.temporary_bytes}, {"leftovers", leftovers}};
}

Json ToJson(const LedgerSample& s) {
  return {{"time_seconds", s.time_seconds},
          {"step", s.step},
          {"live_bytes", s.live_bytes},
          {"rss_bytes", s.rss_bytes},
          {"rss_anon_bytes", s.rss_anon_bytes},
          {"rss_file_bytes", s.rss_file_bytes},
          {"rss_shmem_bytes", s.rss_shmem_bytes},
          {"allocator_gap_bytes", s.allocator_gap_bytes},
          {"allocator_gap_estimated", s.allocator_gap_is_estimated},
          {"own_bytes", s.own_bytes},
          {"pinned_bytes", s.pinned_bytes},
          {"device_live_bytes", s.device_live_bytes},
          {"device_reserved_bytes", s.device_reserved_bytes},
          {"cgroup_bytes", s.cgroup_bytes},
          {"unexplained_bytes", s.unexplained_bytes},
          {"tensor_bytes", s.tensor_bytes},
          {"tensor_count", s.tensor_count}};
}

Json ToJson(const Pool& p) {
  return {{"name", p.name},
          {"verdict", p.verdict},
          {"evidence", p.evidence},
          {"live_bytes", p.live_bytes},
          {"peak_bytes", p.peak_bytes},
          {"reserved_bytes", p.reserved_bytes},
          {"growth_bytes_per_step", p.growth_bytes_per_step}};
}

void AddLevels(const DeviceLevels& l, Json* out) {
  (*out)["tensor_bytes"] = l.tensor_bytes;
  (*out)["reserved_bytes"] = l.reserved_bytes;
  (*out)["torch_reserved_bytes"] = l.torch_reserved_bytes;
  (*out)["free_in_segments_bytes"] = l.free_in_segments_bytes;
  (*out)["largest_free_bytes"] = l.largest_free_bytes;
  (*out)["async_reserved_bytes"] = l.async_reserved_bytes;
  (*out)["async_used_bytes"] = l.async_used_bytes;
  (*out)["limit_bytes"] = l.limit_bytes;
  (*out)["driver_used_bytes"] = l.driver_used_bytes;
  (*out)["fragmentation"] = l.fragmentation;
}

Json ToJson(const Device& d) {
  Json out = {{"device", d.device}};
  AddLevels(d.levels, &out);
  out["tensor_peak_bytes"] = d.tensor_peak_bytes;
  out["reserved_peak_bytes"] = d.reserved_peak_bytes;
  out["graph_private_bytes"] = d.graph_private_bytes;
  out["torch_check"] = nullptr;
  if (d.torch_check) {
    out["torch_check"] = {{"compared", d.torch_check->compared},
                          {"mismatches", d.torch_check->mismatches},
                          {"last_difference_bytes", d.torch_check->last_difference_bytes},
                          {"blocks_outside_segments", d.torch_check->blocks_outside_segments},
                          {"reserved_exceeded", d.torch_check->reserved_exceeded}};
  }
  return out;
}

Json ToJson(const OutOfMemory& o) {
  Json out = {{"time_seconds", o.time_seconds},
              {"step", o.step},
              {"device", o.device},
              {"level", o.level},
              {"call", o.call},
              {"requested_bytes", o.requested_bytes},
              {"site", o.site},
              {"file", o.file},
              {"line", o.line}};
  AddLevels(o.levels, &out);
  return out;
}

Json ToJson(const Process& p) {
  return {{"pid", p.pid},
          {"parent_pid", p.parent_pid},
          {"role", p.role},
          {"rank", p.rank.has_value() ? Json(*p.rank) : Json(nullptr)},
          {"exe", p.exe},
          {"command", p.command},
          {"ending", p.ending},
          {"start_seconds", p.start_seconds},
          {"end_seconds", p.end_seconds},
          {"verdict", p.verdict},
          {"retained_bytes", p.retained_bytes},
          {"peak_bytes", p.peak_bytes},
          {"peak_rss_bytes", p.peak_rss_bytes},
          {"growth_bytes_per_step", p.growth_bytes_per_step},
          {"dropped_events", p.dropped_events}};
}

Json FrameToJson(const Frame& f) {
  return {
      {"function", f.function}, {"file", f.file}, {"line", f.line}, {"module", f.module}, {"kind", f.kind}};
}

Json SharesToJson(const std::vector<Share>& shares) {
  Json out = Json::array();
  for (const Share& s : shares) {
    out.push_back({{"name", s.name},
                   {"retained_bytes", s.retained_bytes},
                   {"retained_count", s.retained_count},
                   {"peak_bytes", s.peak_bytes},
                   {"temporary_bytes", s.temporary_bytes},
                   {"growth_bytes_per_step", s.growth_bytes_per_step}});
  }
  return out;
}

Json SiteToJson(const ReportModel& model, const Site& s, bool series) {
  Json stack = Json::array();
  for (uint32_t frame : s.stack) {
    if (frame < model.frames.size()) stack.push_back(FrameToJson(model.frames[frame]));
  }
  Json out = {{"site", s.site},
              {"file", s.file},
              {"line", s.line},
              {"function", s.function},
              {"module", s.module},
              {"pool", s.pool},
              {"phase", s.phase},
              {"category", s.category},
              {"source_line", s.source_line},
              {"retained_bytes", s.retained_bytes},
              {"retained_count", s.retained_count},
              {"growth_bytes_per_step", s.growth_bytes_per_step},
              {"growth_interval", Maybe(s.growth_interval)},
              {"peak_bytes", s.peak_bytes},
              {"temporary_bytes", s.temporary_bytes},
              {"alloc_bytes", s.alloc_bytes},
              {"alloc_count", s.alloc_count},
              {"free_count", s.free_count},
              {"tensor_count", s.tensor_count},
              {"tensor_bytes", s.tensor_bytes},
              {"first_step", s.first_step},
              {"last_step", s.last_step},
              {"verdict", s.verdict},
              {"evidence", s.evidence},
              {"numbers", Numbers(s.numbers)},
              {"threads", SharesToJson(s.threads)},
              {"processes", SharesToJson(s.processes)}};
  if (series) {
    out["live_bytes"] = s.live_bytes;
    out["survivor_bytes"] = s.survivor_bytes;
    out["tensor_live_count"] = s.tensor_live_count;
    out["tensor_live_bytes"] = s.tensor_live_bytes;
    out["age_bytes"] = s.age_bytes;
  }
  out["stack"] = std::move(stack);
  return out;
}

// Columns, because there may be many: frames as rows of five, nodes as one list per value.
void AddStacks(const ReportModel& model, Json& out) {
  Json& frames = out["frames"] = Json::array();
  for (const Frame& f : model.frames) frames.push_back({f.function, f.file, f.line, f.module, f.kind});
  Json& stacks = out["stacks"];
  auto column = [&](const char* name, auto field) {
    Json& values = stacks[name] = Json::array();
    for (const StackNode& node : model.stacks) values.push_back(node.*field);
  };
  column("parent", &StackNode::parent);
  column("frame", &StackNode::frame);
  column("site", &StackNode::site);
  column("retained_bytes", &StackNode::retained_bytes);
  column("retained_count", &StackNode::retained_count);
  column("growth_bytes_per_step", &StackNode::growth_bytes_per_step);
  column("peak_bytes", &StackNode::peak_bytes);
  column("temporary_bytes", &StackNode::temporary_bytes);
  column("alloc_bytes", &StackNode::alloc_bytes);
  column("alloc_count", &StackNode::alloc_count);
}

}  // namespace

nlohmann::ordered_json SummaryToJson(const ReportModel& model) {
  Json out;
  out["schema"] = kReportSchema;
  out["tool_version"] = model.tool_version;
  out["verdict"] = model.verdict.name;
  out["headline"] = Headline(model.verdict);
  out["recording"] = ToJson(model.recording);
  out["steps"] = StepsToJson(model.steps);
  out["totals"] = TotalsToJson(model);
  const Losses& l = model.losses;
  out["drops"] = {
      {"events", l.dropped_events}, {"bytes", l.dropped_bytes}, {"unknown_frees", l.unknown_frees}};
  out["damage"] = {{"blocks", l.damaged_blocks},           {"bytes", l.damaged_bytes},
                   {"missing_blocks", l.missing_blocks},   {"headers", l.damaged_headers},
                   {"skipped_records", l.skipped_records}, {"messages", l.messages}};
  auto list = [&](const char* name, const auto& rows) {
    Json& array = out[name] = Json::array();
    for (const auto& row : rows) array.push_back(ToJson(row));
  };
  list("pools", model.pools);
  list("devices", model.devices);
  list("out_of_memory", model.out_of_memory);
  out["out_of_memory_count"] = model.out_of_memory_count;
  list("processes", model.processes);
  Json& hypotheses = out["hypotheses"] = Json::array();
  for (const Hypothesis& h : model.hypotheses) {
    hypotheses.push_back({{"name", h.name}, {"result", h.result}, {"evidence", h.evidence}});
  }
  Json& patterns = out["patterns"] = Json::array();
  for (const Pattern& p : model.patterns) {
    patterns.push_back({{"id", p.id},
                        {"title", p.title},
                        {"explanation", p.explanation},
                        {"fix", p.fix},
                        {"evidence", p.evidence}});
  }
  Json& breakdown = out["breakdown"] = Json::array();
  for (const BreakdownItem& b : model.breakdown) {
    breakdown.push_back({{"name", b.name}, {"bytes", b.bytes}, {"count", b.count}, {"how", b.how}});
  }
  Json& phases = out["phases"] = Json::array();
  for (const Phase& p : model.phases) {
    phases.push_back({{"kind", p.kind},
                      {"label", p.label},
                      {"from_step", p.from_step},
                      {"to_step", p.to_step},
                      {"from_seconds", p.from_seconds},
                      {"to_seconds", p.to_seconds}});
  }
  return out;
}

nlohmann::ordered_json ReportToJson(const ReportModel& model, const JsonOptions& options) {
  Json out = SummaryToJson(model);
  Json& ledger = out["ledger"] = Json::array();
  for (const LedgerSample& sample : model.ledger) ledger.push_back(ToJson(sample));
  out["axis"] = {{"steps", model.axis_steps}, {"seconds", model.axis_seconds}};
  Json& tensors = out["tensors"] = Json::array();
  for (const TensorCurve& curve : model.tensors) {
    tensors.push_back(
        {{"pool", curve.pool}, {"live_count", curve.live_count}, {"live_bytes", curve.live_bytes}});
  }
  Json& sites = out["sites"] = Json::array();
  const size_t shown =
      options.max_sites == 0 ? model.sites.size() : std::min(options.max_sites, model.sites.size());
  for (size_t i = 0; i < shown; ++i)
    sites.push_back(SiteToJson(model, model.sites[i], options.include_series));
  if (shown < model.sites.size()) {
    int64_t bytes = 0;
    for (size_t i = shown; i < model.sites.size(); ++i) bytes += model.sites[i].retained_bytes;
    out["sites_not_shown"] = {{"count", model.sites.size() - shown}, {"retained_bytes", bytes}};
  }
  if (options.include_stacks) AddStacks(model, out);
  return out;
}

std::string WriteJsonReport(const ReportModel& model, const JsonOptions& options) {
  // NaN and infinities become null in nlohmann's output, bad UTF-8 the replacement character.
  return ReportToJson(model, options).dump(options.indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plateau::report
