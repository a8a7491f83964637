#include "analyzer/verdict/cases/case_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace plateau::verdict {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }
Json Range(const Interval& interval) { return Json::array({Number(interval.low), Number(interval.high)}); }

void PutEstimate(Json& out, const char* value_key, const char* interval_key,
                 const std::optional<Estimate>& estimate) {
  out[value_key] = estimate ? Number(estimate->value) : Json(nullptr);
  out[interval_key] = estimate && estimate->interval ? Range(*estimate->interval) : Json(nullptr);
}

void PutKnown(Json& out, const char* key, const std::optional<double>& value) {
  if (value) out[key] = Number(*value);
}

Json Models(const std::vector<ModelScore>& scores) {
  Json list = Json::array();
  for (const ModelScore& score : scores) {
    list.push_back({{"shape", score.name}, {"delta_bic", std::round(score.delta_bic * 10) / 10}});
  }
  return list;
}

Json EvidenceObject(const Evidence& e) {
  Json out = Json::object();
  if (e.floor_bytes_per_step > 0) out["floor_bytes_per_step"] = Number(e.floor_bytes_per_step);
  PutKnown(out, "maturity_steps", e.maturity_steps);
  PutKnown(out, "mature_steps", e.mature_steps);
  PutKnown(out, "retained_bytes", e.retained_bytes);
  PutKnown(out, "objects_per_step", e.objects_per_step);
  PutKnown(out, "per_example_bytes", e.per_example_bytes);
  PutKnown(out, "objects_per_example", e.objects_per_example);
  PutKnown(out, "examples_that_fit", e.examples_that_fit);
  PutKnown(out, "double_data_bytes", e.double_data_bytes);
  PutKnown(out, "entries", e.entries);
  PutKnown(out, "replaced_bytes", e.replaced_bytes);
  PutKnown(out, "cache_entries", e.cache_entries);
  PutKnown(out, "remaining_bytes", e.remaining_bytes);
  PutKnown(out, "fill_bytes_per_step", e.fill_bytes_per_step);
  PutKnown(out, "rise_bytes", e.rise_bytes);
  PutKnown(out, "spike_bytes", e.spike_bytes);
  PutKnown(out, "per_event_bytes", e.per_event_bytes);
  PutKnown(out, "period_steps", e.period_steps);
  PutKnown(out, "cycle_amplitude_bytes", e.cycle_amplitude_bytes);
  PutKnown(out, "mean_life_steps", e.mean_life_steps);
  PutKnown(out, "live_bytes", e.live_bytes);
  PutKnown(out, "next_jump_step", e.next_jump_step);
  PutKnown(out, "next_jump_bytes", e.next_jump_bytes);
  PutKnown(out, "level_bytes", e.level_bytes);
  PutKnown(out, "noise_bytes", e.noise_bytes);
  PutKnown(out, "slack_bytes", e.slack_bytes);
  PutKnown(out, "reserved_bytes", e.reserved_bytes);
  PutKnown(out, "worker_private_growth_bytes", e.worker_private_growth_bytes);
  PutKnown(out, "worker_heap_growth_bytes", e.worker_heap_growth_bytes);
  PutKnown(out, "worker_bound_bytes", e.worker_bound_bytes);
  PutKnown(out, "effective_samples", e.effective_samples);
  PutKnown(out, "silent_steps", e.silent_steps);
  if (e.event_count) out["event_count"] = *e.event_count;
  if (e.events_retaining) out["events_retaining"] = *e.events_retaining;
  if (!e.event.empty()) out["event"] = e.event;
  if (!e.component.empty()) out["component"] = e.component;
  if (e.fill_like) out["fill_like"] = *e.fill_like;
  if (e.complete) out["complete"] = *e.complete;
  if (e.loss_limited) out["loss_limited"] = true;
  if (e.from_log_only) out["from_log_only"] = true;
  if (!e.models.empty()) out["models"] = Models(e.models);
  if (!e.post_models.empty()) out["models_after_first_pass"] = Models(e.post_models);
  return out;
}

Json ForecastObject(const Forecast& forecast) {
  Json out = Json::object();
  if (forecast.if_cache) {
    out["if_cache"] = {{"ends_at_step", Number(forecast.if_cache->ends_at_step)},
                       {"plateau_bytes", Number(forecast.if_cache->plateau_bytes)},
                       {"plateau_interval", Range(forecast.if_cache->plateau_interval)}};
  }
  if (forecast.if_leak) {
    out["if_leak"] = {{"oom_step", Number(forecast.if_leak->oom_step)},
                      {"earliest_step", Number(forecast.if_leak->earliest_step)},
                      {"latest_step", Number(forecast.if_leak->latest_step)}};
  }
  PutKnown(out, "dataset_factor_that_fits", forecast.dataset_factor_that_fits);
  return out;
}

}  // namespace

std::string ResultLine(const VerdictCase& verdict_case, const CaseResult& result) {
  const Verdict& verdict = result.verdict;
  Json out;
  out["id"] = verdict_case.id;
  out["verdict"] = VerdictName(verdict.kind);
  if (verdict_case.log) {
    // Every number that is said per step or of a step is in this unit.
    out["unit"] = verdict_case.unit;
    out["log"] = {{"format", verdict_case.log->format}, {"lines_left_out", verdict_case.log->lines_left_out}};
    if (!verdict_case.log->column.empty()) out["log"]["column"] = verdict_case.log->column;
  }
  PutEstimate(out, "rate_bytes_per_step", "rate_interval", verdict.rate_bytes_per_step);
  PutEstimate(out, "plateau_bytes", "plateau_interval", verdict.plateau_bytes);
  PutEstimate(out, "knee_step", "knee_interval", verdict.knee_step);
  out["onset_step"] = Number(verdict.onset_step);
  out["by_step"] = Number(verdict.by_step);
  out["detectable_bytes_per_step"] = Number(verdict.detectable_bytes_per_step);
  out["needs_steps"] = Number(verdict.needs_steps);
  PutKnown(out, "needs_events", verdict.needs_events);
  PutKnown(out, "needs_samples", verdict.needs_samples);
  if (verdict.reason != Reason::kNone) out["reason"] = ReasonName(verdict.reason);
  if (verdict.forecast.outcome != Outcome::kUnknown) out["outcome"] = OutcomeName(verdict.forecast.outcome);
  out["why"] = verdict.why;
  out["sentence"] = verdict.sentence;
  if (!verdict.forecast.empty()) out["forecast"] = ForecastObject(verdict.forecast);
  out["evidence"] = EvidenceObject(verdict.evidence);
  if (result.process) {
    Json components = Json::array();
    for (const Component& component : result.process->components) {
      Json item = {{"verdict", VerdictName(component.kind)}, {"bytes", Number(component.bytes)}};
      if (component.site) item["site"] = *component.site;
      if (component.rate_bytes_per_step)
        item["rate_bytes_per_step"] = Number(component.rate_bytes_per_step->value);
      components.push_back(std::move(item));
    }
    out["components"] = std::move(components);
    out["allocator_gap"] = GrowthName(result.process->allocator_gap);
    out["outside_allocator"] = GrowthName(result.process->outside_allocator);
    Json sites = Json::array();
    for (const Verdict& site : result.sites) sites.push_back(VerdictName(site.kind));
    out["sites"] = std::move(sites);
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plateau::verdict
