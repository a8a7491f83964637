#include "analyzer/cli/live/watch_screen.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "analyzer/report/ledger_span.h"
#include "analyzer/report/units.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::cli {
namespace {

using report::DisplayWidth;
using report::ReportModel;
using report::SortKey;

const char* ToneCode(const std::string& verdict) {
  switch (verdict::ToneOf(verdict)) {
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

const char* SortName(SortKey sort) {
  switch (sort) {
    case SortKey::kRetained:
      return "retained";
    case SortKey::kPeak:
      return "peak";
    case SortKey::kName:
      return "name";
    default:
      return "growth";
  }
}

class Screen {
 public:
  Screen(const ReportModel& model, const WatchState& state) : model_(model), state_(state) {}

  std::vector<std::string> Lines() {
    Title();
    Verdict();
    Curves();
    Ranks();
    state_.shows_details ? Details() : Sites();
    if (lines_.size() > Room()) lines_.resize(Room());
    return std::move(lines_);
  }

 private:
  size_t Room() const { return static_cast<size_t>(std::max(1, state_.rows - 1)); }
  int Width() const { return state_.columns; }

  // A line that fits; what is too long loses its middle.
  void Line(const std::string& text, const char* style = "") {
    const std::string fits = report::MiddleEllipsis(report::Printable(text), Width());
    lines_.push_back(state_.color && *style != '\0' && !fits.empty() ? absl::StrCat(style, fits, "\x1b[0m")
                                                                     : fits);
  }
  void Text(const std::string& text, const char* style = "") {
    for (const std::string& line : report::WrapText(report::Printable(text), Width())) Line(line, style);
  }

  void Title() {
    const std::string state = state_.is_paused ? "paused" : state_.is_running ? "running" : "ended";
    std::string left = absl::StrCat(" ", verdict::VerdictTitle(model_.verdict.name), "  ", state);
    const std::string right = absl::StrCat(FormatDuration(model_.recording.duration_seconds), " ");
    const std::string steps = absl::StrCat("  ", report::HumanCount(static_cast<double>(model_.steps.count)),
                                           model_.steps.count == 1 ? " step" : " steps");
    // Verdict and state are whole in any window that has room for them.
    if (DisplayWidth(left) + DisplayWidth(steps) + DisplayWidth(right) + 3 <= Width()) left += steps;
    if (DisplayWidth(left) + DisplayWidth(right) + 3 > Width())
      return Line(left, ToneCode(model_.verdict.name));
    const int room = Width() - DisplayWidth(left) - DisplayWidth(right) - 4;
    const std::string command =
        room >= 8 ? report::MiddleEllipsis(report::Printable(model_.recording.command), room) : "";
    const int gap = Width() - DisplayWidth(left) - DisplayWidth(right) - DisplayWidth(command) - 2;
    Line(absl::StrCat(left, "  ", command, std::string(std::max(1, gap), ' '), right),
         ToneCode(model_.verdict.name));
  }

  void Verdict() {
    Text(model_.verdict.summary.empty() ? model_.verdict.sentence : model_.verdict.summary, "\x1b[1m");
    const Confidence confidence = ConfidenceOf(model_);
    const int width = std::clamp(Width() / 5, 6, 24);
    const int full = static_cast<int>(std::lround(confidence.share * width));
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < full ? "█" : "░";
    std::string words = confidence.words;
    // Where it is narrow the first words must do.
    if (width + 1 + DisplayWidth(words) > Width())
      words.resize(std::min(words.size(), words.find_first_of(";,")));
    Line(absl::StrCat(bar, " ", words), "\x1b[2m");
  }

  void Curve(const char* name, const std::vector<double>& values) {
    if (values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const std::string right = absl::StrCat(" ", FormatBytes(values.back()));
    const int width = Width() - 6 - DisplayWidth(right);
    if (width < 4) return Line(absl::StrCat(name, right));
    std::string line = report::Sparkline(values, width, *high - *low < 0.05 * *high ? 0.0 : *low);
    line += std::string(std::max(0, width - DisplayWidth(line)), ' ');
    Line(absl::StrCat(name, line, right), "\x1b[36m");
  }

  void Curves() {
    const report::LedgerSpan span = report::SpanOf(model_);
    std::vector<double> live, rss, device;
    for (size_t i = span.begin; i < span.end; ++i) {
      live.push_back(static_cast<double>(model_.ledger[i].live_bytes));
      rss.push_back(static_cast<double>(model_.ledger[i].rss_bytes));
      device.push_back(static_cast<double>(model_.ledger[i].device_reserved_bytes));
    }
    Curve("live  ", live);
    Curve("RSS   ", rss);
    if (std::any_of(device.begin(), device.end(), [](double value) { return value > 0; }))
      Curve("GPU   ", device);
  }

  void Ranks() {
    std::vector<const report::Process*> ranks;
    for (const report::Process& process : model_.processes) {
      if (process.rank && process.role == "main") ranks.push_back(&process);
    }
    if (ranks.size() < 2) return;
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto* a, const auto* b) { return *a->rank < *b->rank; });
    Line("ranks", "\x1b[1m");
    const size_t most = std::max<size_t>(1, Room() / 4);
    for (size_t i = 0; i < ranks.size() && i < most; ++i) {
      Line(absl::StrCat("  ", *ranks[i]->rank, "  ", absl::StrReplaceAll(ranks[i]->verdict, {{"_", " "}}),
                        "  live ", FormatBytes(static_cast<double>(ranks[i]->retained_bytes)), "  peak RSS ",
                        FormatBytes(static_cast<double>(ranks[i]->peak_rss_bytes))));
    }
    if (ranks.size() > most) Line(absl::StrCat("  and ", ranks.size() - most, " more"));
  }

  // Columns go from the right as the window gets narrow; the name and what it is sorted by stay.
  void Sites() {
    report::TableOptions table;
    table.sort = state_.sort;
    table.top = 0;
    const report::SiteListing listing = report::ListSites(model_, table);
    const bool has_verdict = Width() >= 72, has_peak = Width() >= 90, has_growth = Width() >= 44;
    const int numbers = 11 + (has_growth ? 15 : 0) + (has_peak ? 11 : 0) + (has_verdict ? 20 : 0);
    const int names = std::max(4, Width() - numbers - 2);
    const auto row = [&](const std::string& mark, const std::string& name, const std::string& retained,
                         const std::string& growth, const std::string& peak, const std::string& verdict) {
      std::string text = report::SiteEllipsis(report::Printable(name), names);
      text += std::string(std::max(0, names - DisplayWidth(text)), ' ');
      const auto right = [](const std::string& value, int width) {
        return std::string(std::max(1, width - DisplayWidth(value)), ' ') + value;
      };
      std::string out = absl::StrCat(mark, text, right(retained, 11));
      if (has_growth) absl::StrAppend(&out, right(growth, 15));
      if (has_peak) absl::StrAppend(&out, right(peak, 11));
      if (has_verdict) absl::StrAppend(&out, "  ", absl::StrReplaceAll(verdict, {{"_", " "}}));
      return out;
    };
    Line(row("  ", absl::StrCat("site, by ", SortName(state_.sort)), "retained", "growth", "at peak",
             "verdict"),
         "\x1b[1m");
    const size_t room = Room() > lines_.size() ? Room() - lines_.size() : 0;
    // The chosen one is always in view.
    const size_t begin = state_.chosen >= room && room > 0 ? state_.chosen - room + 1 : 0;
    for (size_t i = begin; i < listing.rows.size() && i < begin + room; ++i) {
      const report::TableRow& r = listing.rows[i];
      Line(row(i == state_.chosen ? "> " : "  ", r.name, FormatBytes(static_cast<double>(r.retained_bytes)),
               r.growth_bytes_per_step == 0 ? "-" : report::HumanRate(r.growth_bytes_per_step),
               FormatBytes(static_cast<double>(r.peak_bytes)), r.verdict),
           i == state_.chosen ? "\x1b[7m" : "");
    }
  }

  void Details() {
    const std::vector<std::string> names = RowsOf(model_, state_);
    if (names.empty()) return Line("no site yet");
    const std::string& name = names[std::min(state_.chosen, names.size() - 1)];
    const auto site = std::find_if(model_.sites.begin(), model_.sites.end(), [&name](const report::Site& s) {
      return report::NameWithPool(s) == name;
    });
    Line(name, "\x1b[1m");
    if (site == model_.sites.end()) return;
    if (!site->source_line.empty()) Line(absl::StrCat("  ", site->source_line), "\x1b[36m");
    Text(absl::StrCat(absl::StrReplaceAll(site->verdict, {{"_", " "}}), ": ", site->evidence));
    std::vector<double> live(site->live_bytes.begin(), site->live_bytes.end());
    Curve("live  ", live);
    Line(absl::StrCat(
        "retained ", FormatBytes(static_cast<double>(site->retained_bytes)), " in ",
        report::HumanCount(static_cast<double>(site->retained_count)), " objects, at peak ",
        FormatBytes(static_cast<double>(site->peak_bytes)), ", growth ",
        site->growth_bytes_per_step == 0 ? "none" : report::HumanRate(site->growth_bytes_per_step)));
    if (!site->library.empty()) Line(absl::StrCat("allocated in ", site->library));
    for (const uint32_t index : site->stack) {
      if (index >= model_.frames.size()) continue;
      const report::Frame& frame = model_.frames[index];
      Line(absl::StrCat("  ", frame.function.empty() ? "[unknown]" : frame.function, "  ",
                        frame.file.empty() ? frame.module : absl::StrCat(frame.file, ":", frame.line)));
    }
  }

  const ReportModel& model_;
  const WatchState& state_;
  std::vector<std::string> lines_;
};

}  // namespace

Confidence ConfidenceOf(const ReportModel& model) {
  const report::Verdict& v = model.verdict;
  const double steps = static_cast<double>(model.steps.count);
  if (v.name == "inconclusive") {
    if (!v.needs_steps || *v.needs_steps <= 0) return {0, "undecided"};
    const double share = steps / (steps + *v.needs_steps);
    return {share, absl::StrFormat("undecided, %.0f %% of the steps that decide it; about %s more",
                                   100 * share, report::HumanCount(std::ceil(*v.needs_steps)))};
  }
  for (const report::Forecast& forecast : v.forecasts) {
    if (forecast.rate_bytes_per_step <= 0 || !forecast.rate_interval) continue;
    const double half =
        (forecast.rate_interval->high - forecast.rate_interval->low) / 2 / forecast.rate_bytes_per_step;
    return {std::clamp(1 - half, 0.0, 1.0),
            absl::StrFormat("decided; the rate is known to %.2g %%", 100 * half)};
  }
  if (v.detectable_bytes_per_step) {
    return {1, absl::StrCat("decided; a leak of ", FormatBytes(*v.detectable_bytes_per_step),
                            " a step would be seen by now")};
  }
  return {1, "decided"};
}

SortKey NextSort(SortKey sort) {
  switch (sort) {
    case SortKey::kGrowth:
      return SortKey::kRetained;
    case SortKey::kRetained:
      return SortKey::kPeak;
    case SortKey::kPeak:
      return SortKey::kName;
    default:
      return SortKey::kGrowth;
  }
}

std::vector<std::string> RowsOf(const ReportModel& model, const WatchState& state) {
  report::TableOptions table;
  table.sort = state.sort;
  table.top = 0;
  std::vector<std::string> names;
  for (const report::TableRow& row : report::ListSites(model, table).rows) names.push_back(row.name);
  return names;
}

std::vector<std::string> WatchScreen(const ReportModel& model, const WatchState& state) {
  return Screen(model, state).Lines();
}

}  // namespace plateau::cli
