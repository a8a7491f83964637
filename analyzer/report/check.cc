#include "analyzer/report/check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/closest_word.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

using Kind = CheckRule::Kind;

// "steady, leak, ...", for a message.
std::string KnownVerdicts() {
  std::vector<std::string> names;
  for (const verdict::VerdictRow& row : verdict::AllVerdicts()) names.emplace_back(row.name);
  return absl::StrJoin(names, ", ");
}

// True when the verdict is the sum of what sites do, so that it goes away with them.
bool IsMadeBySites(const std::string& name) {
  const std::optional<verdict::VerdictKind> kind = verdict::ParseVerdict(name);
  return kind && verdict::GrowsWithoutEnd(*kind);
}

// "1MiB/step" with the "/step" required or refused.
absl::StatusOr<double> ParseLimit(absl::string_view text, bool per_step) {
  const bool has_step = absl::ConsumeSuffix(&text, "/step");
  const std::optional<uint64_t> bytes = ParseBytes(std::string_view(text.data(), text.size()));
  if (!bytes.has_value() || has_step != per_step) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, has_step ? "/step" : "", "\" is no ",
                     per_step ? "rate such as 1MiB/step" : "size such as 1GiB"));
  }
  return static_cast<double>(*bytes);
}

absl::StatusOr<double> ParseCount(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no whole number"));
  }
  return static_cast<double>(value);
}

absl::Status ParseVerdicts(absl::string_view list, CheckRule& rule) {
  for (absl::string_view name : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    std::string asked = absl::AsciiStrToLower(name);
    std::replace(asked.begin(), asked.end(), '-', '_');
    if (asked == "growth") {
      for (const verdict::VerdictRow& row : verdict::AllVerdicts()) {
        if (row.tone == verdict::Tone::kGrows) rule.verdicts.emplace_back(row.name);
      }
      continue;
    }
    if (!verdict::ParseVerdict(asked)) {
      std::vector<std::string> known = {"growth"};
      for (const verdict::VerdictRow& row : verdict::AllVerdicts()) known.emplace_back(row.name);
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is no verdict; there are ", KnownVerdicts(),
                       ", and growth for all that grow without an end", DidYouMean(asked, known)));
    }
    rule.verdicts.push_back(asked);
    // Asking for leaks means slow ones too.
    if (asked == "leak") rule.verdicts.push_back("slow_leak");
  }
  if (rule.verdicts.empty()) return absl::InvalidArgumentError("fail-on needs a verdict, e.g. fail-on leak");
  return absl::OkStatus();
}

class Checker {
 public:
  explicit Checker(const CheckInputs& inputs) : inputs_(inputs), model_(*inputs.model) {
    for (const Site& site : model_.sites) {
      if (inputs.suppressions != nullptr && inputs.suppressions->Match(model_, site) >= 0) {
        ++suppressed_;
      } else {
        sites_.push_back(&site);
      }
    }
  }

  CheckOutcome Run(const CheckRule& rule) {
    CheckOutcome out;
    out.rule = rule.text;
    switch (rule.kind) {
      case Kind::kFailOn:
        FailOn(rule, out);
        break;
      case Kind::kMaxGrowth:
        MaxGrowth(rule, sites_, out);
        break;
      case Kind::kMaxRetained:
        MaxRetained(rule, out);
        break;
      case Kind::kMaxPeak:
        Level("peak live bytes", static_cast<double>(model_.totals.peak_bytes), rule, out);
        break;
      case Kind::kMaxRss:
        Level("highest RSS", HighestRss(), rule, out);
        break;
      case Kind::kPlateauBy:
        PlateauBy(rule, out);
        break;
      case Kind::kBudget:
        Budget(rule, out);
        break;
      case Kind::kBudgetGrowth:
        if (rule.is_by_holder) {
          HolderBudget(rule, /*per_step=*/true, out);
        } else {
          MaxGrowth(rule, Matching(rule.glob), out);
        }
        break;
      case Kind::kMinSteps:
        out.message = absl::StrCat(HumanCount(model_.steps.count), " steps, at least ",
                                   HumanCount(rule.limit), " wanted");
        if (static_cast<double>(model_.steps.count) < rule.limit) out.status = CheckStatus::kFailed;
        break;
      case Kind::kMaxDrops:
        out.message = absl::StrCat(HumanCount(model_.losses.dropped_events), " events dropped, ",
                                   HumanCount(rule.limit), " allowed");
        if (static_cast<double>(model_.losses.dropped_events) > rule.limit) out.status = CheckStatus::kFailed;
        break;
      case Kind::kBaseline:
        Baseline(rule, out);
        break;
    }
    return out;
  }

 private:
  static std::string Describe(const Site& site) {
    std::string text = absl::StrCat(site.site, ": ", FormatBytes(site.retained_bytes), " retained");
    if (site.growth_bytes_per_step != 0) absl::StrAppend(&text, ", ", HumanRate(site.growth_bytes_per_step));
    if (!site.verdict.empty()) absl::StrAppend(&text, ", ", site.verdict);
    return Printable(text);
  }

  std::vector<const Site*> Matching(const std::string& glob) const {
    std::vector<const Site*> out;
    for (const Site* site : sites_) {
      if (MatchesGlob(glob, site->file) || MatchesGlob(glob, site->function) ||
          MatchesGlob(glob, site->module) || MatchesGlob(glob, site->site)) {
        out.push_back(site);
      }
    }
    return out;
  }

  void FailOn(const CheckRule& rule, CheckOutcome& out) {
    auto asked = [&rule](const std::string& verdict) {
      return std::find(rule.verdicts.begin(), rule.verdicts.end(), verdict) != rule.verdicts.end();
    };
    for (const Site* site : sites_) {
      if (asked(site->verdict)) out.details.push_back(Describe(*site));
    }
    for (const Process& process : model_.processes) {
      if (asked(process.verdict) && model_.processes.size() > 1) {
        out.details.push_back(
            Printable(absl::StrCat("process ", process.pid, " (", process.role, "): ", process.verdict)));
      }
    }
    out.message = absl::StrCat("the verdict is ", model_.verdict.name);
    if (!asked(model_.verdict.name)) return;
    // With every site that made the verdict suppressed there is nothing left to fail on.
    if (suppressed_ > 0 && out.details.empty() && IsMadeBySites(model_.verdict.name)) {
      out.message += ", all of its sites are suppressed";
      return;
    }
    out.status = CheckStatus::kFailed;
    if (!model_.verdict.summary.empty())
      absl::StrAppend(&out.message, ": ", Printable(model_.verdict.summary), ".");
  }

  void MaxGrowth(const CheckRule& rule, const std::vector<const Site*>& sites, CheckOutcome& out) {
    double sum = 0, certain = 0;
    for (const Site* site : sites) {
      const double growth = site->growth_bytes_per_step;
      const double low = site->growth_interval.has_value() ? site->growth_interval->low : growth;
      sum += std::max(0.0, growth);
      certain += std::max(0.0, low);
      if (growth > rule.limit) out.details.push_back(Describe(*site));
    }
    out.message = absl::StrCat("growth is ", HumanRate(sum), ", at most ", HumanRate(rule.limit), " allowed");
    if (certain > rule.limit) {
      out.status = CheckStatus::kFailed;
    } else if (sum > rule.limit) {
      out.status = CheckStatus::kWarned;
      absl::StrAppend(&out.message, "; the interval reaches down to ", HumanRate(certain),
                      ", so it may be below");
    }
  }

  void MaxRetained(const CheckRule& rule, CheckOutcome& out) {
    double sum = 0;
    for (const Site* site : sites_) sum += static_cast<double>(site->retained_bytes);
    Level("retained bytes", sum, rule, out);
  }

  void Level(const char* what, double value, const CheckRule& rule, CheckOutcome& out) {
    out.message =
        absl::StrCat(what, ": ", FormatBytes(value), ", at most ", FormatBytes(rule.limit), " allowed");
    if (value > rule.limit) out.status = CheckStatus::kFailed;
  }

  double HighestRss() const {
    int64_t high = 0;
    for (const LedgerReading& s : model_.ledger) high = std::max(high, s.rss_bytes);
    for (const Process& p : model_.processes) high = std::max(high, p.peak_rss_bytes);
    return static_cast<double>(high);
  }

  // Paths of sites whose container, or the path itself, matches.
  struct Held {
    const Site* site;
    const HolderPath* path;
  };
  std::vector<Held> MatchingHolders(const std::string& glob) const {
    std::vector<Held> out;
    for (const Site* site : sites_) {
      for (const HolderPath& path : site->held_by) {
        if (MatchesGlob(glob, path.container) || MatchesGlob(glob, path.text)) out.push_back({site, &path});
      }
    }
    return out;
  }

  void HolderBudget(const CheckRule& rule, bool per_step, CheckOutcome& out) {
    if (model_.holders.walks == 0) {
      out.status = CheckStatus::kWarned;
      out.message = "nobody looked for holders in this recording; nothing can be said";
      if (!model_.holders.skipped_why.empty())
        absl::StrAppend(&out.message, ": ", model_.holders.skipped_why);
      return;
    }
    double sum = 0;
    for (const Held& held : MatchingHolders(rule.glob)) {
      const double growth = held.path->share * std::max(0.0, held.site->growth_bytes_per_step);
      sum += per_step ? growth : static_cast<double>(held.path->bytes);
      if (out.details.size() >= 10) continue;
      out.details.push_back(Printable(absl::StrCat(held.path->text, " holds ",
                                                   FormatBytes(static_cast<double>(held.path->bytes)), " of ",
                                                   held.site->site)));
    }
    const std::string what = absl::StrCat("held by ", rule.glob);
    if (per_step) {
      out.message = absl::StrCat(what, ": ", HumanRate(sum), ", at most ", HumanRate(rule.limit), " allowed");
      if (sum > rule.limit) out.status = CheckStatus::kFailed;
    } else {
      Level(what.c_str(), sum, rule, out);
    }
    if (out.status == CheckStatus::kPassed) out.details.clear();
  }

  void Budget(const CheckRule& rule, CheckOutcome& out) {
    if (rule.is_by_holder) return HolderBudget(rule, /*per_step=*/false, out);
    const std::vector<const Site*> sites = Matching(rule.glob);
    double sum = 0;
    for (const Site* site : sites) {
      sum += static_cast<double>(site->retained_bytes);
      if (out.details.size() < 10 && site->retained_bytes > 0) out.details.push_back(Describe(*site));
    }
    Level(absl::StrCat(sites.size(), sites.size() == 1 ? " site retains" : " sites retain").c_str(), sum,
          rule, out);
    if (out.status == CheckStatus::kPassed) out.details.clear();
  }

  // Bytes born after the step and still alive, of sites that are not merely young: within 2 % of what is
  // held.
  void PlateauBy(const CheckRule& rule, CheckOutcome& out) {
    if (static_cast<double>(model_.steps.count) <= rule.limit) {
      out.status = CheckStatus::kWarned;
      out.message = absl::StrCat("the run ended at step ", HumanCount(model_.steps.count), ", before step ",
                                 HumanCount(rule.limit), "; nothing can be said");
      return;
    }
    double level = 0, end = 0;
    for (const Site* site : sites_) {
      if (site->live_bytes.empty()) continue;
      size_t at = 0;
      while (at + 1 < model_.axis_steps.size() && model_.axis_steps[at + 1] <= rule.limit) ++at;
      const double then = static_cast<double>(site->live_bytes[std::min(at, site->live_bytes.size() - 1)]);
      const double now = static_cast<double>(site->live_bytes.back());
      level += then;
      end += now;
    }
    for (const Site* site : sites_) {
      if (site->growth_bytes_per_step > 0 && verdict::ToneOf(site->verdict) >= verdict::Tone::kOpen)
        out.details.push_back(Describe(*site));
    }
    const double grown = end - level;
    out.message = absl::StrCat("live bytes changed by ", FormatBytes(grown), " after step ",
                               HumanCount(rule.limit), ", from ", FormatBytes(level));
    if (grown > 0.02 * level) {
      out.status = CheckStatus::kFailed;
    } else {
      out.details.clear();
    }
  }

  void Baseline(const CheckRule& rule, CheckOutcome& out) {
    if (inputs_.baseline == nullptr) {
      out.status = CheckStatus::kFailed;
      out.message = "no baseline was given; pass --baseline FILE.json, written by `plateau report --json`";
      return;
    }
    const ReportModel& old = *inputs_.baseline;
    const double floor =
        0.01 * static_cast<double>(std::max(old.totals.peak_bytes, model_.totals.peak_bytes));
    const double steps = static_cast<double>(std::max<int64_t>(1, model_.steps.count));
    const ReportDiff diff = DiffReports(old, model_);
    for (const DiffRow& row : diff.rows) {
      if (!row.after.present || Suppressed(row.site)) continue;
      const double more = static_cast<double>(row.retained_change());
      const double grow = row.growth_change() * steps;
      const bool retains =
          more > floor && more > rule.limit * std::fabs(static_cast<double>(row.before.retained_bytes));
      const bool grows =
          grow > floor && row.growth_change() > rule.limit * std::fabs(row.before.growth_bytes_per_step);
      if (!retains && !grows) continue;
      out.details.push_back(Printable(absl::StrCat(row.site, ": ", FormatBytes(row.before.retained_bytes),
                                                   " -> ", FormatBytes(row.after.retained_bytes), ", ",
                                                   HumanRate(row.before.growth_bytes_per_step), " -> ",
                                                   HumanRate(row.after.growth_bytes_per_step))));
    }
    const bool worse = verdict::ToneOf(model_.verdict.name) == verdict::Tone::kGrows &&
                       verdict::ToneOf(old.verdict.name) < verdict::Tone::kGrows;
    out.message =
        absl::StrCat(out.details.size(), out.details.size() == 1 ? " site holds" : " sites hold",
                     " more than ", absl::StrFormat("%.0f %%", rule.limit * 100),
                     " above the baseline; verdict ", old.verdict.name, " -> ", model_.verdict.name);
    if (!out.details.empty() || worse) out.status = CheckStatus::kFailed;
  }

  bool Suppressed(const std::string& name) const {
    return std::none_of(sites_.begin(), sites_.end(), [&](const Site* site) { return site->site == name; });
  }

  const CheckInputs& inputs_;
  const ReportModel& model_;
  std::vector<const Site*> sites_;  // not suppressed
  size_t suppressed_ = 0;
};

}  // namespace

absl::StatusOr<CheckRule> ParseCheckRule(absl::string_view line) {
  CheckRule rule;
  rule.text = std::string(absl::StripAsciiWhitespace(line));
  const std::vector<std::string> words =
      absl::StrSplit(rule.text, absl::ByAnyChar(" \t="), absl::SkipEmpty());
  if (words.empty()) return absl::InvalidArgumentError("an empty rule");
  const std::string& name = words[0];
  const size_t wanted = name == "budget" ? 3 : 2;
  if (words.size() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("\"", rule.text, "\": ", name, " takes ", wanted - 1,
                                                   wanted == 2 ? " value" : " values"));
  }
  if (name == "fail-on") {
    PLATEAU_RETURN_IF_ERROR(ParseVerdicts(words[1], rule));
  } else if (name == "max-growth") {
    rule.kind = Kind::kMaxGrowth;
    PLATEAU_ASSIGN_OR_RETURN(rule.limit, ParseLimit(words[1], /*per_step=*/true));
  } else if (name == "max-retained" || name == "max-peak" || name == "max-rss") {
    rule.kind = name == "max-retained" ? Kind::kMaxRetained
                : name == "max-peak"   ? Kind::kMaxPeak
                                       : Kind::kMaxRss;
    PLATEAU_ASSIGN_OR_RETURN(rule.limit, ParseLimit(words[1], /*per_step=*/false));
  } else if (name == "plateau-by" || name == "min-steps" || name == "max-drops") {
    rule.kind = name == "plateau-by"  ? Kind::kPlateauBy
                : name == "min-steps" ? Kind::kMinSteps
                                      : Kind::kMaxDrops;
    PLATEAU_ASSIGN_OR_RETURN(rule.limit, ParseCount(words[1]));
  } else if (name == "budget") {
    absl::string_view glob = words[1];
    rule.is_by_holder = absl::ConsumePrefix(&glob, "held-by:");
    rule.glob = std::string(glob);
    const bool per_step = absl::EndsWith(words[2], "/step");
    rule.kind = per_step ? Kind::kBudgetGrowth : Kind::kBudget;
    PLATEAU_ASSIGN_OR_RETURN(rule.limit, ParseLimit(words[2], per_step));
  } else if (name == "baseline") {
    rule.kind = Kind::kBaseline;
    absl::string_view share = words[1];
    if (!absl::ConsumeSuffix(&share, "%") || !absl::SimpleAtod(share, &rule.limit) || rule.limit < 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"", words[1], "\" is no share such as 10%"));
    }
    rule.limit /= 100;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("no rule \"", name,
                     "\"; there are fail-on, max-growth, max-retained, max-peak, max-rss, plateau-by, "
                     "budget, min-steps, max-drops and baseline"));
  }
  return rule;
}

absl::StatusOr<std::vector<CheckRule>> ParseCheckRules(absl::string_view text) {
  std::vector<CheckRule> rules;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<CheckRule> rule = ParseCheckRule(line);
    if (!rule.ok())
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", rule.status().message()));
    rules.push_back(*std::move(rule));
  }
  return rules;
}

std::vector<CheckRule> DefaultCheckRules() {
  return {ParseCheckRule("fail-on leak,slow_leak,staircase").value()};
}

bool CheckReport::passed() const {
  return std::none_of(outcomes.begin(), outcomes.end(),
                      [](const CheckOutcome& o) { return o.status == CheckStatus::kFailed; });
}

CheckReport RunCheck(const CheckInputs& inputs, const std::vector<CheckRule>& rules) {
  Checker checker(inputs);
  CheckReport report;
  for (const CheckRule& rule : rules) report.outcomes.push_back(checker.Run(rule));
  return report;
}

}  // namespace plateau::report
