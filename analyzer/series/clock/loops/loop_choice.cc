#include "analyzer/series/clock/loops/loop_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/series/clock/loops/round_counts.h"

namespace plateau::series {
namespace {

constexpr size_t kWantedRounds = 60;  // verdicts can do something with

struct Candidate {
  uint32_t loop = 0;  // 0: threads that were started again and again
  uint32_t place = 0;
  uint32_t depth = 0;
  uint64_t length = 0;  // of its code: the outer one of a function comes first
  const Events* rounds = nullptr;
  uint32_t end = 0;   // last event inside
  double share = 0;   // of the events of its window
  double window = 0;  // time
};

class Chooser {
 public:
  Chooser(const LoopFinder& finder, const LoopChoiceOptions& options)
      : finder_(finder), options_(options), places_(finder.places()) {}

  std::optional<ChosenLoop> Choose() {
    FindCandidates();
    for (const size_t wanted : {kWantedRounds, kFewestRounds}) {
      std::vector<const Candidate*> good = Good(wanted);
      if (good.empty()) continue;
      return Describe(*good.front(), good);
    }
    return std::nullopt;
  }

 private:
  void FindCandidates() {
    std::vector<uint64_t> inside(places_.loops().size());
    std::vector<uint32_t> last(places_.loops().size());
    std::vector<uint64_t> users(
        places_.loops().size());  // of those inside, in code of the user's or called by it
    const auto& at_place = finder_.at_place();
    FindUsers();
    for (uint32_t place = 1; place < std::min(places_.size(), at_place.size()); ++place) {
      if (at_place[place].events == 0) continue;
      places_.ForEachLoopAround(place, [&](uint32_t loop, uint32_t) {
        inside[loop] += at_place[place].events;
        last[loop] = std::max(last[loop], at_place[place].last);
        if (is_users_[place]) users[loop] += at_place[place].events;
        return true;
      });
    }
    FindAnchors();
    for (uint32_t loop = 1; loop < places_.loops().size(); ++loop) {
      const Loop& one = places_.loops()[loop];
      const Events* rounds = loop < finder_.rounds().size() ? &finder_.rounds()[loop].events : nullptr;
      if (rounds == nullptr || (rounds->empty() && !anchors_.contains(loop))) continue;
      if (!IsOfProgram(users[loop], inside[loop])) continue;
      const uint64_t length = one.code == 0 ? UINT64_MAX : uint64_t{one.span.tail} - one.span.head;
      Add({loop, one.place, one.depth, length, rounds, last[loop], 0, 0}, static_cast<double>(inside[loop]));
    }
    AddThreads();
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.depth, UINT64_MAX - a.length) < std::pair(b.depth, UINT64_MAX - b.length);
    });
  }

  // Places in functions of the user's, or beneath one.
  void FindUsers() {
    is_users_.assign(places_.size(), options_.is_users == nullptr);
    if (options_.is_users == nullptr) return;
    bool has_users = false;
    for (uint32_t place = 1; place < places_.size(); ++place) {  // parents come first
      is_users_[place] = is_users_[places_[place].parent] || options_.is_users(places_[place]);
      has_users |= is_users_[place];
    }
    if (!has_users) is_users_.assign(places_.size(), true);  // all of the program is installed
  }

  // A loop called by user's code has nothing but such events inside; one that holds user's code has some.
  static bool IsOfProgram(uint64_t users, uint64_t inside) {
    constexpr uint64_t kOneOf = 20;
    return users > 0 && users * kOneOf >= inside;
  }

  void AddThreads() {
    const auto& at_place = finder_.at_place();
    for (const auto& [path, threads] : finder_.threads()) {
      if (threads.begins.events.size() < kFewestRounds) continue;
      uint64_t inside = 0;
      uint64_t users = 0;
      uint32_t last = 0;
      for (uint32_t place = 1; place < std::min(places_.size(), at_place.size()); ++place) {
        bool is_inside = false;
        for (uint32_t up = place; up != 0 && !is_inside; up = places_[up].parent) {
          is_inside = places_[up].path == path;
        }
        if (!is_inside) continue;
        inside += at_place[place].events;
        if (is_users_[place]) users += at_place[place].events;
        last = std::max(last, at_place[place].last);
      }
      if (!IsOfProgram(users, inside)) continue;
      Add({0, threads.place, 0, 0, &threads.begins.events, last, 0, 0}, static_cast<double>(inside));
    }
  }

  void Add(Candidate one, double inside) {
    const Events& rounds = *one.rounds;
    uint32_t begin = rounds.empty() ? one.end : rounds.front();
    if (const auto it = anchors_.find(one.loop); one.loop != 0 && it != anchors_.end()) {
      for (const Events* anchor : it->second) begin = std::min(begin, anchor->front());
    }
    if (one.end <= begin) return;
    one.share = inside / static_cast<double>(one.end - begin + 1);
    one.window = static_cast<double>(finder_.TimeOf(one.end) - finder_.TimeOf(begin));
    candidates_.push_back(one);
  }

  // Stacks that are always recorded, by each loop around them.
  void FindAnchors() {
    constexpr size_t kFewest = 10;
    constexpr size_t kMost = 32;  // of a loop
    for (const auto& [key, anchor] : finder_.anchors()) {
      const Ticks& ticks = anchor.ticks;
      if (ticks.events.size() < kFewest || !IsAlwaysRecorded(anchor)) continue;
      const auto place = static_cast<uint32_t>(key >> 32);
      places_.ForEachLoopAround(place, [&](uint32_t loop, uint32_t) {
        anchors_[loop].push_back(&ticks.events);
        innermost_.try_emplace(&ticks.events, loop);
        return true;
      });
    }
    for (auto& [loop, anchors] : anchors_) {
      std::sort(anchors.begin(), anchors.end(), [](const Events* a, const Events* b) {
        return std::pair(a->size(), a->front()) > std::pair(b->size(), b->front());
      });
      if (anchors.size() > kMost) anchors.resize(kMost);
    }
  }

  size_t RoundsOf(const Candidate& one) const {
    const auto it = anchors_.find(one.loop);
    const size_t most = one.loop == 0 || it == anchors_.end() ? 0 : it->second.front()->size();
    return std::max(one.rounds->size(), most);
  }

  std::vector<const Candidate*> Good(size_t wanted) const {
    constexpr double kShare = 0.5;
    constexpr double kWindow = 0.5;
    double longest = 0;
    std::vector<const Candidate*> good;
    for (const Candidate& one : candidates_) {
      if (one.share < kShare || RoundsOf(one) < wanted || Rounds(one).first.size() < wanted) continue;
      if (NameOf(one).is_schedule) continue;
      longest = std::max(longest, one.window);
      good.push_back(&one);
    }
    std::erase_if(good, [&](const Candidate* one) { return one->window < kWindow * longest; });
    return good;
  }

  // The rounds of a loop, and whether they are all there.
  std::pair<Events, bool> Rounds(const Candidate& one) const {
    const Events& seen = *one.rounds;
    if (options_.exact_from_bytes == 0 && seen.size() >= kFewestRounds) return {seen, true};
    if (one.loop == 0) return RoundsOfThreads(seen);
    const auto it = anchors_.find(one.loop);
    if (it == anchors_.end()) return {seen, false};
    // Native loops are told from the order of addresses, which is not always that of the program: what always happens in
    // turns tells better.
    if (places_.loops()[one.loop].code == 0) {
      if (const Events* turns = InTurns(it->second)) return {*turns, IsLikely(one.loop, turns->size())};
    }
    if (const Events* equal = EqualStacks(it->second, seen.size()))
      return {*equal, IsLikely(one.loop, equal->size())};
    if (const Events* every = InEveryRound(it->second, one))
      return {*every, IsLikely(one.loop, every->size())};
    std::vector<const Events*> once = {&seen};  // a round, but for a round that was missed here and there
    std::vector<const Events*> varying;
    bool is_constant = false, is_doubtful = false;
    for (const Events* anchor : it->second) {
      const std::vector<size_t> counts = CountsPerRound(*anchor, seen);
      const auto [usual, number] = Commonest(counts);
      if (counts.size() >= kFewestRounds - 1 && usual >= 1 &&
          static_cast<double>(number) >= 0.9 * static_cast<double>(counts.size())) {
        is_constant = true;
        if (usual == 1) once.push_back(anchor);
        // Several in each round, at equal distances: perhaps only every so many rounds were seen.
        is_doubtful |= usual > 1 && GoesRoundAsOften(innermost_.at(anchor), one.loop, seen.size()) &&
                       LieAsFarApartAsRounds(*anchor, seen, TimeOf());
      } else if (IsBetter(*anchor, seen, counts, one.loop)) {
        varying.push_back(anchor);
      }
    }
    if (is_constant) {
      const Events* rounds = MostAgreed(once);
      return {*rounds, !is_doubtful && varying.empty() && IsLikely(one.loop, rounds->size())};
    }
    std::pair<Events, bool> rounds = RoundsOfAnchors(varying, seen);
    rounds.second = rounds.second && IsLikely(one.loop, rounds.first.size());
    return rounds;
  }

  // Whether what is sampled inside a loop can have happened in so many rounds: when all of it surely happened many times
  // as often, the stacks that are always recorded may belong to every tenth round. One place may ask several times a
  // round, so requests of one size are compared, and the least frequent ones.
  bool IsLikely(uint32_t loop, size_t rounds) const {
    constexpr uint32_t kFewSamples = 4;
    constexpr double kMore = 2.5;
    constexpr double kErrors = 2.33;  // 99 %
    const LoopFinder::Sampled* least = nullptr;
    for (const auto& [key, kind] : finder_.sampled()) {
      if (kind.samples < kFewSamples || (least != nullptr && kind.weight >= least->weight)) continue;
      bool is_inside = false;
      places_.ForEachLoopAround(static_cast<uint32_t>(key.first >> 32), [&](uint32_t around, uint32_t) {
        is_inside |= around == loop;
        return !is_inside;
      });
      if (is_inside) least = &kind;
    }
    if (least == nullptr) return true;
    const double surely = least->weight * (1 - kErrors / std::sqrt(least->samples));
    return surely <= kMore * static_cast<double>(rounds);
  }

  // Whether the events of a stack may stand for the rounds of which `seen` were seen.
  bool IsBetter(const Events& anchor, const Events& seen, const std::vector<size_t>& counts,
                uint32_t loop) const {
    if (anchor.size() < kFewestRounds) return false;
    if (static_cast<double>(anchor.size()) < 1.1 * static_cast<double>(seen.size())) return false;
    if (!counts.empty() && static_cast<double>(CountOf(counts, 0)) > 0.1 * static_cast<double>(counts.size()))
      return false;
    return GoesRoundAsOften(innermost_.at(&anchor), loop, seen.size());
  }

  // A stack may belong to a loop inside the other one that is seen more often; a generator's goes round as often.
  bool GoesRoundAsOften(uint32_t inner, uint32_t loop, size_t seen) const {
    if (inner == loop) return true;
    if (inner >= finder_.rounds().size() || finder_.rounds()[inner].is_cut) return false;
    const size_t rounds = finder_.rounds()[inner].events.size();
    return rounds <= seen || AreAlike(rounds, seen);
  }

  std::function<uint64_t(uint32_t)> TimeOf() const {
    return [this](uint32_t event) { return finder_.TimeOf(event); };
  }

  // What is met in each round that was seen, and again as long after as from one round to the next where a round was
  // not: nothing else was recorded in that one. Null when no stack is like that.
  const Events* InEveryRound(const std::vector<const Events*>& anchors, const Candidate& one) const {
    const Events& seen = *one.rounds;
    std::vector<const Events*> found;
    for (const Events* anchor : anchors) {
      if (anchor->size() < kFewestRounds || anchor->size() <= seen.size()) break;  // the most frequent first
      if (!GoesRoundAsOften(innermost_.at(anchor), one.loop, seen.size())) continue;
      if (AreRoundsBetween(*anchor, seen, TimeOf())) found.push_back(anchor);
    }
    return found.empty() ? nullptr : MostAgreed(found);
  }

  // Several stacks agree on a number, or one does with what was seen: not every so many of it at a time.
  std::pair<Events, bool> RoundsOfAnchors(const std::vector<const Events*>& anchors,
                                          const Events& seen) const {
    const Events* best = nullptr;
    size_t most_votes = 0;
    for (const Events* anchor : anchors) {
      const auto votes =
          static_cast<size_t>(std::count_if(anchors.begin(), anchors.end(), [&](const Events* other) {
            return AreAlike(other->size(), anchor->size());
          }));
      const bool is_better = votes > most_votes || (votes == most_votes && anchor->size() < best->size());
      if (best == nullptr || is_better) {
        best = anchor;
        most_votes = votes;
      }
    }
    if (best == nullptr) return {seen, false};
    const std::vector<size_t> counts = CountsPerRound(*best, seen);
    constexpr size_t kEnough = 8;
    size_t by_two = 0, by_three = 0;
    for (const size_t count : counts) {
      by_two += count % 2 == 0;
      by_three += count % 3 == 0;
    }
    const double most = 0.8 * static_cast<double>(counts.size());
    const bool comes_singly = counts.size() >= kEnough && static_cast<double>(by_two) < most &&
                              static_cast<double>(by_three) < most;
    return {*best, most_votes >= 2 || comes_singly};
  }

  // Each thread leaves one event of some stack that is always recorded.
  std::pair<Events, bool> RoundsOfThreads(const Events& begins) const {
    for (const auto& [key, anchor] : finder_.anchors()) {
      if (!IsAlwaysRecorded(anchor) || !AreAlike(anchor.ticks.events.size(), begins.size())) continue;
      return {anchor.ticks.events.size() > begins.size() ? anchor.ticks.events : begins, true};
    }
    return {begins, false};
  }

  // Not if some of its blocks were, or may be, too small for that: its sizes end further above the border than they are apart.
  bool IsAlwaysRecorded(const LoopFinder::Anchor& anchor) const {
    if (anchor.is_sampled || anchor.ticks.events.empty()) return false;
    const uint64_t least = anchor.least_bytes, border = options_.exact_from_bytes;
    return least >= 2 * border || (least >= border && least - border >= anchor.most_bytes - least);
  }

  bool IsInside(const Candidate& inner, const Candidate& outer) const {
    if (&inner == &outer) return false;
    if (outer.loop == 0) return inner.loop != 0;
    bool is_inside = false;
    places_.ForEachLoopAround(inner.place, [&](uint32_t loop, uint32_t) {
      is_inside |= loop == outer.loop;
      return !is_inside;
    });
    if (inner.loop == 0 || !is_inside) return is_inside;
    const Loop& a = places_.loops()[inner.loop];
    const Loop& b = places_.loops()[outer.loop];
    return a.path != b.path || b.code == 0 || (b.span.head <= a.span.head && a.span.tail <= b.span.tail);
  }

  ChosenLoop Describe(const Candidate& outermost, const std::vector<const Candidate*>& good) const {
    const Candidate* chosen = &outermost;
    std::pair<Events, bool> rounds = Rounds(outermost);
    LoopName name = NameOf(outermost);
    for (const Candidate* one : good) {
      if (!IsInside(*one, outermost)) continue;
      std::pair<Events, bool> inner = Rounds(*one);
      // A loop inside, all of whose rounds were seen, is better than one that is not known. A loop of the user's with
      // as many rounds is the same thing under a better name.
      const double difference =
          std::abs(static_cast<double>(inner.first.size()) - static_cast<double>(rounds.first.size()));
      const bool is_same = !name.is_users && difference <= 0.05 * static_cast<double>(rounds.first.size()) &&
                           inner.second >= rounds.second && NameOf(*one).is_users;
      if ((rounds.second || !inner.second) && !is_same) continue;
      chosen = one;
      rounds = std::move(inner);
      name = NameOf(*one);
    }
    ChosenLoop result;
    result.name = std::move(name);
    result.has_all_rounds = rounds.second;
    result.begins = std::move(rounds.first);
    result.end = chosen->end;
    if (result.has_all_rounds) FindEpochs(*chosen, &result);
    return result;
  }

  LoopName NameOf(const Candidate& one) const {
    if (one.loop != 0) return options_.name_of(places_, places_.loops()[one.loop]);
    Loop threads;
    threads.place = one.place;
    LoopName name = options_.name_of(places_, threads);
    name.line = "threads of " + name.line;
    return name;
  }

  void FindEpochs(const Candidate& chosen, ChosenLoop* result) const {
    for (auto outer = candidates_.rbegin(); outer != candidates_.rend(); ++outer) {
      if (outer->loop == 0 || !IsInside(chosen, *outer) || !NameOf(*outer).is_users) continue;
      std::vector<uint32_t> ends = EpochEnds(*outer->rounds, result->begins);
      if (ends.empty()) continue;
      result->epoch_ends = std::move(ends);
      result->epoch_line = NameOf(*outer).line;
      return;
    }
  }

  const LoopFinder& finder_;
  const LoopChoiceOptions& options_;
  const LoopPlaces& places_;
  std::vector<bool> is_users_;  // by place: in code of the user's, or called by it
  std::vector<Candidate> candidates_;
  absl::flat_hash_map<uint32_t, std::vector<const Events*>> anchors_;  // by loop
  absl::flat_hash_map<const Events*, uint32_t> innermost_;             // loop around a stack
};

}  // namespace

std::optional<ChosenLoop> ChooseLoop(const LoopFinder& finder, const LoopChoiceOptions& options) {
  return Chooser(finder, options).Choose();
}

}  // namespace plateau::series
