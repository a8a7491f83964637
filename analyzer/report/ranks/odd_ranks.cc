#include "analyzer/report/ranks/odd_ranks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace plateau::report {
namespace {

constexpr double kDeviationOfMedianDistance = 1.4826;  // of a normal distribution
constexpr double kGrowthDeviations = 6;
constexpr double kGrowthShare = 0.25;  // of the median rate
constexpr double kLeastGrowth = 1;     // bytes per step; less is rounding
constexpr double kSizeDeviations = 8;
constexpr double kSizeShare = 0.05;      // of what the median rank retains in all
constexpr double kLeastSize = 16 << 20;  // bytes
constexpr size_t kRanksForSizes = 3;     // of two ranks nobody knows which is the usual one
constexpr double kEarly = 0.9;           // of the steps of the median rank
constexpr double kLeastStepsMissing = 2;

// What each rank has at one line; a rank without it has 0.
struct Cells {
  std::vector<double> values;
  std::vector<const RankSite*> sites;

  explicit Cells(size_t ranks) : values(ranks), sites(ranks) {}
};

// By line and pool; `value_of` gives the number that is compared.
template <typename Value>
std::map<std::pair<std::string, std::string>, Cells> Table(const std::vector<const RankFacts*>& ranks,
                                                           Value value_of) {
  std::map<std::pair<std::string, std::string>, Cells> table;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for (const RankSite& site : ranks[i]->sites) {
      Cells& cells = table.try_emplace({site.name, site.pool}, ranks.size()).first->second;
      cells.values[i] += value_of(site);
      if (cells.sites[i] == nullptr || site.grows) cells.sites[i] = &site;
    }
  }
  return table;
}

// The mean of the two middle values where their number is even, as in SQL. There must be one.
double Median(std::vector<double> values) {
  const auto upper = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  return values.size() % 2 == 1 ? *upper : (*upper + *std::max_element(values.begin(), upper)) / 2;
}

double MedianDistance(const std::vector<double>& values, double middle) {
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return Median(distances);
}

class OddRankFinder {
 public:
  explicit OddRankFinder(const std::vector<RankFacts>& ranks) : ranks_(ranks) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (!ranks[i].is_sound) continue;
      measured_.push_back(&ranks[i]);
      index_.push_back(i);
    }
  }

  std::vector<OddRank> Run() {
    if (measured_.size() >= 2) Growth();
    Endings();
    if (measured_.size() >= kRanksForSizes) Sizes();
    std::stable_sort(odd_.begin(), odd_.end(), [](const OddRank& a, const OddRank& b) {
      const auto place = [](const OddRank& odd) {
        return odd.kind == Oddness::kGrows ? 0 : odd.kind == Oddness::kHoldsMore ? 2 : 1;
      };
      return place(a) != place(b) ? place(a) < place(b)
                                  : std::abs(a.value - a.middle) > std::abs(b.value - b.middle);
    });
    return std::move(odd_);
  }

 private:
  // Where a line grows in at most half of the ranks, the usual rate is 0.
  void Growth() {
    const auto table = Table(measured_, [](const RankSite& site) { return site.growth_bytes_per_step; });
    for (const auto& [key, cells] : table) {
      const auto grows = [](const RankSite* site) { return site != nullptr && site->grows; };
      const auto growing = static_cast<size_t>(std::count_if(cells.sites.begin(), cells.sites.end(), grows));
      const bool is_usual = 2 * growing > measured_.size();
      const double middle = is_usual ? Median(cells.values) : 0;
      const double spread = is_usual ? MedianDistance(cells.values, middle) : 0;
      const double bound =
          middle + kGrowthDeviations * kDeviationOfMedianDistance * spread + kGrowthShare * std::abs(middle);
      for (size_t i = 0; i < measured_.size(); ++i) {
        if (!grows(cells.sites[i]) || cells.values[i] < kLeastGrowth || cells.sites[i]->growth_low <= bound)
          continue;
        odd_.push_back({index_[i], Oddness::kGrows, key.first, cells.values[i], middle});
      }
    }
  }

  // A larger cache, a table that only one of them loads.
  void Sizes() {
    const auto table =
        Table(measured_, [](const RankSite& site) { return static_cast<double>(site.retained_bytes); });
    std::vector<double> retained;
    for (const RankFacts* rank : measured_)
      retained.push_back(static_cast<double>(rank->summary.retained_bytes));
    const double usual = Median(retained);
    for (const auto& [key, cells] : table) {
      const double middle = Median(cells.values);
      const double bound =
          std::max({kLeastSize, kSizeShare * usual,
                    kSizeDeviations * kDeviationOfMedianDistance * MedianDistance(cells.values, middle)});
      for (size_t i = 0; i < measured_.size(); ++i) {
        if (cells.sites[i] == nullptr || cells.sites[i]->grows || cells.values[i] - middle < bound) continue;
        odd_.push_back({index_[i], Oddness::kHoldsMore, key.first, cells.values[i], middle});
      }
    }
  }

  // Where all of them were stopped at once, none is odd.
  void Endings() {
    std::vector<double> steps;
    size_t killed = 0;
    for (const RankFacts& rank : ranks_) {
      steps.push_back(static_cast<double>(rank.summary.steps));
      killed += rank.was_killed ? 1 : 0;
    }
    if (ranks_.size() < 2) return;
    const double usual = Median(steps);
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].was_killed) {
        if (killed < ranks_.size()) odd_.push_back({i, Oddness::kWasKilled, "", steps[i], usual});
      } else if (steps[i] < kEarly * usual && usual - steps[i] >= kLeastStepsMissing) {
        odd_.push_back({i, Oddness::kStoppedEarly, "", steps[i], usual});
      }
    }
  }

  const std::vector<RankFacts>& ranks_;
  std::vector<const RankFacts*> measured_;
  std::vector<size_t> index_;  // of the measured ones among all
  std::vector<OddRank> odd_;
};

}  // namespace

std::vector<RankFacts> LastAttempts(std::vector<RankFacts> processes) {
  std::stable_sort(processes.begin(), processes.end(), [](const RankFacts& a, const RankFacts& b) {
    return a.summary.rank != b.summary.rank ? a.summary.rank < b.summary.rank
                                            : a.start_seconds < b.start_seconds;
  });
  std::vector<RankFacts> ranks;
  for (RankFacts& process : processes) {
    if (!ranks.empty() && ranks.back().summary.rank == process.summary.rank) {
      process.summary.earlier_attempts = ranks.back().summary.earlier_attempts + 1;
      ranks.back() = std::move(process);
    } else {
      ranks.push_back(std::move(process));
    }
  }
  return ranks;
}

std::vector<OddRank> FindOddRanks(const std::vector<RankFacts>& ranks) { return OddRankFinder(ranks).Run(); }

}  // namespace plateau::report
