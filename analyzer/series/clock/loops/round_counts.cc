#include "analyzer/series/clock/loops/round_counts.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace plateau::series {
namespace {

// The first event from `at` on that is not before `index`: mostly one of the next few, so it is looked for in growing steps.
Events::const_iterator NotBefore(Events::const_iterator at, Events::const_iterator end, uint32_t index) {
  ptrdiff_t step = 1;
  while (end - at > step && at[step] < index) {
    at += step;
    step *= 2;
  }
  return std::lower_bound(at, end - at > step ? at + step : end, index);
}

}  // namespace

std::vector<size_t> CountsPerRound(const Events& events, const Events& rounds) {
  std::vector<size_t> counts;
  if (rounds.empty()) return counts;
  counts.reserve(rounds.size());
  auto begin = std::lower_bound(events.begin(), events.end(), rounds.front());
  for (size_t i = 1; i < rounds.size(); ++i) {
    const auto end = NotBefore(begin, events.end(), rounds[i]);
    counts.push_back(static_cast<size_t>(end - begin));
    begin = end;
  }
  return counts;
}

size_t CountOf(const std::vector<size_t>& counts, size_t value) {
  return static_cast<size_t>(std::count(counts.begin(), counts.end(), value));
}

std::pair<size_t, size_t> Commonest(const std::vector<size_t>& counts) {
  std::map<size_t, size_t> tally;
  for (const size_t count : counts) ++tally[count];
  std::pair<size_t, size_t> best;
  for (const auto& [value, number] : tally) {
    if (number > best.second) best = {value, number};
  }
  return best;
}

bool AreAlike(size_t a, size_t b) {
  const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return difference <= std::max(1.0, 0.02 * static_cast<double>(std::max(a, b)));
}

bool LieAsFarApartAsRounds(const Events& events, const Events& rounds,
                           const std::function<uint64_t(uint32_t)>& time_of) {
  constexpr double kAsFar = 0.25;  // of the way from round to round
  constexpr double kNearlyAll = 0.9;
  std::vector<uint64_t> inside, across;  // from one event to the next
  auto round = rounds.begin();
  for (size_t i = 1; i < events.size(); ++i) {
    const uint64_t distance = time_of(events[i]) - time_of(events[i - 1]);
    const auto before = NotBefore(round, rounds.end(), events[i - 1] + 1);
    round = NotBefore(before, rounds.end(), events[i] + 1);
    const bool is_across = round != before;
    (is_across ? across : inside).push_back(distance);
  }
  if (inside.empty() || across.empty()) return false;
  std::nth_element(across.begin(), across.begin() + static_cast<ptrdiff_t>(across.size() / 2), across.end());
  const double least = kAsFar * static_cast<double>(across[across.size() / 2]);
  const auto far = std::count_if(inside.begin(), inside.end(), [least](uint64_t distance) {
    return distance > 0 && static_cast<double>(distance) >= least;
  });
  return static_cast<double>(far) >= kNearlyAll * static_cast<double>(inside.size());
}

bool AreRoundsBetween(const Events& events, const Events& rounds,
                      const std::function<uint64_t(uint32_t)>& time_of) {
  constexpr double kUsually = 0.5;  // one a round
  constexpr double kNone = 0.01;    // of the rounds
  const std::vector<size_t> counts = CountsPerRound(events, rounds);
  const auto share = [&counts](size_t count) {
    return static_cast<double>(CountOf(counts, count)) / static_cast<double>(counts.size());
  };
  if (counts.empty() || share(1) < kUsually || share(0) > kNone) return false;
  return LieAsFarApartAsRounds(events, rounds, time_of);
}

const Events* EqualStacks(const std::vector<const Events*>& anchors, size_t seen) {
  constexpr double kAbout = 0.05;
  constexpr double kSeveral = 1.9;               // in each round
  for (size_t i = 1; i < anchors.size(); ++i) {  // the most frequent first, and of equals the latest
    const size_t number = anchors[i]->size();
    if (number != anchors[i - 1]->size() || number < kFewestRounds) continue;
    const double difference = std::abs(static_cast<double>(number) - static_cast<double>(seen));
    if (difference > kAbout * static_cast<double>(seen)) continue;
    // One that was met somewhat more often is met in rounds that these are not in.
    const auto is_in_more_rounds = [number](const Events* one) {
      return one->size() > number &&
             static_cast<double>(one->size()) < kSeveral * static_cast<double>(number);
    };
    if (std::any_of(anchors.begin(), anchors.begin() + static_cast<ptrdiff_t>(i), is_in_more_rounds))
      return nullptr;
    const Events* first = anchors[i];
    for (; i < anchors.size() && anchors[i]->size() == number; ++i) {
      if (anchors[i]->front() < first->front()) first = anchors[i];
    }
    return first;
  }
  return nullptr;
}

const Events* MostAgreed(const std::vector<const Events*>& lists) {
  const Events* best = nullptr;
  size_t most = 0;
  for (const Events* list : lists) {
    const auto votes =
        static_cast<size_t>(std::count_if(lists.begin(), lists.end(), [list](const Events* other) {
          return AreAlike(other->size(), list->size());
        }));
    const bool is_better = best == nullptr || votes > most ||
                           (votes == most && list->size() > best->size()) ||
                           (votes == most && list->size() == best->size() && list->front() < best->front());
    if (!is_better) continue;
    best = list;
    most = votes;
  }
  return best;
}

const Events* InTurns(const std::vector<const Events*>& anchors) {
  for (const Events* one : anchors) {  // the most frequent first
    if (one->size() < kFewestRounds) return nullptr;
    const Events* first = one;
    size_t others = 0;
    for (const Events* other : anchors) {
      if (other == one || other->size() != one->size()) continue;
      const std::vector<size_t> counts = CountsPerRound(*other, *one);
      if (static_cast<double>(CountOf(counts, 1)) < 0.9 * static_cast<double>(counts.size())) continue;
      ++others;
      if (other->front() < first->front()) first = other;
    }
    if (others > 0) return first;
  }
  return nullptr;
}

std::vector<uint32_t> EpochEnds(const Events& outer, const Events& begins) {
  std::vector<uint32_t> ends;
  for (const uint32_t tick : outer) {
    const auto over =
        static_cast<uint32_t>(std::lower_bound(begins.begin(), begins.end(), tick) - begins.begin());
    if (over > (ends.empty() ? 0 : ends.back())) ends.push_back(over);
  }
  const auto all = static_cast<uint32_t>(begins.size());
  if (ends.size() < 2) return {};
  std::vector<double> lengths;
  for (size_t i = 0; i < ends.size(); ++i) lengths.push_back(ends[i] - (i == 0 ? 0 : ends[i - 1]));
  std::vector<double> sorted = lengths;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  const auto is_alike = [usual](double length) {
    return std::abs(length - usual) <= std::max(1.0, 0.03 * usual);
  };
  const auto alike = std::count_if(lengths.begin(), lengths.end(), is_alike);
  if (usual < 2 || static_cast<double>(alike) < 0.75 * static_cast<double>(lengths.size())) return {};
  // Nothing follows the last one that would end it.
  if (ends.back() < all && is_alike(all - ends.back())) ends.push_back(all);
  return ends;
}

}  // namespace plateau::series
