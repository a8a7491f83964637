#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/json_report.h"

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;  // evidence keeps its order

// A whole number; std::out_of_range for one that does not fit, which a cast would leave undefined.
template <typename T>
T Whole(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    // The highest value itself may not be a double; the next power of two is.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(number >= static_cast<double>(std::numeric_limits<T>::lowest()) && number < end))
      throw std::out_of_range(absl::StrCat("the number ", number, " does not fit its field"));
  }
  return value.get<T>();
}

// Missing or null leaves the default; a wrong type throws nlohmann's type_error, which ReadJsonReport turns
// into a status.
template <typename T>
void Get(const Json& from, const char* key, T& to) {
  const auto at = from.find(key);
  if (at == from.end() || at->is_null()) return;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    to = Whole<T>(*at);
  } else {
    at->get_to(to);
  }
}

void Get(const Json& from, const char* key, std::vector<int64_t>& to) {
  const auto at = from.find(key);
  if (at == from.end() || at->is_null()) return;
  for (const Json& value : *at) to.push_back(Whole<int64_t>(value));
}

void Get(const Json& from, const char* key, std::optional<double>& to) {
  const auto at = from.find(key);
  if (at != from.end() && !at->is_null()) to = at->get<double>();
}

void Get(const Json& from, const char* key, std::optional<Interval>& to) {
  const auto at = from.find(key);
  if (at != from.end() && at->is_array() && at->size() == 2 && (*at)[0].is_number() && (*at)[1].is_number()) {
    to = Interval{(*at)[0].get<double>(), (*at)[1].get<double>()};
  }
}

void Get(const Json& from, const char* key, std::vector<EvidenceNumber>& to) {
  const auto at = from.find(key);
  if (at == from.end()) return;
  for (const auto& [name, value] : at->items()) {
    if (value.is_number()) to.push_back({name, value.get<double>()});
  }
}

template <typename Row, typename Read>
void GetRows(const Json& from, const char* key, std::vector<Row>& to, Read read) {
  const auto at = from.find(key);
  if (at == from.end()) return;
  for (const Json& item : *at) read(item, to.emplace_back());
}

void ReadVerdict(const Json& j, Verdict& v) {
  Get(j, "verdict", v.name);
  Get(j, "reason", v.reason);
  Get(j, "sentence", v.sentence);
  Get(j, "why", v.why);
  Get(j, "numbers", v.numbers);
  Get(j, "outcome", v.outcome);
  Get(j, "detectable_bytes_per_step", v.detectable_bytes_per_step);
  Get(j, "needs_steps", v.needs_steps);
  Get(j, "limit_bytes", v.limit_bytes);
  Get(j, "next_steps", v.next_steps);
  GetRows(j, "forecasts", v.forecasts, [](const Json& item, Forecast& f) {
    Get(item, "label", f.label);
    Get(item, "sentence", f.sentence);
    Get(item, "from_step", f.from_step);
    Get(item, "from_bytes", f.from_bytes);
    Get(item, "rate_bytes_per_step", f.rate_bytes_per_step);
    Get(item, "rate_interval", f.rate_interval);
    Get(item, "plateau_bytes", f.plateau_bytes);
    Get(item, "plateau_interval", f.plateau_interval);
    Get(item, "plateau_step", f.plateau_step);
    Get(item, "plateau_step_interval", f.plateau_step_interval);
    Get(item, "limit_step", f.limit_step);
    Get(item, "limit_step_interval", f.limit_step_interval);
  });
}

template <typename Row>
void ReadCounts(const Json& j, Row& row) {
  Get(j, "retained_bytes", row.retained_bytes);
  Get(j, "retained_count", row.retained_count);
  Get(j, "peak_bytes", row.peak_bytes);
  Get(j, "temporary_bytes", row.temporary_bytes);
  Get(j, "alloc_bytes", row.alloc_bytes);
  Get(j, "alloc_count", row.alloc_count);
}

void ReadShare(const Json& j, Share& s) {
  Get(j, "name", s.name);
  Get(j, "retained_bytes", s.retained_bytes);
  Get(j, "retained_count", s.retained_count);
  Get(j, "peak_bytes", s.peak_bytes);
  Get(j, "temporary_bytes", s.temporary_bytes);
  Get(j, "growth_bytes_per_step", s.growth_bytes_per_step);
}

// The index of a frame in the model, which is added when it is new.
using FrameKey = std::tuple<std::string, std::string, int, std::string>;
using FrameIndex = std::map<FrameKey, uint32_t>;

uint32_t IndexOf(const Frame& frame, ReportModel& model, FrameIndex& known) {
  const auto [at, added] = known.try_emplace({frame.function, frame.file, frame.line, frame.module},
                                             static_cast<uint32_t>(model.frames.size()));
  if (added) model.frames.push_back(frame);
  return at->second;
}

// A tree from outside: every index is checked, since everybody else relies on them.
void ReadStacks(const Json& j, ReportModel& model, FrameIndex& known) {
  const auto frames = j.find("frames");
  const auto stacks = j.find("stacks");
  if (frames == j.end() || stacks == j.end()) return;
  for (const Json& row : *frames) {
    Frame frame;
    row.at(0).get_to(frame.function);
    row.at(1).get_to(frame.file);
    row.at(2).get_to(frame.line);
    row.at(3).get_to(frame.module);
    row.at(4).get_to(frame.kind);
    known.try_emplace({frame.function, frame.file, frame.line, frame.module},
                      static_cast<uint32_t>(model.frames.size()));
    model.frames.push_back(std::move(frame));
  }
  const size_t count = stacks->at("parent").size();
  model.stacks.resize(count);
  auto column = [&](const char* name, auto field) {
    const Json& values = stacks->at(name);
    for (size_t i = 0; i < count; ++i) values.at(i).get_to(model.stacks[i].*field);
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
  for (size_t i = 0; i < count; ++i) {
    const StackNode& node = model.stacks[i];
    if (node.parent >= static_cast<int32_t>(i) || node.parent < -1 || node.frame >= model.frames.size()) {
      throw std::out_of_range("stack node " + std::to_string(i) + " refers to nothing");
    }
  }
}

void ReadSite(const Json& j, ReportModel& model, FrameIndex& known, Site& s) {
  ReadCounts(j, s);
  Get(j, "site", s.site);
  Get(j, "file", s.file);
  Get(j, "line", s.line);
  Get(j, "function", s.function);
  Get(j, "module", s.module);
  Get(j, "pool", s.pool);
  Get(j, "phase", s.phase);
  Get(j, "category", s.category);
  Get(j, "source_line", s.source_line);
  Get(j, "growth_bytes_per_step", s.growth_bytes_per_step);
  Get(j, "growth_interval", s.growth_interval);
  Get(j, "free_count", s.free_count);
  Get(j, "tensor_count", s.tensor_count);
  Get(j, "tensor_bytes", s.tensor_bytes);
  Get(j, "first_step", s.first_step);
  Get(j, "last_step", s.last_step);
  Get(j, "verdict", s.verdict);
  Get(j, "evidence", s.evidence);
  Get(j, "numbers", s.numbers);
  Get(j, "live_bytes", s.live_bytes);
  Get(j, "survivor_bytes", s.survivor_bytes);
  Get(j, "tensor_live_count", s.tensor_live_count);
  Get(j, "tensor_live_bytes", s.tensor_live_bytes);
  GetRows(j, "threads", s.threads, ReadShare);
  GetRows(j, "processes", s.processes, ReadShare);
  if (const auto ages = j.find("age_bytes"); ages != j.end()) {
    for (size_t i = 0; i < ages->size() && i < s.age_bytes.size(); ++i)
      s.age_bytes[i] = Whole<int64_t>((*ages)[i]);
  }
  if (const auto stack = j.find("stack"); stack != j.end()) {
    for (const Json& item : *stack) {
      Frame f;
      Get(item, "function", f.function);
      Get(item, "file", f.file);
      Get(item, "line", f.line);
      Get(item, "module", f.module);
      Get(item, "kind", f.kind);
      s.stack.push_back(IndexOf(f, model, known));
    }
  }
}

void ReadRecording(const Json& j, RecordingInfo& r) {
  Get(j, "path", r.path);
  Get(j, "command", r.command);
  Get(j, "mode", r.mode);
  Get(j, "sample_bytes", r.sample_bytes);
  Get(j, "exact_from_bytes", r.exact_from_bytes);
  Get(j, "started_utc", r.started_utc);
  Get(j, "duration_seconds", r.duration_seconds);
  Get(j, "ending", r.ending);
  Get(j, "trace_bytes", r.trace_bytes);
  Get(j, "trace_files", r.trace_files);
  Get(j, "events", r.events);
  Get(j, "sources", r.sources);
  Get(j, "notes", r.notes);
  if (const auto env = j.find("environment"); env != j.end()) {
    for (const auto& [key, value] : env->items()) r.environment.emplace_back(key, value.get<std::string>());
  }
  if (const auto levels = j.find("levels"); levels != j.end()) {
    for (const auto& [key, value] : levels->items()) r.levels.emplace_back(key, value.get<std::string>());
  }
}

void ReadLedger(const Json& j, LedgerSample& s) {
  Get(j, "time_seconds", s.time_seconds);
  Get(j, "step", s.step);
  Get(j, "live_bytes", s.live_bytes);
  Get(j, "rss_bytes", s.rss_bytes);
  Get(j, "rss_anon_bytes", s.rss_anon_bytes);
  Get(j, "rss_file_bytes", s.rss_file_bytes);
  Get(j, "rss_shmem_bytes", s.rss_shmem_bytes);
  Get(j, "allocator_gap_bytes", s.allocator_gap_bytes);
  Get(j, "allocator_gap_estimated", s.allocator_gap_is_estimated);
  Get(j, "own_bytes", s.own_bytes);
  Get(j, "pinned_bytes", s.pinned_bytes);
  Get(j, "device_live_bytes", s.device_live_bytes);
  Get(j, "device_reserved_bytes", s.device_reserved_bytes);
  Get(j, "cgroup_bytes", s.cgroup_bytes);
  Get(j, "unexplained_bytes", s.unexplained_bytes);
  Get(j, "tensor_bytes", s.tensor_bytes);
  Get(j, "tensor_count", s.tensor_count);
}

void ReadLevels(const Json& j, DeviceLevels& l) {
  Get(j, "tensor_bytes", l.tensor_bytes);
  Get(j, "reserved_bytes", l.reserved_bytes);
  Get(j, "torch_reserved_bytes", l.torch_reserved_bytes);
  Get(j, "free_in_segments_bytes", l.free_in_segments_bytes);
  Get(j, "largest_free_bytes", l.largest_free_bytes);
  Get(j, "async_reserved_bytes", l.async_reserved_bytes);
  Get(j, "async_used_bytes", l.async_used_bytes);
  Get(j, "limit_bytes", l.limit_bytes);
  Get(j, "driver_used_bytes", l.driver_used_bytes);
  Get(j, "fragmentation", l.fragmentation);
}

void ReadDevice(const Json& j, Device& d) {
  Get(j, "device", d.device);
  ReadLevels(j, d.levels);
  Get(j, "tensor_peak_bytes", d.tensor_peak_bytes);
  Get(j, "reserved_peak_bytes", d.reserved_peak_bytes);
  Get(j, "graph_private_bytes", d.graph_private_bytes);
  const auto check = j.find("torch_check");
  if (check == j.end() || !check->is_object()) return;
  TorchCheck& c = d.torch_check.emplace();
  Get(*check, "compared", c.compared);
  Get(*check, "mismatches", c.mismatches);
  Get(*check, "last_difference_bytes", c.last_difference_bytes);
  Get(*check, "blocks_outside_segments", c.blocks_outside_segments);
  Get(*check, "reserved_exceeded", c.reserved_exceeded);
}

void ReadOutOfMemory(const Json& j, OutOfMemory& o) {
  Get(j, "time_seconds", o.time_seconds);
  Get(j, "step", o.step);
  Get(j, "device", o.device);
  Get(j, "level", o.level);
  Get(j, "call", o.call);
  Get(j, "requested_bytes", o.requested_bytes);
  Get(j, "site", o.site);
  Get(j, "file", o.file);
  Get(j, "line", o.line);
  ReadLevels(j, o.levels);
}

void ReadProcess(const Json& j, Process& p) {
  Get(j, "pid", p.pid);
  Get(j, "parent_pid", p.parent_pid);
  Get(j, "role", p.role);
  if (const auto rank = j.find("rank"); rank != j.end() && rank->is_number()) p.rank = Whole<int>(*rank);
  Get(j, "exe", p.exe);
  Get(j, "command", p.command);
  Get(j, "ending", p.ending);
  Get(j, "start_seconds", p.start_seconds);
  Get(j, "end_seconds", p.end_seconds);
  Get(j, "verdict", p.verdict);
  Get(j, "retained_bytes", p.retained_bytes);
  Get(j, "peak_bytes", p.peak_bytes);
  Get(j, "peak_rss_bytes", p.peak_rss_bytes);
  Get(j, "growth_bytes_per_step", p.growth_bytes_per_step);
  Get(j, "dropped_events", p.dropped_events);
}

void ReadAll(const Json& j, ReportModel& model) {
  Get(j, "tool_version", model.tool_version);
  if (const auto headline = j.find("headline"); headline != j.end()) ReadVerdict(*headline, model.verdict);
  Get(j, "verdict", model.verdict.name);
  if (const auto recording = j.find("recording"); recording != j.end())
    ReadRecording(*recording, model.recording);
  if (const auto steps = j.find("steps"); steps != j.end()) {
    Get(*steps, "count", model.steps.count);
    Get(*steps, "source", model.steps.source);
    Get(*steps, "confidence", model.steps.confidence);
    Get(*steps, "steps_per_epoch", model.steps.steps_per_epoch);
    Get(*steps, "epoch_ends", model.steps.epoch_ends);
    Get(*steps, "evaluation_steps", model.steps.evaluations);
  }
  if (const auto totals = j.find("totals"); totals != j.end()) {
    ReadCounts(*totals, model.totals);
    Get(*totals, "free_count", model.totals.free_count);
    Get(*totals, "free_bytes", model.totals.free_bytes);
    Get(*totals, "peak_step", model.totals.peak_step);
    GetRows(*totals, "leftovers", model.leftovers, [](const Json& item, Leftover& l) {
      ReadCounts(item, l);
      Get(item, "name", l.name);
      Get(item, "explanation", l.explanation);
    });
  }
  if (const auto drops = j.find("drops"); drops != j.end()) {
    Get(*drops, "events", model.losses.dropped_events);
    Get(*drops, "bytes", model.losses.dropped_bytes);
    Get(*drops, "unknown_frees", model.losses.unknown_frees);
  }
  if (const auto damage = j.find("damage"); damage != j.end()) {
    Get(*damage, "blocks", model.losses.damaged_blocks);
    Get(*damage, "bytes", model.losses.damaged_bytes);
    Get(*damage, "missing_blocks", model.losses.missing_blocks);
    Get(*damage, "headers", model.losses.damaged_headers);
    Get(*damage, "skipped_records", model.losses.skipped_records);
    Get(*damage, "messages", model.losses.messages);
  }
  GetRows(j, "ledger", model.ledger, ReadLedger);
  GetRows(j, "processes", model.processes, ReadProcess);
  GetRows(j, "devices", model.devices, ReadDevice);
  GetRows(j, "out_of_memory", model.out_of_memory, ReadOutOfMemory);
  Get(j, "out_of_memory_count", model.out_of_memory_count);
  GetRows(j, "pools", model.pools, [](const Json& item, Pool& p) {
    Get(item, "name", p.name);
    Get(item, "verdict", p.verdict);
    Get(item, "evidence", p.evidence);
    Get(item, "live_bytes", p.live_bytes);
    Get(item, "peak_bytes", p.peak_bytes);
    Get(item, "reserved_bytes", p.reserved_bytes);
    Get(item, "growth_bytes_per_step", p.growth_bytes_per_step);
  });
  GetRows(j, "hypotheses", model.hypotheses, [](const Json& item, Hypothesis& h) {
    Get(item, "name", h.name);
    Get(item, "result", h.result);
    Get(item, "evidence", h.evidence);
  });
  GetRows(j, "patterns", model.patterns, [](const Json& item, Pattern& p) {
    Get(item, "id", p.id);
    Get(item, "title", p.title);
    Get(item, "explanation", p.explanation);
    Get(item, "fix", p.fix);
    Get(item, "evidence", p.evidence);
  });
  GetRows(j, "breakdown", model.breakdown, [](const Json& item, BreakdownItem& b) {
    Get(item, "name", b.name);
    Get(item, "bytes", b.bytes);
    Get(item, "count", b.count);
    Get(item, "how", b.how);
  });
  GetRows(j, "phases", model.phases, [](const Json& item, Phase& p) {
    Get(item, "kind", p.kind);
    Get(item, "label", p.label);
    Get(item, "from_step", p.from_step);
    Get(item, "to_step", p.to_step);
    Get(item, "from_seconds", p.from_seconds);
    Get(item, "to_seconds", p.to_seconds);
  });
  GetRows(j, "tensors", model.tensors, [](const Json& item, TensorCurve& c) {
    Get(item, "pool", c.pool);
    Get(item, "live_count", c.live_count);
    Get(item, "live_bytes", c.live_bytes);
  });
  if (const auto axis = j.find("axis"); axis != j.end()) {
    Get(*axis, "steps", model.axis_steps);
    Get(*axis, "seconds", model.axis_seconds);
  }
  FrameIndex known;
  ReadStacks(j, model, known);
  if (const auto sites = j.find("sites"); sites != j.end()) {
    for (const Json& item : *sites) ReadSite(item, model, known, model.sites.emplace_back());
  }
}

}  // namespace

absl::StatusOr<ReportModel> ReadJsonReport(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return absl::InvalidArgumentError("not a JSON object; expected the output of `plateau report --json`");
  }
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_string()) {
    return absl::InvalidArgumentError("no \"schema\" field; expected the output of `plateau report --json`");
  }
  const std::string name = schema->get<std::string>();
  if (name != kReportSchema) {
    if (absl::StartsWith(name, "plateau-report/")) {
      return absl::UnimplementedError(
          absl::StrCat("schema ", name, " is newer than ", kReportSchema, "; use a newer plateau"));
    }
    return absl::InvalidArgumentError(absl::StrCat("schema is ", name, ", expected ", kReportSchema));
  }
  ReportModel model;
  try {
    ReadAll(json, model);
  } catch (const std::out_of_range& error) {
    return absl::InvalidArgumentError(error.what());
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("a field has the wrong type: ", error.what()));
  }
  return model;
}

}  // namespace plateau::report
