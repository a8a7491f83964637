#include "analyzer/report/builder/words/fine_print.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/builder/words/headline_text.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/method/thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"
#include "analyzer/verdict/vocabulary/shape_text.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::report {
namespace {

using verdict::CountText;
using verdict::Evidence;
using verdict::Reason;
using verdict::VerdictKind;

class Print {
 public:
  Print(const verdict::Verdict& v, const series::RunContext& run) : v_(v), e_(v.evidence), run_(run) {}

  std::string Write() {
    switch (v_.kind) {
      case VerdictKind::kLeak:
      case VerdictKind::kSlowLeak:
        Leak();
        break;
      case VerdictKind::kStaircase:
        if (e_.events_retaining && e_.event_count) Add(HowMany(*e_.events_retaining, *e_.event_count));
        Component();
        Limit();
        break;
      case VerdictKind::kUnboundedGrowth:
        if (!v_.rate_bytes_per_step && !e_.rate_bytes_per_second) return v_.sentence;
        UnboundedGrowth();
        break;
      case VerdictKind::kFragmentation:
        Add(absl::StrCat("The allocator holds ", Bytes(e_.slack_bytes), " more than was ever live at once."));
        Rate();
        Sites();
        Limit();
        break;
      case VerdictKind::kUntracedGrowth:
        Add(e_.untraced_kind == "file" ? "The kernel can reclaim mapped files."
            : e_.untraced_kind == "anonymous"
                ? "It was taken directly from the system: by a driver, mmap or another allocator."
                : "");
        Rate();
        Add("No line of the program grows with it.");
        Limit();
        break;
      case VerdictKind::kCacheFill:
        if (e_.container_bound || e_.from_log_only) return v_.sentence;
        CacheFill();
        break;
      case VerdictKind::kWarmupComplete:
        if (v_.plateau_bytes && e_.mean_life_steps) return v_.sentence;
        WarmupComplete();
        break;
      case VerdictKind::kWarmupInProgress:
        WarmupInProgress();
        break;
      case VerdictKind::kWorkerDuplication:
        if (!e_.copied_site.empty())
          Add(absl::StrCat(Bytes(e_.copied_site_bytes), " of it was allocated there."));
        Add("Workers copy the parent's pages when they write to them. This is not a leak.");
        break;
      case VerdictKind::kSpikeRecovered:
        Add("Plan for the peak.");
        Smallest();
        break;
      case VerdictKind::kSteady:
        Steady();
        break;
      case VerdictKind::kInconclusive:
        if (v_.reason == Reason::kNoSteps) return v_.sentence;  // what could be said by time
        Inconclusive();
        break;
      case VerdictKind::kSpikeRetained:
      case VerdictKind::kAllocatorRetention:
        break;
    }
    Garbage();
    return text_;
  }

 private:
  static std::string Bytes(const std::optional<double>& bytes) { return FormatBytes(bytes.value_or(0)); }

  // "about 8 min"; a forecast is no more exact than that. Empty for less than a second.
  static std::string About(double seconds) {
    if (seconds < 1) return "";
    return seconds < 120    ? absl::StrFormat("about %.0f s", seconds)
           : seconds < 7200 ? absl::StrFormat("about %.0f min", seconds / 60)
                            : absl::StrFormat("about %.1f h", seconds / 3600);
  }

  static std::string Step(double step) { return HumanStep(std::round(step)); }

  void Add(const std::string& sentence) {
    if (!sentence.empty()) absl::StrAppend(&text_, text_.empty() ? "" : " ", sentence);
  }

  // "The rate is 511-513 KiB/step" and `more`, where the interval is wider than the value.
  void Rate(const std::string& more = "") {
    // By a clock that counts no steps the headline has the rate a second.
    if (e_.rate_bytes_per_gib)
      Add(absl::StrCat("That is ", Bytes(e_.rate_bytes_per_gib), " for each GiB that was allocated."));
    if (!v_.rate_bytes_per_step || !v_.rate_bytes_per_step->interval) return;
    const Interval& range = *v_.rate_bytes_per_step->interval;
    const std::string value = FormatBytes(v_.rate_bytes_per_step->value);
    if (FormatBytes(range.low) == value && FormatBytes(range.high) == value) return;
    Add(absl::StrCat("The rate is ", FormatByteInterval(range), "/step", more, "."));
  }

  void Leak() {
    const bool is_old_kept = !e_.from_log_only && e_.maturity_steps.has_value();
    const std::string objects =
        e_.objects_per_step ? absl::StrCat(CountText(*e_.objects_per_step, "object"), " a step") : "";
    Rate(objects.empty() ? "" : absl::StrCat(", or ", objects));
    if (text_.empty() && !objects.empty()) Add(absl::StrCat("It keeps ", objects, "."));
    if (is_old_kept) {
      if (!text_.empty()) text_.pop_back();
      absl::StrAppend(&text_, text_.empty() ? "Nothing older than " : "; nothing older than ",
                      CountText(*e_.maturity_steps, "step"), " was freed.");
    }
    Component();
    Limit();
    Add(e_.from_log_only ? "A memory log cannot tell a leak from fragmentation or mapped files; a trace can."
                         : "A cache that is not full yet would look the same.");
  }

  void UnboundedGrowth() {
    if (e_.slack_bytes) {
      Rate();
      Add(absl::StrCat("The allocator holds ", Bytes(e_.slack_bytes),
                       " more than was ever live at once, in holes around blocks of ",
                       Bytes(e_.retained_bytes), "."));
    } else if (e_.untraced_kind == "allocator") {
      Rate();
      Add(absl::StrCat(
          "Its blocks are not traced: the line shown is the one ",
          e_.is_by_caller ? "that calls the library most while it grows" : "whose work mapped the memory",
          "; which lines keep it is not known."));
    } else if (e_.replaced_bytes) {
      Rate();
      std::string how = verdict::ReplacedText(*e_.replaced_bytes);
      how[0] = absl::ascii_toupper(static_cast<unsigned char>(how[0]));
      Add(how);
      Add("It is harmless only if the inputs themselves get longer.");
    } else {
      Rate();
      IfCache();
    }
    Limit();
  }

  // What a cache would have to hold if it were one, and what its misses say.
  void IfCache() {
    const std::string entries =
        e_.entries && *e_.entries >= 1
            ? absl::StrCat("; it would hold more than ", CountText(std::round(*e_.entries), "object"),
                           e_.retained_bytes ? absl::StrCat(" (", Bytes(e_.retained_bytes), ")") : "")
            : "";
    Add(absl::StrCat(e_.rate_bytes_per_second ? "No step or pass over data" : "No pass over data",
                     " was seen, so it may be a cache that is not full yet", entries, "."));
    if (e_.cache_entries && e_.cache_entries_interval) {
      Add(absl::StrCat("If it is filled by random draws, its misses say that it will end near ",
                       CountText(std::round(*e_.cache_entries), "object"), " (",
                       Step(e_.cache_entries_interval->low), "-", Step(e_.cache_entries_interval->high),
                       ")."));
    } else if (e_.cache_entries && e_.entries && *e_.cache_entries > *e_.entries) {
      Add(absl::StrCat("Filled by random draws it would have more than ",
                       CountText(std::round(*e_.cache_entries), "object"), ", because no draw was a hit."));
    }
  }

  // "All 9 evaluations did so." or "10 of 11 evaluations did so."
  static std::string CountOf(int count, const std::string& noun) {
    return absl::StrCat(count, " ", noun, "s");
  }

  std::string HowMany(int keeping, int all) const {
    const std::string events = CountOf(all, verdict::EventText(e_.event));
    return absl::StrCat(keeping == all ? absl::StrCat("All ", events) : absl::StrCat(keeping, " of ", events),
                        " did so.");
  }

  void Garbage() {
    if (!verdict::GrowsWithoutEnd(v_.kind) || e_.garbage_share.value_or(0) <= 0) return;
    Add(absl::StrCat(verdict::NumberText(std::round(100 * *e_.garbage_share)),
                     " % of it is garbage in cycles",
                     e_.is_collector_off ? ", and Python's collector is switched off."
                                         : " that wait for Python's collector."));
  }

  void Component() { Add(e_.component); }

  // How far away the limit is in time, and what the forecast was made from. The step is in the headline.
  void Limit() {
    const auto& leak = v_.forecast.if_leak;
    if (!leak || !leak->oom_step) return;
    if (e_.resident_growth_bytes_per_step)
      Add(absl::StrCat("Resident memory grows by ", HumanRate(*e_.resident_growth_bytes_per_step),
                       " with it."));
    const double steps = *leak->oom_step - static_cast<double>(run_.steps * run_.bucket_steps);
    const std::string time = About(steps * run_.seconds_per_step.value_or(0));
    if (!time.empty()) Add(absl::StrCat("At this pace the limit is reached in ", time, "."));
    if (v_.forecast.outcome == verdict::Outcome::kSafeInThisRun) Add("The planned run ends before that.");
  }

  // Of fragmentation: whether call sites explain the holes.
  void Sites() {
    const std::optional<double>& of_sites = e_.sites_growth_bytes_per_step;
    if (!of_sites || !v_.rate_bytes_per_step) return;
    if (*of_sites < verdict::kExplainedShare * v_.rate_bytes_per_step->value) {
      Add("No line of the program keeps it.");
    } else {
      Add(absl::StrCat("Lines of the program keep ", HumanRate(*of_sites),
                       " beside it, and what they keep may hold the holes open."));
    }
  }

  void CacheFill() {
    if (v_.knee_step) {
      std::string out = absl::StrCat("The growth was straight and ended at step ", Step(v_.knee_step->value));
      if (v_.knee_step->interval) {
        const std::string low = Step(v_.knee_step->interval->low), high = Step(v_.knee_step->interval->high);
        if (low != high) absl::StrAppend(&out, " (", low, "-", high, ")");
      }
      if (run_.epoch_steps) absl::StrAppend(&out, "; one epoch has ", CountText(*run_.epoch_steps, "step"));
      Add(absl::StrCat(out, "."));
    } else if (e_.complete.value_or(true)) {
      Add("It is bounded by the data set.");
    }
    if (e_.double_data_bytes)
      Add(absl::StrCat("Twice the data would need ", Bytes(e_.double_data_bytes), "."));
    if (e_.examples_that_fit && run_.limit_bytes.value_or(0) > 0) {
      std::string whose = LimitWords(run_);
      whose[0] = absl::ascii_toupper(static_cast<unsigned char>(whose[0]));
      Add(absl::StrCat(whose, run_.limit_source == series::LimitSource::kMachine ? " are" : " is",
                       " full at about ", Step(*e_.examples_that_fit), " examples."));
    }
    Smallest();
  }

  void WarmupComplete() {
    if (e_.silent_steps && *e_.silent_steps > 0) {
      Add(absl::StrCat("Nothing that matters was ", e_.from_log_only ? "added" : "kept", " in the ",
                       CountText(*e_.silent_steps, "step"), " since. This is a normal start."));
    } else {
      Add("This is a normal start.");
    }
    if (e_.fill_like.value_or(false)) {
      Add("The growth was straight and ended abruptly, as when each example is kept once. The length of an "
          "epoch (--epoch-steps) would tell.");
    }
    Smallest();
  }

  void WarmupInProgress() {
    if (e_.reserved_bytes) {
      Rate();
      if (v_.knee_step) Add(absl::StrCat("At this pace it ends near step ", Step(v_.knee_step->value), "."));
    } else if (!e_.next_jump_step && v_.plateau_bytes && v_.plateau_bytes->interval) {
      Add(absl::StrCat("It is expected within ", FormatByteInterval(*v_.plateau_bytes->interval), "."));
    } else if (!e_.next_jump_step && !v_.plateau_bytes) {
      Add("Where it levels off is not visible yet.");
    }
  }

  void Steady() {
    if (e_.loss_limited) Add("Nothing stays but what lost events of freed blocks explain.");
    if (v_.plateau_bytes && e_.mean_life_steps) {
      Add(absl::StrCat("Objects live long (about ", CountText(*e_.mean_life_steps, "step"),
                       ") and are freed as fast as they are made, at a level of ", Bytes(e_.live_bytes),
                       "."));
    } else if (e_.retained_bytes && *e_.retained_bytes > 0 && !e_.maturity_steps) {
      Add(absl::StrCat(Bytes(e_.retained_bytes), " stay",
                       e_.largest_kept.empty() ? "" : absl::StrCat(", most of it at ", e_.largest_kept),
                       "."));
    }
    if (e_.maturity_steps)
      Add(absl::StrCat("Objects live at most ", CountText(*e_.maturity_steps, "step"), "."));
    if (e_.cycle_amplitude_bytes)
      Add(absl::StrCat("The level rises by ", Bytes(e_.cycle_amplitude_bytes),
                       " over each epoch and falls again; plan for the peak."));
    if (v_.detectable_bytes_per_step) Add("A smaller leak would not have been seen.");
  }

  // What happens under each explanation is told by the forecasts, and how many steps decide by the headline.
  void Inconclusive() {
    const bool has_rate = v_.rate_bytes_per_step.has_value();
    // Without a rate the headline has said why.
    if (has_rate) Add(absl::StrCat("It is undecided because ", v_.why, "."));
    Rate();
    Add(v_.forecast.outcome == verdict::Outcome::kOomEitherWay           ? "Memory runs out either way."
        : v_.forecast.outcome == verdict::Outcome::kOomPossibleEitherWay ? "Memory may run out either way."
        : v_.forecast.outcome == verdict::Outcome::kSafeInThisRun        ? "The planned run fits either way."
                                                                         : "");
    if (v_.reason == Reason::kEpochUnknown) {
      Add("To decide it, give the length with --epoch-steps, or run past the end of the first epoch.");
    } else if (v_.reason == Reason::kUnexplainedGrowth) {
      Add("The ledger says how much. The usual cause is a library with its own allocator, or a driver.");
    } else if (v_.needs_events && v_.needs_steps) {
      Add(absl::StrCat("It takes ", CountText(*v_.needs_events, "more event"), " to decide."));
    } else if (v_.reason == Reason::kFewSamples && v_.needs_steps && !run_.epoch_steps) {
      Add("To tell a leak from a cache that the first pass fills, it also takes the length of an epoch.");
    } else if (v_.needs_samples) {
      Add(absl::StrCat("It takes ", CountText(*v_.needs_samples, "more sample"), "."));
    }
  }

  void Smallest() {
    if (v_.detectable_bytes_per_step)
      Add(absl::StrCat("A leak above ", HumanRate(*v_.detectable_bytes_per_step),
                       " would have been seen; below that this run cannot tell."));
  }

  const verdict::Verdict& v_;
  const Evidence& e_;
  const series::RunContext& run_;
  std::string text_;
};

}  // namespace

std::string FinePrint(const verdict::Verdict& verdict, const series::RunContext& run) {
  const std::string text = Print(verdict, run).Write();
  if (run.unit == series::StepUnit::kBatch) return verdict::InUnits(text, "batch");
  if (run.unit == series::StepUnit::kRound) return verdict::InUnits(text, "round");
  return text;
}

}  // namespace plateau::report
