#include "analyzer/verdict/words/limit_text.h"

#include <cmath>
#include <cstdio>

#include "analyzer/base/human_units.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

using series::RunContext;

std::string RangeText(const Interval& interval, std::string (*text)(double)) {
  return "(" + text(interval.low) + " to " + text(interval.high) + ")";
}

std::string TimeText(const RunContext& run, double steps) {
  if (!run.seconds_per_step || steps <= 0) return "";
  const double seconds = steps * *run.seconds_per_step;
  if (seconds < 1) return "";
  char text[48];
  if (seconds < 120) {
    std::snprintf(text, sizeof text, " (about %.0f s from now)", seconds);
  } else if (seconds < 7200) {
    std::snprintf(text, sizeof text, " (about %.0f min from now)", seconds / 60);
  } else {
    std::snprintf(text, sizeof text, " (about %.1f h from now)", seconds / 3600);
  }
  return text;
}

}  // namespace

std::string EstimateText(const Estimate& estimate, std::string (*text)(double)) {
  std::string out = text(estimate.value);
  if (!estimate.interval) return out;
  const Interval& range = *estimate.interval;
  if (text(range.low) == out && text(range.high) == out) return out;
  if (text == RateText || text == BytesText) return out + " (" + FormatByteInterval(range) + ")";
  return out + " " + RangeText(range, text);
}

std::string StepRange(const Forecast::IfLeak& leak) {
  if (!leak.earliest_step || !leak.latest_step) return "";
  const double first = std::round(*leak.earliest_step), last = std::round(*leak.latest_step);
  return first == last ? "" : " (" + NumberText(first) + "-" + NumberText(last) + ")";
}

std::string LimitName(const RunContext& run, bool begins_sentence) {
  if (run.limit_bytes.value_or(0) <= 0) return begins_sentence ? "The limit is" : "the limit is";
  const std::string size = BytesText(*run.limit_bytes);
  const std::string the = begins_sentence ? "The " : "the ";
  switch (run.limit_source) {
    case series::LimitSource::kCgroup:
      return the + "cgroup's limit of " + size + " is";
    case series::LimitSource::kMachine:
      return the + "machine's " + size + " are";
    case series::LimitSource::kGiven:
      break;
  }
  return the + "limit of " + size + " is";
}

std::string LimitText(const RunContext& run, const Verdict& v) {
  const Forecast& forecast = v.forecast;
  if (!forecast.if_leak || !forecast.if_leak->oom_step) return "";
  const Forecast::IfLeak& leak = *forecast.if_leak;
  std::string out;
  if (v.evidence.resident_growth_bytes_per_step) {
    out += " Resident memory grows by " + RateText(*v.evidence.resident_growth_bytes_per_step) + " with it.";
  }
  out += " " + LimitName(run, true) + " reached at step " + NumberText(std::round(*leak.oom_step)) +
         StepRange(leak);
  out += TimeText(run, *leak.oom_step - static_cast<double>(run.steps * run.bucket_steps)) + ".";
  if (forecast.outcome == Outcome::kSafeInThisRun) out += " The planned run ends before that.";
  return out;
}

}  // namespace plateau::verdict
