#include "analyzer/verdict/words/sentence.h"

#include <cctype>
#include <cmath>

#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/vocabulary/shape_text.h"
#include "analyzer/verdict/words/limit_text.h"

namespace plateau::verdict {
namespace {

using series::RunContext;

std::string SeenText(const Verdict& v) {
  if (!v.detectable_bytes_per_step) return "";
  return " A leak above " + RateText(*v.detectable_bytes_per_step) +
         " would have been seen; below that this run cannot tell.";
}

std::string Steady(const Verdict& v) {
  const Evidence& e = v.evidence;
  if (e.loss_limited) {
    return "Nothing stays but what lost events of freed blocks explain." + SeenText(v);
  }
  if (v.plateau_bytes && e.mean_life_steps) {
    return "Objects live long (about " + CountText(*e.mean_life_steps, "step") +
           ") and are freed as fast as they are made, at a level of " + BytesText(e.live_bytes.value_or(0)) +
           ".";
  }
  if (e.from_log_only) return "No growth." + SeenText(v);
  std::string out = "Nothing stays.";
  if (e.retained_bytes && *e.retained_bytes > 0 && !e.maturity_steps) {  // of a process: what sites have kept
    out = "Nothing grows. ";
    if (e.sites_growth_bytes_per_step && v.detectable_bytes_per_step)
      out = "Nothing grows by more than " + RateText(*v.detectable_bytes_per_step) + ". ";
    out += BytesText(*e.retained_bytes) + " stay";
    if (!e.largest_kept.empty()) out += ", most of it at " + e.largest_kept;
    out += ".";
  }
  if (e.undecided_bytes_per_step && !e.undecided_site.empty()) {
    out += " Whether " + e.undecided_site + " grows is undecided: by " +
           RateText(*e.undecided_bytes_per_step) + " at most.";
  }
  if (e.maturity_steps) out += " Objects live at most " + CountText(*e.maturity_steps, "step") + ".";
  if (e.cycle_amplitude_bytes) {
    out += " The level rises by " + BytesText(*e.cycle_amplitude_bytes) +
           " over each epoch and falls again; plan for the peak.";
  }
  return out + SeenText(v);
}

std::string WarmupComplete(const Verdict& v) {
  const Evidence& e = v.evidence;
  if (v.plateau_bytes && e.mean_life_steps) {
    return "Filled up to " + BytesText(e.retained_bytes.value_or(0)) + " by step " +
           NumberText(std::round(v.by_step.value_or(0))) +
           " and has been level since: objects live long (about " + CountText(*e.mean_life_steps, "step") +
           ") and are freed as fast as they are made.";
  }
  std::string out = "Grew";
  const double amount = e.from_log_only ? e.rise_bytes.value_or(0) : e.retained_bytes.value_or(0);
  if (amount > 0) out += " by " + BytesText(amount);
  if (v.by_step) out += " until step " + NumberText(std::round(*v.by_step));
  out += " and has been level since";
  if (e.silent_steps && *e.silent_steps > 0) out += ", for " + CountText(*e.silent_steps, "step");
  out += ". This is a normal start.";
  if (e.fill_like.value_or(false)) {
    out +=
        " Growth was straight and ended abruptly, as when each example is kept once. The length of an epoch "
        "(--epoch-steps) would tell.";
  }
  return out + (e.from_log_only ? SeenText(v) : "");
}

std::string WarmupInProgress(const Verdict& v) {
  const Evidence& e = v.evidence;
  if (e.next_jump_step) {
    return "A container grows in ever larger jumps; the next, to about " +
           BytesText(e.next_jump_bytes.value_or(0)) + ", is expected near step " +
           NumberText(std::round(*e.next_jump_step)) + ".";
  }
  if (e.reserved_bytes) {
    std::string out = "Fills what was reserved before: " + BytesText(e.live_bytes.value_or(0)) + " of " +
                      BytesText(*e.reserved_bytes) + " are in memory";
    if (v.rate_bytes_per_step) out += ", growing by " + EstimateText(*v.rate_bytes_per_step, RateText);
    out += ". It ends at " + BytesText(*e.reserved_bytes);
    if (v.knee_step) out += ", near step " + NumberText(std::round(v.knee_step->value)) + " at this rate";
    return out + ".";
  }
  if (v.plateau_bytes) {
    return "Growth is slowing down; it is expected to level off at " +
           EstimateText(*v.plateau_bytes, BytesText) + ".";
  }
  return "Growth is slowing down; where it levels off is not visible yet.";
}

// Of a fill whose end is known from the container itself.
std::string BoundedFill(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  std::string out = "Fills " + e.held_by;
  if (e.complete.value_or(false)) {
    out += ", which is full: " + BytesText(e.retained_bytes.value_or(0)) + ", and it stays there.";
    return out + SeenText(v);
  }
  out += ": " + BytesText(e.retained_bytes.value_or(0)) + " now, " + BytesText(v.plateau_bytes->value) +
         " when it is full";
  if (v.knee_step) out += ", near step " + NumberText(std::round(v.knee_step->value)) + " at this rate";
  out += ".";
  if (run.limit_bytes && v.plateau_bytes->value > *run.limit_bytes) {
    out += " " + LimitName(run, true) + " reached before that.";
  }
  return out + SeenText(v);
}

std::string CacheFill(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  if (e.container_bound && v.plateau_bytes && !e.held_by.empty()) return BoundedFill(run, v);
  std::string out;
  if (e.per_example_bytes) {
    out = e.from_log_only ? "Growth as when each example is kept once: " : "Each example is kept once: ";
    out += BytesText(*e.per_example_bytes) + " per example";
    if (e.retained_bytes) out += ", " + BytesText(*e.retained_bytes) + " in all";
    out += ".";
  } else {
    out = "Kept evenly over the first pass over the data";
    if (e.retained_bytes) out += ", " + BytesText(*e.retained_bytes) + " in all";
    out += ".";
  }
  if (v.knee_step) {
    out += " It was straight and ended at step " + EstimateText(*v.knee_step, NumberText);
    if (run.epoch_steps) out += ", one epoch being " + CountText(*run.epoch_steps, "step");
    out += ".";
  } else if (e.complete.value_or(true)) {
    out += " It ended with the first epoch and is bounded by the data set.";
  } else if (v.plateau_bytes) {
    out += " It will end at about " + EstimateText(*v.plateau_bytes, BytesText) +
           " when all examples have been seen.";
  }
  if (e.double_data_bytes) out += " Twice the data would need " + BytesText(*e.double_data_bytes) + ".";
  if (e.examples_that_fit && run.limit_bytes && !e.from_log_only) {
    out += " " + LimitName(run, true) + " full at about " + NumberText(std::round(*e.examples_that_fit)) +
           " examples.";
  } else if (e.examples_that_fit) {
    out += " This limit is full at about " + NumberText(std::round(*e.examples_that_fit)) + " examples.";
  }
  if (e.from_log_only) {
    out +=
        " A log cannot tell examples that are kept from something that piles up during an epoch and whose "
        "pages the allocator keeps; a trace can.";
  }
  return out + SeenText(v);
}

std::string Leak(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  std::string out = e.from_log_only ? "Grows by " : "Keeps ";
  if (v.rate_bytes_per_step) out += EstimateText(*v.rate_bytes_per_step, RateText);
  if (e.objects_per_step) out += ", or " + CountText(*e.objects_per_step, "object") + " a step";
  if (!e.from_log_only && e.maturity_steps) {
    out += "; nothing older than " + CountText(*e.maturity_steps, "step") + " was freed";
  }
  if (v.onset_step && *v.onset_step > 1) out += "; since step " + NumberText(std::round(*v.onset_step));
  out += ".";
  if (!e.component.empty()) out += " " + e.component;
  out += LimitText(run, v);
  out += e.from_log_only ? " A memory log cannot tell a leak from fragmentation or mapped files; a trace can."
                         : " A cache that is not full yet would look the same.";
  return out;
}

// What a cache would have to hold if it were one, and what its misses say.
std::string AsCache(const Evidence& e) {
  std::string out = " No pass over data was seen, so it may be a cache that is not full yet";
  if (e.entries && *e.entries >= 1) {
    out += "; it would hold more than " + NumberText(std::round(*e.entries)) +
           (IsOne(*e.entries) ? " entry" : " entries");
    if (e.retained_bytes) out += " (" + BytesText(*e.retained_bytes) + ")";
  }
  out += ".";
  if (e.cache_entries && e.cache_entries_interval) {
    out += " If it is filled by random draws, its misses say that it will end near " +
           NumberText(std::round(*e.cache_entries)) + " entries (" +
           NumberText(std::round(e.cache_entries_interval->low)) + " to " +
           NumberText(std::round(e.cache_entries_interval->high)) + ").";
  } else if (e.cache_entries && e.entries && *e.cache_entries > *e.entries) {
    out += " Filled by random draws it would have more than " + NumberText(std::round(*e.cache_entries)) +
           ", because no draw was a hit.";
  }
  return out;
}

std::string UnboundedGrowth(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  const std::string rate = v.rate_bytes_per_step ? EstimateText(*v.rate_bytes_per_step, RateText) : "";
  if (e.slack_bytes) {  // the holes of the heap grow around what stays
    return "Grows by " + rate + ", and nothing has ended it: blocks that stay" +
           (e.largest_kept.empty() ? "" : ", most of them made at " + e.largest_kept + ",") +
           " hold the heap open. The allocator holds " + BytesText(*e.slack_bytes) +
           " more than was ever live at once, in holes around them; the blocks themselves are " +
           BytesText(e.retained_bytes.value_or(0)) + "." + LimitText(run, v);
  }
  if (e.untraced_kind == "allocator") {
    return "Grows by " + rate +
           " inside an allocator that a library brought along, and nothing has ended it. Its blocks are not "
           "traced: the line shown is the one " +
           (e.is_by_caller ? "that calls the library most while it grows" : "whose work mapped the memory") +
           "; which lines keep it is not known." + LimitText(run, v);
  }
  if (e.untraced_kind == "threads") {
    return "Grows by " + rate + ", and nothing has ended it: " + v.why +
           ". Each holds its stack and whatever it refers to." + LimitText(run, v);
  }
  std::string out = "Grows by " + rate;
  const double steps = static_cast<double>(run.steps * run.bucket_steps);
  if (v.onset_step) {
    out += " since step " + NumberText(std::round(*v.onset_step));
  } else if (steps > 0) {
    out += " in all " + CountText(steps, "step");
  }
  if (e.replaced_bytes) {
    return out + ": " + ReplacedText(*e.replaced_bytes) +
           " Nothing has ended it, and it is harmless only if the inputs themselves get longer." +
           LimitText(run, v);
  }
  return out + ", and nothing has ended it." + AsCache(e) + LimitText(run, v);
}

std::string Staircase(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  std::string out = "Every " + EventText(e.event) + " keeps " + BytesText(e.per_event_bytes.value_or(0));
  if (e.events_retaining && e.event_count) {
    out += " (" + std::to_string(*e.events_retaining) + " of " + std::to_string(*e.event_count) + ")";
  }
  if (e.period_steps) out += ", about every " + NumberText(std::round(*e.period_steps)) + " steps";
  out += ".";
  if (!e.component.empty()) out += " " + e.component;
  return out + LimitText(run, v);
}

std::string Inconclusive(const RunContext& run, const Verdict& v) {
  std::string out = "It cannot be told yet: " + v.why + ".";
  if (v.rate_bytes_per_step) out += " Growth so far: " + EstimateText(*v.rate_bytes_per_step, RateText) + ".";
  if (v.forecast.if_cache && v.reason == Reason::kFirstPass) {
    const Forecast::IfCache& cache = *v.forecast.if_cache;
    out += " If each example is kept once, it will end at step " + NumberText(cache.ends_at_step) +
           ", near " + BytesText(cache.plateau_bytes) + ".";
  }
  if (v.forecast.if_leak && v.forecast.if_leak->oom_step) {
    const Forecast::IfLeak& leak = *v.forecast.if_leak;
    out += " If it is a leak, " + LimitName(run, false) + " reached at step " +
           NumberText(std::round(*leak.oom_step)) + StepRange(leak) + ".";
  }
  switch (v.forecast.outcome) {
    case Outcome::kOomEitherWay:
      out += " Memory runs out either way.";
      break;
    case Outcome::kOomPossibleEitherWay:
      out += " Memory may run out either way.";
      break;
    case Outcome::kSafeInThisRun:
      out += " The planned run fits either way.";
      break;
    default:
      break;
  }
  if (v.reason == Reason::kEpochUnknown) {
    out += " To decide it, give the length with --epoch-steps, or run past the end of the first epoch.";
  } else if (v.reason == Reason::kUnexplainedGrowth) {
    out += " The ledger says how much. The usual cause is a library with its own allocator, or a driver.";
  } else if (v.needs_events && v.needs_steps) {
    out += " About " + CountText(*v.needs_steps, "more step") + " (" +
           CountText(*v.needs_events, "more event") + ") " +
           (IsOne(*v.needs_steps) ? "decides it." : "decide it.");
  } else if (v.reason == Reason::kFewSamples && v.needs_steps) {
    out +=
        " It takes at least " + CountText(std::ceil(*v.needs_steps), "more step") + " before its shape shows";
    out += run.epoch_steps
               ? "."
               : ", and the length of an epoch to tell a leak from a cache that the first pass fills.";
  } else if (v.needs_steps && *v.needs_steps > 0) {
    const double now = static_cast<double>(run.steps);
    const double needed = std::ceil(*v.needs_steps);
    out += " About " + CountText(needed, "more step") + (IsOne(needed) ? " decides it" : " decide it");
    if (now > 0 && run.bucket_steps == 1)
      out += " (to step " + NumberText(std::ceil(now + *v.needs_steps)) + ")";
    out += ".";
  } else if (v.needs_samples) {
    out += " It takes " + CountText(*v.needs_samples, "more sample") + ".";
  }
  return out;
}

// Whether call sites explain the holes: said only when what they keep is known, and then as it is.
std::string WhoseHoles(const Verdict& v) {
  const std::optional<double>& of_sites = v.evidence.sites_growth_bytes_per_step;
  if (!of_sites) return "";
  if (*of_sites < kExplainedShare * v.rate_bytes_per_step->value) return " No line of the program keeps it.";
  return " Lines of the program keep " + RateText(*of_sites) +
         " beside it, and what they keep may hold the holes open.";
}

std::string Sentence(const RunContext& run, const Verdict& v) {
  const Evidence& e = v.evidence;
  switch (v.kind) {
    case VerdictKind::kSteady:
      return Steady(v);
    case VerdictKind::kWarmupComplete:
      return WarmupComplete(v);
    case VerdictKind::kWarmupInProgress:
      return WarmupInProgress(v);
    case VerdictKind::kCacheFill:
      return CacheFill(run, v);
    case VerdictKind::kLeak:
    case VerdictKind::kSlowLeak:
      return Leak(run, v);
    case VerdictKind::kStaircase:
      return Staircase(run, v);
    case VerdictKind::kUnboundedGrowth:
      return UnboundedGrowth(run, v);
    case VerdictKind::kSpikeRecovered:
      return "Evaluation or checkpointing needs " + BytesText(e.spike_bytes.value_or(0)) +
             " more for a moment and gives it back. Plan for the peak." + SeenText(v);
    case VerdictKind::kSpikeRetained:
      return "The first " + EventText(e.event) + " left " +
             BytesText(e.per_event_bytes.value_or(e.rise_bytes.value_or(0))) + "; later ones use it again.";
    case VerdictKind::kFragmentation:
      return "The allocator holds " + BytesText(e.slack_bytes.value_or(0)) +
             " more than was ever live at once, growing by " +
             EstimateText(*v.rate_bytes_per_step, RateText) + "." + WhoseHoles(v) + LimitText(run, v);
    case VerdictKind::kAllocatorRetention:
      return "The allocator still holds " + BytesText(e.slack_bytes.value_or(0)) +
             " of an earlier peak, and nobody uses it. It does not grow.";
    case VerdictKind::kUntracedGrowth: {
      const std::string kind =
          e.untraced_kind == "file"     ? "mapped files, which the kernel can reclaim"
          : e.untraced_kind == "shared" ? "shared memory"
          : e.untraced_kind == "anonymous"
              ? "memory taken directly from the system (a driver, mmap, another allocator)"
              : "mapped files, shared memory, a driver, or direct mmap";
      return "Grows by " + EstimateText(*v.rate_bytes_per_step, RateText) +
             " outside the allocator: " + kind + ". No line of the program grows with it." +
             LimitText(run, v);
    }
    case VerdictKind::kWorkerDuplication:
      return "Workers copy the parent's pages when they write to them: " +
             BytesText(e.worker_private_growth_bytes.value_or(0)) + " so far, at most " +
             BytesText(e.worker_bound_bytes.value_or(0)) + "." +
             (e.copied_site.empty() ? ""
                                    : " " + BytesText(e.copied_site_bytes.value_or(0)) +
                                          " of it was allocated at " + e.copied_site + ".") +
             " This is not a leak.";
    case VerdictKind::kInconclusive:
      return Inconclusive(run, v);
  }
  return "";
}

}  // namespace

std::string ReplacedText(double bytes) {
  return "an object is replaced by a larger one again and again, and has " + BytesText(bytes) +
         " by now. torch.cat, numpy.append or pandas.concat in a loop do that.";
}

std::string InUnits(const std::string& text, std::string_view unit) {
  static constexpr std::string_view kStep = "step";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool begins_word =
        at == 0 || (!std::isalpha(static_cast<unsigned char>(text[at - 1])) && text[at - 1] != '-');
    if (begins_word && text.compare(at, kStep.size(), kStep) == 0) {
      at += kStep.size();
      const bool plural = at < text.size() && text[at] == 's';
      out += unit;
      if (plural) out += unit == "batch" ? "es" : "s";
      at += plural;
    } else {
      out += text[at++];
    }
  }
  return out;
}

void Explain(const RunContext& run, Verdict* verdict) {
  verdict->sentence = Sentence(run, *verdict);
  const Evidence& e = verdict->evidence;
  if (GrowsWithoutEnd(verdict->kind) && e.garbage_share.value_or(0) > 0) {
    verdict->sentence +=
        " " + NumberText(std::round(100 * *e.garbage_share)) + " % of it is garbage in cycles";
    verdict->sentence += e.is_collector_off ? ", and Python's collector is switched off."
                                            : " that wait for Python's collector.";
  }
  if (run.unit == series::StepUnit::kBatch) verdict->sentence = InUnits(verdict->sentence, "batch");
  if (run.unit == series::StepUnit::kRound) verdict->sentence = InUnits(verdict->sentence, "round");
}

}  // namespace plateau::verdict
