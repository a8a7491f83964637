#include "analyzer/series/clock/loops/loop_finder.h"

#include <algorithm>

namespace plateau::series {
namespace {

constexpr size_t kMostMeanings = 1 << 18;

uint32_t DepthOf(const LoopPlaces& places, uint32_t place) {
  uint32_t depth = 0;
  for (; place != 0; place = places[place].parent) ++depth;
  return depth;
}

}  // namespace

void LoopFinder::AddTime(uint64_t tsc) {
  // Streams are merged by lower bounds of their times; the order of the events decides.
  if (!times_.empty() && tsc <= times_.back().second) return;
  last_tsc_ = tsc;
  times_.emplace_back(event_, tsc);
}

uint64_t LoopFinder::TimeOf(uint32_t event) const {
  const auto after = std::upper_bound(
      times_.begin(), times_.end(), event,
      [](uint32_t wanted, const std::pair<uint32_t, uint64_t>& time) { return wanted < time.first; });
  return after == times_.begin() ? 0 : (after - 1)->second;
}

void LoopFinder::AddAnchor(uint64_t key, uint64_t bytes, double weight) {
  auto it = anchors_.find(key);
  if (it == anchors_.end()) {
    if (anchors_.size() >= kMostAnchors) return;
    it = anchors_.try_emplace(key).first;
  }
  Anchor& anchor = it->second;
  if (weight > 1) {
    anchor.is_sampled = true;
    anchor.ticks = {};
  }
  if (anchor.is_sampled) return;
  anchor.least_bytes = std::min(anchor.least_bytes, bytes);
  anchor.most_bytes = std::max(anchor.most_bytes, bytes);
  anchor.ticks.Add(event_, kMostTicks);
}

void LoopFinder::AddSample(uint64_t key, uint64_t bytes, double weight) {
  auto it = sampled_.find(std::pair(key, bytes));
  if (it == sampled_.end()) {
    if (sampled_.size() >= kMostKinds) return;
    it = sampled_.try_emplace(std::pair(key, bytes)).first;
  }
  ++it->second.samples;
  it->second.weight += weight;
}

void LoopFinder::AddThread(uint32_t place) {
  constexpr uint32_t kFunctions = 4;  // in Python three are those of the class Thread
  for (uint32_t depth = DepthOf(places_, place); depth > kFunctions; --depth) place = places_[place].parent;
  Threads& threads = threads_[places_[place].path];
  if (threads.place == 0) threads.place = place;
  threads.begins.Add(event_, kMostTicks);
}

void LoopFinder::AddRound(uint32_t loop) {
  if (loop >= rounds_.size()) rounds_.resize(loop + 1 + loop / 2);
  rounds_[loop].Add(event_, kMostTicks);
}

void LoopFinder::AddSoft(uint32_t loop) {
  if (loop >= softs_.size()) softs_.resize(loop + 1 + loop / 2);
  ++softs_[loop];
}

LoopFinder::Meaning LoopFinder::Compare(uint32_t from, uint32_t to) const {
  Meaning meaning;
  // The loops around one of the two and not around the other.
  std::vector<Border> around_from, around_to;
  places_.ForEachLoopAround(from, [&](uint32_t loop, uint32_t place) {
    around_from.push_back({loop, places_[place].offset});
    return true;
  });
  places_.ForEachLoopAround(to, [&](uint32_t loop, uint32_t place) {
    around_to.push_back({loop, places_[place].offset});
    return true;
  });
  const auto has = [](const std::vector<Border>& list, uint32_t loop) {
    return std::any_of(list.begin(), list.end(), [loop](const Border& one) { return one.loop == loop; });
  };
  for (const Border& one : around_from) {
    if (!has(around_to, one.loop)) meaning.left.push_back(one);
  }
  for (const Border& one : around_to) {
    if (!has(around_from, one.loop)) meaning.entered.push_back(one);
  }
  if (from == 0) return meaning;

  // The frames in which the two differ first: children of the last place they share.
  uint32_t a = from, b = to, child_a = 0, child_b = 0;
  uint32_t depth_a = DepthOf(places_, a), depth_b = DepthOf(places_, b);
  while (a != b) {
    const bool is_a_deeper = depth_a > depth_b;
    if (is_a_deeper || depth_a == depth_b) {
      child_a = a;
      a = places_[a].parent;
      --depth_a;
      if (is_a_deeper) continue;
    }
    child_b = b;
    b = places_[b].parent;
    --depth_b;
  }
  const uint32_t shared = a;
  const auto went_round = [&](Kind kind, uint32_t loop) {
    if (loop == 0) return;
    meaning.kind = kind;
    meaning.loop = loop;
  };
  if (child_a != 0 && child_b != 0 && places_[child_a].path == places_[child_b].path) {
    const int64_t before = places_[child_a].offset;
    if (places_[child_b].offset > before) return meaning;
    const uint32_t own = places_.OwnLoopAround(child_b, before);
    went_round(Kind::kHard, own != 0 ? own : places_.LoopAround(shared));
    return meaning;
  }
  // Another callee at the same call. One that is met for the first time is further down.
  if (child_a != 0 && child_b != 0 && child_b > child_a) return meaning;
  went_round(Kind::kSoft, places_.LoopAround(shared));
  return meaning;
}

const LoopFinder::Meaning& LoopFinder::MeaningOf(uint32_t from, uint32_t to) {
  if (meanings_.size() >= kMostMeanings) meanings_.clear();
  const auto [it, is_new] = meanings_.try_emplace(uint64_t{from} << 32 | to);
  if (is_new) it->second = Compare(from, to);
  return it->second;
}

void LoopFinder::Apply(const Meaning& meaning, Stream* thread) {
  if (meaning.kind == Kind::kHard) {
    AddRound(meaning.loop);
  } else if (meaning.kind == Kind::kSoft) {
    AddSoft(meaning.loop);
  }
  for (const Border& border : meaning.left) thread->left_at[border.loop] = border.offset;
  for (const Border& border : meaning.entered) {
    const auto left = thread->left_at.find(border.loop);
    if (left == thread->left_at.end() || border.offset <= left->second) AddRound(border.loop);
  }
}

}  // namespace plateau::series
