#include "analyzer/report/builder/verdict_words.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/report/builder/words/fine_print.h"
#include "analyzer/report/builder/words/headline_text.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/vocabulary/shape_text.h"
#include "analyzer/verdict/vocabulary/verdict.h"
#include "analyzer/verdict/words/next_step.h"

namespace plateau::report {
namespace {

std::vector<Forecast> Forecasts(const verdict::Verdict& v, const series::RunContext& run, bool is_of_site) {
  std::vector<Forecast> forecasts;
  const double rate = v.rate_bytes_per_step ? v.rate_bytes_per_step->value : 0;
  Forecast base;
  base.from_step = static_cast<double>(run.steps);
  base.from_bytes =
      run.level_now_bytes.value_or(v.evidence.live_bytes.value_or(v.evidence.retained_bytes.value_or(0)));
  base.rate_bytes_per_step = rate;
  if (v.rate_bytes_per_step) base.rate_interval = v.rate_bytes_per_step->interval;
  if (const auto& cache = v.forecast.if_cache) {
    Forecast f = base;
    f.label = "if it is a cache";
    f.plateau_step = cache->ends_at_step;
    f.plateau_bytes = cache->plateau_bytes;
    f.plateau_interval = cache->plateau_interval;
    f.sentence =
        absl::StrCat(is_of_site ? "this site levels off at " : "levels off at ",
                     verdict::BytesText(cache->plateau_bytes), " near step ", HumanStep(cache->ends_at_step));
    forecasts.push_back(f);
  }
  if (const auto& leak = v.forecast.if_leak; leak && leak->oom_step) {
    Forecast f = base;
    f.label = v.kind == verdict::VerdictKind::kInconclusive      ? "if it is a leak"
              : v.kind == verdict::VerdictKind::kUnboundedGrowth ? "if it goes on"
                                                                 : "at this rate";
    if (v.evidence.resident_growth_bytes_per_step)
      f.rate_bytes_per_step = *v.evidence.resident_growth_bytes_per_step;
    f.limit_step = leak->oom_step;
    if (leak->earliest_step && leak->latest_step)
      f.limit_step_interval = Interval{*leak->earliest_step, *leak->latest_step};
    f.sentence =
        absl::StrCat("reaches ", LimitWords(run), " near step ", HumanStep(std::round(*leak->oom_step)));
    forecasts.push_back(f);
  }
  if (forecasts.empty() && v.plateau_bytes) {
    Forecast f = base;
    f.label = "expected level";
    f.plateau_bytes = v.plateau_bytes->value;
    f.plateau_interval = v.plateau_bytes->interval;
    const bool is_there = v.kind == verdict::VerdictKind::kCacheFill && v.evidence.complete.value_or(true);
    f.sentence = absl::StrCat(is_of_site ? "this site " : "", is_there ? "stays at " : "levels off at ",
                              verdict::BytesText(v.plateau_bytes->value));
    forecasts.push_back(f);
  }
  return forecasts;
}

// The shape that would have led to another verdict and comes closest, when it is clearly excluded.
std::string ClosestExcluded(const verdict::Verdict& v) {
  constexpr double kStrongEvidence = 6;
  if (v.kind == verdict::VerdictKind::kInconclusive) return "";
  const verdict::ModelScore* closest = nullptr;
  for (const verdict::ModelScore& model : v.evidence.models) {
    if (verdict::IsEndless(model.name) == verdict::GrowsWithoutEnd(v.kind)) continue;
    if (closest == nullptr || model.delta_bic < closest->delta_bic) closest = &model;
  }
  if (closest == nullptr || closest->delta_bic < kStrongEvidence) return "";
  return absl::StrCat(verdict::ShapeText(closest->name), " fits worse, by ",
                      verdict::NumberText(std::round(closest->delta_bic)),
                      " on a scale where 6 is strong evidence");
}

}  // namespace

std::vector<EvidenceNumber> NumbersOf(const verdict::Verdict& v) {
  std::vector<EvidenceNumber> numbers;
  const auto add = [&numbers](const char* name, const std::optional<double>& value) {
    if (value) numbers.push_back({name, *value});
  };
  if (v.rate_bytes_per_step) numbers.push_back({"rate_bytes_per_step", v.rate_bytes_per_step->value});
  if (v.plateau_bytes) numbers.push_back({"plateau_bytes", v.plateau_bytes->value});
  if (v.knee_step) numbers.push_back({"knee_step", v.knee_step->value});
  add("onset_step", v.onset_step);
  add("by_step", v.by_step);
  numbers.push_back({"floor_bytes_per_step", v.evidence.floor_bytes_per_step});
  add("maturity_steps", v.evidence.maturity_steps);
  add("mature_steps", v.evidence.mature_steps);
  add("retained_bytes", v.evidence.retained_bytes);
  add("objects_per_step", v.evidence.objects_per_step);
  add("per_example_bytes", v.evidence.per_example_bytes);
  add("per_event_bytes", v.evidence.per_event_bytes);
  add("spike_bytes", v.evidence.spike_bytes);
  add("mean_life_steps", v.evidence.mean_life_steps);
  add("live_bytes", v.evidence.live_bytes);
  add("slack_bytes", v.evidence.slack_bytes);
  add("entries", v.evidence.entries);
  add("replaced_bytes", v.evidence.replaced_bytes);
  add("cache_entries", v.evidence.cache_entries);
  add("examples_that_fit", v.evidence.examples_that_fit);
  add("double_data_bytes", v.evidence.double_data_bytes);
  add("resident_growth_bytes_per_step", v.evidence.resident_growth_bytes_per_step);
  add("reserved_bytes", v.evidence.reserved_bytes);
  add("silent_steps", v.evidence.silent_steps);
  add("rate_bytes_per_second", v.evidence.rate_bytes_per_second);
  add("rate_bytes_per_gib", v.evidence.rate_bytes_per_gib);
  add("seconds_to_limit", v.evidence.seconds_to_limit);
  return numbers;
}

Verdict ToReport(const verdict::Verdict& v, const series::RunContext& run, const std::string& who) {
  Verdict out;
  out.name = std::string(verdict::VerdictName(v.kind));
  if (v.reason != verdict::Reason::kNone) out.reason = std::string(verdict::ReasonName(v.reason));
  out.summary = HeadlineText(v, run, who);
  out.site = who;
  out.sentence = FinePrint(v, run);
  if (!v.why.empty()) out.why.push_back(v.why);
  if (const std::string excluded = ClosestExcluded(v); !excluded.empty()) out.why.push_back(excluded);
  out.numbers = NumbersOf(v);
  if (v.forecast.outcome != verdict::Outcome::kUnknown)
    out.outcome = std::string(verdict::OutcomeName(v.forecast.outcome));
  out.forecasts = Forecasts(v, run, !who.empty());
  out.detectable_bytes_per_step = v.detectable_bytes_per_step;
  out.needs_steps = v.needs_steps;
  out.limit_bytes = run.limit_bytes;
  if (run.limit_bytes) out.limit_source = series::LimitSourceName(run.limit_source);
  if (const std::string next = verdict::NextStep(v); !next.empty()) out.next_steps.push_back(next);
  return out;
}

std::vector<TestedHypothesis> ToReport(const std::vector<verdict::Hypothesis>& hypotheses) {
  std::vector<TestedHypothesis> out;
  for (const verdict::Hypothesis& h : hypotheses) {
    const char* result = h.result == verdict::HypothesisResult::kRuledOut    ? "ruled out"
                         : h.result == verdict::HypothesisResult::kSupported ? "supported"
                                                                             : "not tested";
    out.push_back({h.name, result, h.evidence});
  }
  return out;
}

std::vector<MatchedPattern> ToReport(const std::vector<verdict::PatternMatch>& patterns) {
  std::vector<MatchedPattern> out;
  for (const verdict::PatternMatch& match : patterns) {
    out.push_back({match.pattern->id, match.pattern->title, match.pattern->explanation, match.pattern->fix,
                   match.evidence});
  }
  return out;
}

}  // namespace plateau::report
