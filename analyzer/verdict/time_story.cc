#include "analyzer/verdict/time_story.h"

#include <cstdio>
#include <string>

#include "analyzer/verdict/vocabulary/number_text.h"

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
  return out + ".";
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
  verdict.sentence = "No training step was seen, so there is nothing to compare.";
  if (const std::string story = StoryOfTime(run, by_time); !story.empty())
    verdict.sentence += " By time: " + story;
  return verdict;
}

}  // namespace plateau::verdict
