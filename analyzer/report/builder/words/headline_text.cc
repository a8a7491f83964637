#include "analyzer/report/builder/words/headline_text.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/shape_text.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::report {
namespace {

using verdict::Evidence;
using verdict::Reason;
using verdict::VerdictKind;

class Headline {
 public:
  Headline(const verdict::Verdict& v, const series::RunContext& run, const std::string& who)
      : v_(v), e_(v.evidence), run_(run), who_(who) {}

  std::string Write() const {
    switch (v_.kind) {
      case VerdictKind::kLeak:
      case VerdictKind::kSlowLeak:
        return absl::StrCat(Who(e_.from_log_only ? "memory" : "the program"),
                            e_.from_log_only ? " grows by " : " keeps ", EveryStep(), Since(), Deadline());
      case VerdictKind::kStaircase:
        return absl::StrCat(Who("the program"), " keeps ", Bytes(e_.per_event_bytes), " at every ", Event(),
                            HowOften(), Deadline());
      case VerdictKind::kUnboundedGrowth:
        return Unbounded();
      case VerdictKind::kInconclusive:
        return Inconclusive();
      case VerdictKind::kFragmentation:
        return absl::StrCat("what the allocator holds and nobody uses grows by ", EveryStep(), Deadline());
      case VerdictKind::kUntracedGrowth:
        return absl::StrCat(Untraced(), " grows by ", EveryStep(), Deadline());
      case VerdictKind::kWorkerDuplication:
        return absl::StrCat(
            "workers have copied ", Bytes(e_.worker_private_growth_bytes), " of their parent's pages",
            e_.copied_site.empty() ? "" : absl::StrCat(", most of it made at ", e_.copied_site),
            "; it cannot exceed ", Bytes(e_.worker_bound_bytes));
      case VerdictKind::kWarmupInProgress:
        return WarmupInProgress();
      case VerdictKind::kCacheFill:
        return CacheFill();
      case VerdictKind::kWarmupComplete:
        return absl::StrCat(
            Who("memory"), " grew by ", Bytes(e_.from_log_only ? e_.rise_bytes : e_.retained_bytes),
            v_.by_step ? absl::StrCat(" until step ", HumanStep(std::round(*v_.by_step))) : "",
            " and has been level since");
      case VerdictKind::kSpikeRetained:
        return absl::StrCat("the first ", Event(), " left ",
                            Bytes(e_.per_event_bytes ? e_.per_event_bytes : e_.rise_bytes),
                            who_.empty() ? "" : absl::StrCat(" at ", who_), "; later ones use it again");
      case VerdictKind::kSpikeRecovered:
        return absl::StrCat(who_.empty() ? "evaluation or checkpointing" : who_, " needs ",
                            Bytes(e_.spike_bytes), " more for a moment and gives it back");
      case VerdictKind::kAllocatorRetention:
        return absl::StrCat("the allocator keeps ", Bytes(e_.slack_bytes),
                            " of an earlier peak, and it does not grow");
      case VerdictKind::kSteady:
        if (!v_.detectable_bytes_per_step) return "nothing grows";
        // Above a line of which it is not known whether it grows, only what was shown is said.
        if (!e_.undecided_site.empty())
          return absl::StrCat("nothing grows by more than ", FormatBytes(*v_.detectable_bytes_per_step),
                              " a step");
        return absl::StrCat("nothing grows; a leak of ", FormatBytes(*v_.detectable_bytes_per_step),
                            " a step would have been seen");
    }
    return "";
  }

 private:
  static std::string Bytes(const std::optional<double>& bytes) { return FormatBytes(bytes.value_or(0)); }

  std::string Who(const char* nobody) const { return who_.empty() ? nobody : who_; }

  std::string EveryStep() const {
    return absl::StrCat(FormatBytes(v_.rate_bytes_per_step ? v_.rate_bytes_per_step->value : 0),
                        " every step");
  }

  std::string Since() const {
    if (!v_.onset_step || *v_.onset_step <= 1) return "";
    return absl::StrCat(" since step ", HumanStep(std::round(*v_.onset_step)));
  }

  std::string Event() const { return verdict::EventText(e_.event); }

  std::string HowOften() const {
    if (!e_.period_steps) return "";
    return absl::StrCat(", about every ", HumanStep(std::round(*e_.period_steps)), " steps");
  }

  // "; the machine's 14.9 GiB are reached at step 3,775 (3,700-3,850)", or nothing where no limit is known.
  std::string Deadline() const {
    const auto& leak = v_.forecast.if_leak;
    if (!leak || !leak->oom_step) return "";
    std::string out = absl::StrCat("; ", LimitWords(run_),
                                   run_.limit_source == series::LimitSource::kMachine ? " are" : " is",
                                   " reached at step ", HumanStep(std::round(*leak->oom_step)));
    if (!leak->earliest_step || !leak->latest_step) return out;
    const std::string first = HumanStep(std::round(*leak->earliest_step));
    const std::string last = HumanStep(std::round(*leak->latest_step));
    return first == last ? out : absl::StrCat(out, " (", first, "-", last, ")");
  }

  std::string Unbounded() const {
    if (e_.rate_bytes_per_second) {
      std::string out =
          absl::StrCat(Who("memory"), " grew to the end, by ", FormatBytes(*e_.rate_bytes_per_second), "/s");
      if (e_.seconds_to_limit)
        absl::StrAppend(&out, "; at this pace ", LimitWords(run_),
                        run_.limit_source == series::LimitSource::kMachine ? " are" : " is",
                        " reached in about ", FormatDuration(*e_.seconds_to_limit));
      return out;
    }
    if (!v_.rate_bytes_per_step) return absl::StrCat(Who("memory"), " grew to the end");
    const std::string no_end = ", and nothing has ended it";
    if (e_.slack_bytes) {
      return absl::StrCat(
          "the heap grows by ", EveryStep(), " around blocks that stay",
          e_.largest_kept.empty() ? "" : absl::StrCat(", most of them made at ", e_.largest_kept),
          Deadline());
    }
    if (e_.untraced_kind == "allocator") {
      return absl::StrCat("a library's own allocator grows by ", EveryStep(),
                          who_.empty() ? "" : absl::StrCat(", mapped at ", who_), Deadline());
    }
    return absl::StrCat(Who("memory"), " grows by ", EveryStep(), Since(), no_end, Deadline());
  }

  // What an undecided growth is called; nothing grows in an inconclusive verdict without a rate.
  std::string Inconclusive() const {
    if (!v_.rate_bytes_per_step) return absl::StrCat("it cannot be told yet: ", v_.why);
    std::string out = absl::StrCat(Who("memory"), " has grown by ", EveryStep(),
                                   " so far, and what that is cannot be told yet");
    if (v_.reason == Reason::kFirstPass || v_.reason == Reason::kEpochUnknown)
      out = absl::StrCat(Who("memory"), " has kept ", EveryStep(),
                         " so far: a leak, or each example kept once");
    if (v_.needs_steps && *v_.needs_steps > 0 && v_.reason != Reason::kEpochUnknown) {
      const double steps = std::ceil(*v_.needs_steps);
      absl::StrAppend(&out, "; about ", HumanCount(steps),
                      steps == 1 ? " more step decides it" : " more steps decide it");
    }
    return out;
  }

  std::string Untraced() const {
    return e_.untraced_kind == "file"     ? "memory of mapped files"
           : e_.untraced_kind == "shared" ? "shared memory"
                                          : "memory outside the allocator";
  }

  std::string WarmupInProgress() const {
    if (e_.reserved_bytes) {
      return absl::StrCat(Who("the program"), " fills memory that it reserved before: ", Bytes(e_.live_bytes),
                          " of ", Bytes(e_.reserved_bytes), ", where it ends");
    }
    if (e_.next_jump_step) {
      return absl::StrCat(Who("a container"), " grows in ever larger jumps; the next, to ",
                          Bytes(e_.next_jump_bytes), ", is expected near step ",
                          HumanStep(std::round(*e_.next_jump_step)));
    }
    std::string out = absl::StrCat(Who("memory"), " still grows, but more and more slowly");
    if (v_.plateau_bytes)
      absl::StrAppend(&out, "; it will level off at ", FormatBytes(v_.plateau_bytes->value));
    return out;
  }

  std::string CacheFill() const {
    const bool is_complete = e_.complete.value_or(true);
    const bool ends_at_bound = e_.container_bound && !e_.per_example_bytes;
    std::string out = Who("the program");
    if (e_.per_example_bytes) {
      absl::StrAppend(&out, " keeps each example once, ", Bytes(e_.per_example_bytes), " each");
    } else if (ends_at_bound) {
      absl::StrAppend(&out, " fills a container of at most ", HumanCount(*e_.container_bound),
                      *e_.container_bound == 1 ? " item" : " items");
    } else {
      absl::StrAppend(&out, " keeps what the first pass over the data makes");
    }
    if (e_.retained_bytes)
      absl::StrAppend(&out, ", ", Bytes(e_.retained_bytes), is_complete ? " in all" : " so far");
    if (is_complete)
      return absl::StrCat(out, ends_at_bound ? "; it is full" : "; it ended with the first pass");
    if (v_.plateau_bytes)
      absl::StrAppend(&out, "; it will end at about ", FormatBytes(v_.plateau_bytes->value));
    return out;
  }

  const verdict::Verdict& v_;
  const Evidence& e_;
  const series::RunContext& run_;
  const std::string& who_;
};

}  // namespace

std::string LimitWords(const series::RunContext& run) {
  const std::string size = FormatBytes(run.limit_bytes.value_or(0));
  switch (run.limit_source) {
    case series::LimitSource::kCgroup:
      return absl::StrCat("the cgroup's limit of ", size);
    case series::LimitSource::kMachine:
      return absl::StrCat("the machine's ", size);
    case series::LimitSource::kGiven:
      break;
  }
  return absl::StrCat("the memory limit of ", size);
}

std::string HeadlineText(const verdict::Verdict& verdict, const series::RunContext& run,
                         const std::string& who) {
  std::string text = Headline(verdict, run, who).Write();
  if (who.empty() || !absl::StartsWith(text, who))
    text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  // A site may be called "training_step": its name is put in when the units are settled.
  if (run.unit == series::StepUnit::kStep) return text;
  const size_t at = who.empty() ? std::string::npos : text.find(who);
  const char* unit = run.unit == series::StepUnit::kBatch   ? "batch"
                     : run.unit == series::StepUnit::kRound ? "round"
                                                            : nullptr;
  if (unit == nullptr) return text;
  if (at == std::string::npos) return verdict::InUnits(text, unit);
  return absl::StrCat(verdict::InUnits(text.substr(0, at), unit), who,
                      verdict::InUnits(text.substr(at + who.size()), unit));
}

}  // namespace plateau::report
