#include "analyzer/series/clock/round_marks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace plateau::series {
namespace {

constexpr std::string_view kRoundNote = "round ";  // and the loop's line
constexpr size_t kWantedRounds = 60;               // verdicts can do something with
constexpr size_t kFewestRounds = 20;
constexpr uint64_t kMostRounds = 1 << 22;

struct CountedLoop {
  std::string name;
  std::vector<std::pair<uint64_t, uint64_t>> marks;  // (time, rounds that are over)
  bool is_cut = false;                               // counting ended before the loop did
  std::vector<uint64_t> ends;

  uint64_t span() const { return ends.empty() ? 0 : ends.back() - ends.front(); }
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Draws the rounds between marks. The last mark may have been made when the program ended: its rounds go on at
// the usual pace instead.
void DrawRounds(CountedLoop* loop) {
  std::vector<double> paces;
  for (size_t i = 1; i < loop->marks.size(); ++i) {
    const auto [t0, n0] = loop->marks[i - 1];
    const auto [t1, n1] = loop->marks[i];
    if (n1 > n0) paces.push_back(static_cast<double>(t1 - t0) / static_cast<double>(n1 - n0));
  }
  const double usual = paces.empty() ? 0 : Median(paces);
  uint64_t time = loop->marks.front().first;
  uint64_t rounds = 0;
  for (size_t i = 0; i < loop->marks.size(); ++i) {
    const auto [until, count] = loop->marks[i];
    if (count <= rounds) continue;
    const double more = static_cast<double>(count - rounds);
    double pace = static_cast<double>(until - time) / more;
    if (i + 1 == loop->marks.size() && pace > 5 * usual) pace = usual;
    for (uint64_t k = 1; k <= count - rounds; ++k) {
      loop->ends.push_back(time + static_cast<uint64_t>(pace * static_cast<double>(k)));
    }
    time = loop->ends.back();
    rounds = count;
  }
}

std::vector<CountedLoop> LoopsOf(const MarkLog& log) {
  std::map<uint32_t, CountedLoop> loops;
  for (const Mark& mark : log.marks()) {
    if (mark.kind != trace::MarkKind::kNote || mark.source != trace::MarkSource::kSiteCustomize) continue;
    if (!log.Name(mark.name).starts_with(kRoundNote)) continue;
    CountedLoop& loop = loops[mark.name];
    if (mark.value == 0 || mark.value > kMostRounds) {
      loop.is_cut = true;
      continue;
    }
    if (loop.marks.empty() || mark.value > loop.marks.back().second)
      loop.marks.emplace_back(mark.time, mark.value);
  }
  std::vector<CountedLoop> out;
  for (auto& [name, loop] : loops) {
    if (loop.marks.empty()) continue;
    loop.name = log.Name(name).substr(kRoundNote.size());
    DrawRounds(&loop);
    out.push_back(std::move(loop));
  }
  return out;
}

const CountedLoop* Choose(const std::vector<CountedLoop>& loops) {
  for (const size_t wanted : {kWantedRounds, kFewestRounds}) {
    uint64_t longest = 0;
    for (const CountedLoop& loop : loops) {
      if (!loop.is_cut && loop.ends.size() >= wanted) longest = std::max(longest, loop.span());
    }
    const CountedLoop* chosen = nullptr;
    for (const CountedLoop& loop : loops) {
      if (loop.is_cut || loop.ends.size() < wanted || loop.span() < longest / 2) continue;
      if (chosen == nullptr || loop.ends.size() < chosen->ends.size()) chosen = &loop;
    }
    if (chosen != nullptr) return chosen;
  }
  return nullptr;
}

// Rounds of `inner` that were over at each end of `outer`, when they are equally far apart; else empty.
std::vector<uint32_t> EpochsOf(const CountedLoop& outer, const CountedLoop& inner) {
  std::vector<uint32_t> over;
  std::vector<double> lengths;
  for (const uint64_t end : outer.ends) {
    const auto count = static_cast<uint32_t>(std::upper_bound(inner.ends.begin(), inner.ends.end(), end) -
                                             inner.ends.begin());
    if (count <= (over.empty() ? 0 : over.back())) continue;
    lengths.push_back(count - (over.empty() ? 0 : over.back()));
    over.push_back(count);
  }
  if (lengths.size() < 2) return {};
  const double usual = Median(lengths);
  if (usual < 2) return {};
  const auto alike = std::count_if(lengths.begin(), lengths.end(), [usual](double length) {
    return std::abs(length - usual) <= std::max(1.0, 0.03 * usual);
  });
  if (static_cast<double>(alike) < 0.75 * static_cast<double>(lengths.size())) return {};
  return over;
}

}  // namespace

std::optional<WorkClock> ClockOfRounds(const MarkLog& log, uint64_t begin_time) {
  const std::vector<CountedLoop> loops = LoopsOf(log);
  const CountedLoop* chosen = Choose(loops);
  if (chosen == nullptr) return std::nullopt;
  WorkClock clock;
  clock.source = StepSource::kRounds;
  clock.loop = chosen->name;
  clock.ends = chosen->ends;
  clock.end = clock.ends.back();
  // The first round began about as long before its end as the second one took.
  const uint64_t second = clock.ends[1] - clock.ends[0];
  clock.begin = clock.ends[0] - std::min(clock.ends[0] - std::min(clock.ends[0], begin_time), second);
  for (const CountedLoop& loop : loops) {
    if (&loop == chosen || loop.is_cut || loop.ends.size() >= chosen->ends.size()) continue;
    std::vector<uint32_t> epochs = EpochsOf(loop, *chosen);
    // Of several loops around it the innermost one.
    if (epochs.size() > clock.epoch_ends.size()) {
      clock.epoch_ends = std::move(epochs);
      clock.epoch_loop = loop.name;
    }
  }
  return clock;
}

}  // namespace plateau::series
