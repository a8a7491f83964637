#include "analyzer/verdict/time_story.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/words/limit_text.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::verdict {
namespace {

using series::RunContext;

// What a verdict reached on slices of time says, without claiming more than time can show.
std::string StoryOfTime(const RunContext& run, const Verdict& v) {
  const double slice_seconds = run.seconds_per_step.value_or(0);
  const double run_seconds = slice_seconds * static_cast<double>(run.steps);
  const auto seconds = [](double value) {
    char text[48];
    std::snprintf(text, sizeof text,
                  value < 1     ? "%.0f ms"
                  : value < 100 ? "%.1f s"
                                : "%.0f s",
                  value < 1 ? value * 1000 : value);
    return std::string(text);
  };
  if (slice_seconds <= 0) return "";
  switch (v.kind) {
    case VerdictKind::kSteady:
    case VerdictKind::kSpikeRecovered:
      return "nothing material stayed for long in " + seconds(run_seconds) + ".";
    case VerdictKind::kWarmupComplete:
    case VerdictKind::kCacheFill:
    case VerdictKind::kSpikeRetained: {
      std::string out =
          BytesText(v.evidence.retained_bytes.value_or(v.evidence.rise_bytes.value_or(0))) + " were kept";
      if (v.by_step) out += " until " + seconds(*v.by_step * slice_seconds);
      return out + ", nothing material since, in " + seconds(run_seconds) + ".";
    }
    case VerdictKind::kAllocatorRetention:
    case VerdictKind::kWorkerDuplication:
      return v.why + ".";
    default:
      break;
  }
  std::string out = "still growing at the end of " + seconds(run_seconds);
  if (v.rate_bytes_per_step && v.rate_bytes_per_step->value > 0) {
    out += ", by " + BytesText(v.rate_bytes_per_step->value / slice_seconds) + "/s";
  }
  if (!v.evidence.largest_kept.empty()) out += ", at " + v.evidence.largest_kept;
  return out + ".";
}

// Seconds until the limit at this pace; empty where no limit is known.
std::optional<double> SecondsToLimit(const RunContext& run, double rate, double slice_seconds) {
  const double left = run.limit_bytes.value_or(0) - run.level_now_bytes.value_or(0);
  if (!run.limit_bytes || left <= 0 || rate <= 0 || slice_seconds <= 0) return std::nullopt;
  return left / rate * slice_seconds;
}

// " At this pace the machine's 23.5 GiB are reached in about 14 min.", or nothing where no limit is known.
std::string LimitByTime(const RunContext& run, double rate, double slice_seconds) {
  const std::optional<double> until = SecondsToLimit(run, rate, slice_seconds);
  if (!until) return "";
  const double seconds = *until;
  char text[64];
  std::snprintf(text, sizeof text, seconds < 7200 ? " about %.0f min" : " about %.1f h",
                seconds < 7200 ? seconds / 60 : seconds / 3600);
  return " At this pace " + LimitName(run, false) + " reached in" + text + ".";
}

// The growth for each GiB that was allocated: what a clock of allocated bytes has for a rate.
std::optional<double> RatePerGib(const RunContext& run, double rate) {
  if (run.allocated_bytes_per_step <= 0 || rate <= 0) return std::nullopt;
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return rate / run.allocated_bytes_per_step * kGiB;
}

// What grew to the end by such a clock, in the only units that it has.
std::string GrowthByTime(const RunContext& run, const Verdict& v) {
  const double slice_seconds = run.seconds_per_step.value_or(0);
  const double rate = v.rate_bytes_per_step ? v.rate_bytes_per_step->value : 0;
  std::string out = "Grew to the end of the run";
  if (!v.evidence.largest_kept.empty()) out += " at " + v.evidence.largest_kept;
  if (slice_seconds > 0 && rate > 0) out += ", by " + BytesText(rate / slice_seconds) + "/s";
  if (const std::optional<double> per_gib = RatePerGib(run, rate))
    out += ", " + BytesText(*per_gib) + " for each GiB that was allocated";
  if (v.evidence.replaced_bytes) {
    out += ": " + ReplacedText(*v.evidence.replaced_bytes) + " Nothing has ended it.";
    return out + LimitByTime(run, rate, slice_seconds);
  }
  out +=
      ", and nothing has ended it. No step or pass over data was seen, so a cache that is not full yet "
      "cannot "
      "be excluded";
  if (v.evidence.entries.value_or(0) >= 1 && v.evidence.retained_bytes) {
    out += ": it would hold more than " + NumberText(std::round(*v.evidence.entries)) + " entries (" +
           BytesText(*v.evidence.retained_bytes) + ")";
  }
  out += ".";
  return out + LimitByTime(run, rate, slice_seconds);
}

}  // namespace

Verdict WithoutSteps(const RunContext& run, const Verdict& by_time) {
  Verdict verdict;
  verdict.reason = Reason::kNoSteps;
  verdict.why = "no training step was seen";
  verdict.evidence = by_time.evidence;
  for (auto* in_slices :
       {&verdict.evidence.maturity_steps, &verdict.evidence.mature_steps, &verdict.evidence.objects_per_step,
        &verdict.evidence.silent_steps, &verdict.evidence.mean_life_steps, &verdict.evidence.period_steps}) {
    in_slices->reset();
  }
  verdict.evidence.floor_bytes_per_step = 0;
  verdict.evidence.models.clear();
  verdict.evidence.post_models.clear();
  verdict.evidence.sites_growth_bytes_per_step.reset();
  verdict.evidence.resident_growth_bytes_per_step.reset();
  // In its first seconds the heap of every program grows around what it loads and compiles, and a program in which
  // no loop was seen has done little else.
  const double seconds = run.seconds_per_step.value_or(0) * static_cast<double>(run.steps);
  const bool no_loop = !run.saw_loop && !run.CountsSteps();
  const double start_seconds =
      std::max(by_time.evidence.slack_bytes ? kHolesSeconds : 0, no_loop ? kLooplessSeconds : 0);
  const bool is_start = seconds > 0 && seconds < start_seconds;
  if (GrowsWithoutEnd(by_time.kind) && !is_start) {
    verdict.kind = VerdictKind::kUnboundedGrowth;
    verdict.reason = Reason::kNone;
    verdict.why = "it grew to the end, by a clock that counts no steps";
    verdict.sentence = GrowthByTime(run, by_time);
    const double rate = by_time.rate_bytes_per_step ? by_time.rate_bytes_per_step->value : 0;
    const double slice_seconds = run.seconds_per_step.value_or(0);
    if (rate > 0 && slice_seconds > 0) verdict.evidence.rate_bytes_per_second = rate / slice_seconds;
    verdict.evidence.rate_bytes_per_gib = RatePerGib(run, rate);
    verdict.evidence.seconds_to_limit = SecondsToLimit(run, rate, slice_seconds);
    return verdict;
  }
  verdict.sentence = "No training step was seen, so there is nothing to compare.";
  if (const std::string story = StoryOfTime(run, by_time); !story.empty())
    verdict.sentence += " By time: " + story;
  return verdict;
}

}  // namespace plateau::verdict
