// Frees whose place in the order of their address is not where the merge met them.
//
// Three lists use it: frees that are still to come though their object had to end already, frees that came
// before the allocation they belong to, and frees that ended an object though they may be much later than it.
// An entry is good until the latest time at which the event that made
// it may have happened, and never matches an event of its own stream, whose order is certain. Of several for
// one address the one with the earliest time is taken: the others have more chances left. Bounded: when too
// many wait, those out of date go first, then all.
#ifndef PLATEAU_ANALYZER_REPLAY_OWED_FREES_H_
#define PLATEAU_ANALYZER_REPLAY_OWED_FREES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace plateau::replay {

class OwedFrees {
 public:
  bool empty() const { return by_address_.empty(); }

  void Add(uint64_t address, uint32_t stream, uint64_t now, uint64_t latest) {
    if (by_address_.size() >= kMaxAddresses) Purge(now);
    Entries& entries = by_address_[address];
    Forget(entries, now);
    if (entries.size() == kMostOfAnAddress) entries.erase(entries.begin());
    const auto later = [latest](const Owed& owed) { return owed.latest > latest; };
    entries.insert(std::find_if(entries.begin(), entries.end(), later), {latest, stream});
  }

  // The time until which a good one for this address may match, if there is one; of several the earliest.
  std::optional<uint64_t> GoodUntil(uint64_t address, uint32_t stream, uint64_t now) {
    if (empty()) return std::nullopt;
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return std::nullopt;
    Forget(found->second, now);
    for (const Owed& owed : found->second) {
      if (owed.stream != stream) return owed.latest;
    }
    if (found->second.empty()) by_address_.erase(found);
    return std::nullopt;
  }

  struct Owed {
    uint64_t latest;
    uint32_t stream;
  };

  // Takes one of another stream that may have happened after `latest`, the last of several.
  std::optional<Owed> TakeLater(uint64_t address, uint32_t stream, uint64_t latest) {
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return std::nullopt;
    const Entries& entries = found->second;
    const auto it = std::find_if(entries.rbegin(), entries.rend(),
                                 [stream](const Owed& owed) { return owed.stream != stream; });
    if (it == entries.rend() || it->latest <= latest) return std::nullopt;
    const Owed taken = *it;
    Take(address, taken.latest);
    return taken;
  }

  // Takes one that is good at this time.
  bool Consume(uint64_t address, uint32_t stream, uint64_t now) {
    return GoodUntil(address, stream, now).has_value() &&
           TakeIf(address, [stream](const Owed& owed) { return owed.stream != stream; });
  }

  // Takes the one with this time, found by GoodUntil() before. False when it is gone.
  bool Take(uint64_t address, uint64_t latest) {
    return TakeIf(address, [latest](const Owed& owed) { return owed.latest == latest; });
  }
  // Takes the one with the earliest time before `latest`.
  bool TakeBefore(uint64_t address, uint64_t latest) {
    return TakeIf(address, [latest](const Owed& owed) { return owed.latest < latest; });
  }

 private:
  static constexpr size_t kMaxAddresses = 1 << 16;
  static constexpr size_t kMostOfAnAddress = 64;  // of more the earliest are forgotten

  using Entries = absl::InlinedVector<Owed, 1>;  // by time

  template <typename Predicate>
  bool TakeIf(uint64_t address, Predicate&& is_wanted) {
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) return false;
    Entries& entries = found->second;
    const auto it = std::find_if(entries.begin(), entries.end(), is_wanted);
    if (it == entries.end()) return false;
    entries.erase(it);
    if (entries.empty()) by_address_.erase(found);
    return true;
  }

  static void Forget(Entries& entries, uint64_t now) {
    for (size_t i = entries.size(); i-- > 0;) {
      if (entries[i].latest < now) entries.erase(entries.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void Purge(uint64_t now) {
    absl::erase_if(by_address_, [now](auto& entry) {
      Forget(entry.second, now);
      return entry.second.empty();
    });
    if (by_address_.size() >= kMaxAddresses) by_address_.clear();
  }

  absl::flat_hash_map<uint64_t, Entries> by_address_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_OWED_FREES_H_
