#include "analyzer/report/text/card.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/base/human_units.h"
#include "analyzer/report/ledger_span.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

constexpr int kLabel = 11;
constexpr char kBold[] = "\x1b[1m";
constexpr char kDim[] = "\x1b[2m";
constexpr char kReset[] = "\x1b[0m";

// "nothing lost", or what was: "250 events dropped, 2 blocks missing".
std::string LossesInWords(const Losses& losses) {
  std::vector<std::string> parts;
  const auto say = [&parts](uint64_t count, const char* noun, const char* what) {
    if (count > 0) parts.push_back(absl::StrCat(Counted(count, noun), " ", what));
  };
  say(losses.unreadable_files, "trace file", "unreadable");
  say(losses.dropped_events, "event", "dropped");
  say(losses.damaged_headers, "file header", "damaged");
  say(losses.damaged_blocks, "block", "damaged");
  say(losses.missing_blocks, "block", "missing");
  say(losses.skipped_records, "record", "not understood");
  return parts.empty() ? "nothing lost" : absl::StrJoin(parts, ", ");
}

class Card {
 public:
  Card(const ReportModel& model, const CardOptions& options) : model_(model), options_(options) {}

  std::string Write() {
    Banner();
    HeldBy();
    Curves();
    Why();
    Makers();
    Future();
    RuledOut();
    Next();
    LastMinutes();
    Recorded();
    return out_;
  }

 private:
  std::string Style(const char* code, const std::string& text) const {
    return options_.color ? absl::StrCat(code, text, kReset) : text;
  }

  const char* VerdictColor() const {
    switch (verdict::ToneOf(model_.verdict.name)) {
      case verdict::Tone::kGrows:
        return "\x1b[1;37;41m";
      case verdict::Tone::kOpen:
        return "\x1b[1;30;43m";
      case verdict::Tone::kNote:
        return "\x1b[1;37;44m";
      case verdict::Tone::kFine:
        return "\x1b[1;30;42m";
    }
    return "";
  }

  void Line(const std::string& text = "") { absl::StrAppend(&out_, text, "\n"); }

  void Heading(const std::string& text) { Line(Style(kBold, text)); }

  void Banner() {
    std::vector<std::string> facts;
    const Steps& steps = model_.steps;
    facts.push_back(absl::StrCat(HumanCount(steps.count), steps.count == 1 ? " step" : " steps"));
    if (!steps.epoch_ends.empty()) {
      facts.push_back(
          absl::StrCat(steps.epoch_ends.size(), steps.epoch_ends.size() == 1 ? " epoch" : " epochs"));
    }
    if (model_.recording.duration_seconds > 0)
      facts.push_back(FormatDuration(model_.recording.duration_seconds));
    // "attached after 10 h 12 min"
    if (model_.attached && model_.attached->age_seconds > 0)
      facts.push_back(absl::StrCat("attached after ", FormatDuration(model_.attached->age_seconds)));
    const std::string title = absl::StrCat(" ", verdict::VerdictTitle(model_.verdict.name), " ");
    std::string right = absl::StrJoin(facts, ", ");
    const auto room = [&] { return options_.columns - DisplayWidth(title) - DisplayWidth(right) - 4; };
    // In a narrow terminal the command is worth more than the last of the facts.
    constexpr int kLeastOfACommand = 16;
    for (; facts.size() > 1 && room() < kLeastOfACommand; right = absl::StrJoin(facts, ", "))
      facts.pop_back();
    const std::string command = MiddleEllipsis(CommandIn(std::max(room(), 0)), std::max(room(), 0));
    const int gap = std::max(2, room() + 2 - DisplayWidth(command));
    Line(
        absl::StrCat(Style(VerdictColor(), title), "  ", command, std::string(gap, ' '), Style(kDim, right)));
    const std::string summary = Printable(model_.verdict.summary);
    for (const std::string& line : WrapText(summary, options_.columns)) Line(Style(kBold, line));
    for (const std::string& line : WrapText(Printable(model_.verdict.sentence), options_.columns))
      Line(summary.empty() ? line : Style(kDim, line));
  }

  // The command as it was given, or without the directory of its program where that does not fit.
  std::string CommandIn(int columns) const {
    std::string command = Printable(model_.recording.command);
    if (DisplayWidth(command) <= columns) return command;
    const size_t program_end = std::min(command.find(' '), command.size());
    const size_t slash = command.rfind('/', program_end - 1);
    return slash == std::string::npos || slash > program_end ? command : command.substr(slash + 1);
  }

  // A curve that moves by less than 5 % is drawn from zero, so that noise does not look like growth.
  void Curve(const char* name, const std::vector<double>& values, const std::string& note) {
    if (values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const int width = std::clamp(options_.columns - 46, 8, 34);
    std::string line = Sparkline(values, width, *high - *low < 0.05 * *high ? 0.0 : *low);
    line += std::string(width - DisplayWidth(line), ' ');
    std::string right = absl::StrCat("  ", FormatBytes(values.front()), " -> ", FormatBytes(values.back()));
    if (!note.empty() && 6 + width + DisplayWidth(right) + 2 + DisplayWidth(note) <= options_.columns) {
      absl::StrAppend(&right, ", ", note);
    }
    Line(absl::StrCat(
        name,
        Style(verdict::ToneOf(model_.verdict.name) == verdict::Tone::kGrows ? "\x1b[31m" : "\x1b[36m", line),
        right));
  }

  void Curves() {
    const LedgerSpan span = SpanOf(model_);
    if (span.empty()) return;
    std::vector<double> live, rss;
    for (size_t i = span.begin; i < span.end; ++i) {
      live.push_back(static_cast<double>(model_.ledger[i].live_bytes));
      rss.push_back(static_cast<double>(model_.ledger[i].rss_bytes));
    }
    const LedgerReading& last = model_.ledger[span.end - 1];
    Curve("live  ", live, absl::StrCat("peak ", FormatBytes(static_cast<double>(span.live_peak_bytes))));
    // Below zero it is memory that was asked for and never touched: the ledger has it.
    Curve("RSS   ", rss,
          last.allocator_gap_bytes < 0 ? ""
                                       : absl::StrCat("gap ", last.allocator_gap_is_estimated ? "~" : "",
                                                      FormatBytes(last.allocator_gap_bytes)));
  }

  // "Why        text" with the label in the first eleven columns and the text hanging beside it.
  // Nothing is cut: half an advice is none.
  void Section(const std::string& label, const std::string& text) {
    const std::vector<std::string> lines = WrapText(Printable(text), options_.columns - kLabel);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string pad(std::max<int>(1, kLabel - (i == 0 ? label.size() : 0)), ' ');
      Line(absl::StrCat(i == 0 ? Style(kBold, label) : "", pad, lines[i]));
    }
  }

  // Who keeps alive what the headline is about: the second thing that a reader asks.
  void HeldBy() {
    std::string label = "Held by";
    for (const std::string& line : model_.verdict.held_by) {
      Section(label, line);
      label = "  and by";
    }
  }

  void Why() {
    size_t room = 4;
    std::string label = "Why";
    for (const std::string& reason : model_.verdict.why) {
      const size_t lines = WrapText(reason, options_.columns - kLabel).size();
      if (lines > room) break;
      Section(label, reason);
      label.clear();
      room -= lines;
    }
  }

  // The site that the verdict is about first, then those that have the same verdict, then, while growth is what it is
  // about, what grows; else as the model has them: by retained bytes, without steps by growth. What importing modules
  // took comes last, because nobody can do much about it.
  std::vector<const Site*> MostTelling() const {
    std::vector<const Site*> sites;
    for (const Site& site : model_.sites) sites.push_back(&site);
    const verdict::Tone headline = verdict::ToneOf(model_.verdict.name);
    const bool is_open = headline == verdict::Tone::kOpen;
    auto rank = [&](const Site& site) {
      if (!model_.verdict.site.empty() && site.site == model_.verdict.site && site.retained_bytes > 0)
        return 0;
      if (is_open) return site.growth_bytes_per_step > 0 ? 2 : site.is_import ? 4 : 3;
      const bool made_it =
          model_.verdict.name != "steady" && site.verdict == model_.verdict.name && !site.is_import;
      if (made_it && (headline > verdict::Tone::kFine || site.retained_bytes > 0)) return 1;
      if (site.is_import) return 4;
      const bool grows =
          verdict::ToneOf(site.verdict) == verdict::Tone::kGrows || site.growth_bytes_per_step > 0;
      return headline == verdict::Tone::kGrows && grows ? 2 : 3;
    };
    std::stable_sort(sites.begin(), sites.end(), [&](const Site* a, const Site* b) {
      const int rank_a = rank(*a), rank_b = rank(*b);
      // Under an undecided headline what grows most may be what decides it.
      if (rank_a == 2 && rank_b == 2 && is_open) return a->growth_bytes_per_step > b->growth_bytes_per_step;
      return rank_a < rank_b;
    });
    return sites;
  }

  // The lines that allocated what stays. Who keeps it is another matter, see HeldBy().
  void Makers() {
    if (model_.sites.empty()) return;
    constexpr int kNumbers = 11 + 15;  // " 1,023 MiB" and " 1.20 MiB/step"
    const std::vector<const Site*> sites = MostTelling();
    const size_t shown = std::min<size_t>(options_.top_sites, sites.size());
    // Numbers stand near their names: a wide terminal does not stretch the table.
    constexpr int kNames = 50;
    int longest = kNames;
    for (size_t i = 0; i < shown; ++i)
      longest = std::max(longest, DisplayWidth(sites[i]->site) + DisplayWidth(sites[i]->pool) + 3);
    const int names = std::min(options_.columns - kNumbers - 4, longest);
    Heading(absl::StrCat("Made at", std::string(std::max(1, names + 4 - 7), ' '), "   retained",
                         "         growth"));
    for (size_t i = 0; i < shown; ++i) {
      const Site& s = *sites[i];
      const std::string pool = NameWithPool(s).substr(s.site.size());
      std::string name =
          absl::StrCat(SiteEllipsis(Printable(s.site), names - DisplayWidth(pool)), Printable(pool));
      name += std::string(names - DisplayWidth(name), ' ');
      const std::string bytes = FormatBytes(s.retained_bytes);
      const std::string rate = s.growth_bytes_per_step == 0 ? "-" : HumanRate(s.growth_bytes_per_step);
      Line(absl::StrCat("  ", i + 1, " ", name, std::string(std::max<int>(1, 11 - bytes.size()), ' '), bytes,
                        std::string(std::max<int>(1, 15 - rate.size()), ' '), rate));
      const std::string source(absl::StripAsciiWhitespace(s.source_line));
      std::string detail = source;
      if (!s.verdict.empty()) {
        detail =
            absl::StrCat(absl::StrReplaceAll(s.verdict, {{"_", " "}}), source.empty() ? "" : ": ", source);
      }
      if (!detail.empty() && i < 2)
        Line(Style(kDim, absl::StrCat("    ", MiddleEllipsis(Printable(detail), options_.columns - 4))));
      if (s.stored_at_line > 0 && i < 2) {
        const std::string where = absl::StrCat(s.file.substr(s.file.rfind('/') + 1), ":", s.stored_at_line);
        Line(Style(kDim,
                   absl::StrCat("    stored at ", SiteEllipsis(Printable(where), options_.columns / 2), ": ",
                                MiddleEllipsis(Printable(s.stored_at_text), options_.columns / 2 - 18))));
      }
      if (!s.library.empty() && !s.is_import && i < 2) {
        Line(Style(kDim, absl::StrCat("    allocated in ",
                                      SiteEllipsis(Printable(s.library), options_.columns - 17))));
      }
    }
    // The sites of all pools; the totals are those of the host alone.
    int64_t all = 0;
    for (const Site& site : model_.sites) all += site.retained_bytes;
    for (const Leftover& leftover : model_.leftovers) all += leftover.retained_bytes;
    int64_t rest = all;
    for (size_t i = 0; i < shown; ++i) rest -= sites[i]->retained_bytes;
    if (model_.sites.size() > shown) {
      const std::string text = absl::StrCat(
          HumanCount(model_.sites.size() - shown), " more sites and leftovers hold ", FormatBytes(rest),
          " of ", FormatBytes(all),
          model_.processes.size() > 1 ? absl::StrCat(" in ", model_.processes.size(), " processes") : "");
      for (const std::string& line : WrapText(text, options_.columns - 4))
        Line(Style(kDim, absl::StrCat("    ", line)));
    }
  }

  void Future() {
    std::vector<std::string> lines;
    for (const Forecast& f : model_.verdict.forecasts) {
      if (f.sentence.empty()) continue;
      // The headline has said when the limit is reached.
      if (f.limit_step && !model_.verdict.summary.empty() && model_.verdict.name != "inconclusive") continue;
      const bool is_one_of_two = model_.verdict.forecasts.size() > 1 || model_.verdict.name == "inconclusive";
      lines.push_back(is_one_of_two && !f.label.empty() ? absl::StrCat(f.label, ": ", f.sentence)
                                                        : f.sentence);
    }
    std::string label = "Forecast";
    // Most headlines of what is undecided end with it.
    if (model_.verdict.needs_steps.has_value() && !absl::StrContains(model_.verdict.summary, "decide")) {
      Section(label,
              absl::StrCat("About ", HumanCount(*model_.verdict.needs_steps), " more steps decide it."));
      label.clear();
    }
    for (size_t i = 0; i < lines.size() && i < 2; ++i) {
      Section(label, lines[i]);
      label.clear();
    }
  }

  void RuledOut() {
    std::vector<std::string> names;
    for (const TestedHypothesis& h : model_.hypotheses) {
      if (h.result == "ruled out" || h.result == "ruled_out") names.push_back(h.name);
    }
    if (names.empty()) return;
    // As many as fit on two lines; the rest is counted.
    const size_t all = names.size();
    std::string text = absl::StrJoin(names, ", ");
    while (names.size() > 1 && WrapText(text, options_.columns - kLabel).size() > 2) {
      names.pop_back();
      text = absl::StrCat(absl::StrJoin(names, ", "), " and ", all - names.size(), " more");
    }
    Section("Ruled out", text);
  }

  void Next() {
    const std::vector<std::string>& advice = model_.verdict.next_steps;
    if (!advice.empty()) Section("Next", advice[0]);
    if (advice.size() > 1) Section("", advice[1]);
    // What else was recognised, if there is room for it.
    for (const MatchedPattern& p : model_.patterns) {
      const std::string line = absl::StrCat(p.title, " (", p.id, "): ", p.fix);
      if (advice.size() > 1 || absl::c_linear_search(advice, line)) continue;
      Section("Also seen", line);
      return;
    }
  }

  void LastMinutes() {
    if (model_.last_minutes.to_seconds > 0) Section("At the end", model_.last_minutes.sentence);
  }

  void Recorded() {
    const RecordingInfo& r = model_.recording;
    std::string text = absl::StrCat(r.mode, " mode");
    if (r.sample_bytes > 0) {
      absl::StrAppend(&text, ", sampled below ", FormatBytes(r.exact_from_bytes));
    } else if (r.python_sample_bytes > 0) {
      absl::StrAppend(&text, ", Python's small objects sampled");
    }
    if (r.sampled_from_seconds.has_value()) {
      absl::StrAppend(
          &text, r.python_sample_bytes > 0 ? ", other small ones from " : ", small requests sampled from ",
          FormatDuration(*r.sampled_from_seconds), " on (size limit)");
    }
    if (!model_.steps.source.empty()) absl::StrAppend(&text, "; steps from ", model_.steps.source);
    if (!model_.steps.loop.empty()) absl::StrAppend(&text, " of ", model_.steps.loop);
    if (r.totals_only_from_seconds.has_value()) {
      absl::StrAppend(&text, "; totals only from ", FormatDuration(*r.totals_only_from_seconds), " on");
    }
    // A version that the shim does not know, a free-threaded build: lines of Python are missing then. A program that locks
    // itself in: there is less to see from then on.
    for (const auto& [level, sentence] : r.levels) {
      const bool is_told = level == "python" ? absl::StrContains(sentence, ": frames off")
                                             : level == "memory" || level == "sandbox";
      if (is_told) absl::StrAppend(&text, "; ", sentence);
    }
    if (model_.attached) absl::StrAppend(&text, "; ", model_.attached->sentence);
    absl::StrAppend(&text, "; ", LossesInWords(model_.losses));
    if (!r.ending.empty()) absl::StrAppend(&text, "; ", r.ending);
    Section("Recorded", text);
  }

  const ReportModel& model_;
  const CardOptions& options_;
  std::string out_;
};

}  // namespace

std::string WriteCard(const ReportModel& model, const CardOptions& options) {
  return Card(model, options).Write();
}

}  // namespace plateau::report
