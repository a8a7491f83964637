#include "analyzer/process/holders/path_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/process/holders/path_text.h"

namespace plateau::process {
namespace {

using replay::HolderChain;
using replay::PathSegment;
using series::HeldBy;
using series::HolderPath;
using series::LengthReading;
using series::RootOwner;
using series::SiteHolding;
using trace::HolderEnd;
using trace::SegmentKind;

constexpr size_t kMaxPaths = 4;            // of a site
constexpr double kAboutAsMuch = 0.5;       // of the largest: the owner of the root decides then
constexpr double kWorthAnotherPath = 0.2;  // of what was looked at

bool IsNotFound(const HolderChain& chain) {
  return chain.end == HolderEnd::kNotFound || chain.end < HolderEnd::kPath || chain.end > HolderEnd::kFrozen;
}

// What two chains must have in common to be one path. Keys right behind the container are in `with_keys` alone.
std::string KeyOf(const HolderChain& chain, bool with_keys) {
  std::string key = absl::StrCat(static_cast<int>(chain.end), "|", chain.what, "|", chain.native_stack, "|",
                                 chain.container_segments);
  for (size_t at = 0; at < chain.path.size(); ++at) {
    const PathSegment& s = chain.path[at];
    absl::StrAppend(&key, "|", static_cast<int>(s.kind), ":");
    if (s.kind == SegmentKind::kIndex || s.kind == SegmentKind::kRepeat) continue;
    const bool is_item = s.kind == SegmentKind::kKey && at == chain.container_segments;
    if (is_item && !with_keys) continue;
    absl::StrAppend(&key, s.text.size(), ":", s.text);
  }
  return key;
}

// Chains that are one path.
struct Group {
  std::vector<const ChainOfSite*> chains;
  double share = 0;  // at the last walk
};

// Their path, with what they do not have in common left open.
std::vector<PathSegment> CommonPath(const Group& group) {
  const HolderChain& last = *group.chains.back()->chain;
  std::vector<PathSegment> path = last.path;
  for (size_t at = 0; at < path.size(); ++at) {
    PathSegment& s = path[at];
    const bool is_item = at == last.container_segments;
    if (s.kind == SegmentKind::kIndex && is_item) s.number = 0;
    for (const ChainOfSite* other : group.chains) {
      const PathSegment& theirs = other->chain->path[at];
      if (s.kind == SegmentKind::kIndex && theirs.number != s.number) s.number = 0;
      if (s.kind != SegmentKind::kKey || (theirs.number == s.number && theirs.text == s.text)) continue;
      s.number = 0;
      s.text.clear();
    }
  }
  return path;
}

// A container at two addresses in one walk is several of the same name: their lengths add up.
std::vector<LengthReading> LengthsOf(const Group& group) {
  struct Walk {
    double step = 0;
    std::map<uint64_t, const HolderChain*> containers;
  };
  std::map<uint64_t, Walk> walks;  // by number; numbers rise
  for (const ChainOfSite* one : group.chains) {
    if (one->chain->container == 0) continue;
    Walk& walk = walks[one->chain->walk];
    walk.step = one->step;
    walk.containers[one->chain->container] = one->chain;
  }
  std::vector<LengthReading> lengths;
  for (const auto& [number, walk] : walks) {
    LengthReading reading{.step = walk.step};
    bool is_bounded = true;
    for (const auto& [address, chain] : walk.containers) {
      reading.items += chain->length;
      reading.bound += chain->bound;
      is_bounded &= chain->bound > 0 && chain->length <= chain->bound;
    }
    if (!is_bounded) reading.bound = 0;
    lengths.push_back(reading);
  }
  std::stable_sort(lengths.begin(), lengths.end(),
                   [](const LengthReading& a, const LengthReading& b) { return a.step < b.step; });
  return lengths;
}

HeldBy EndOf(HolderEnd end) {
  switch (end) {
    case HolderEnd::kPath:
    case HolderEnd::kGraph:
      return HeldBy::kRoot;
    case HolderEnd::kGarbage:
    case HolderEnd::kFrozen:
      return HeldBy::kGarbage;
    case HolderEnd::kUnreachable:
      return HeldBy::kLost;
    default:
      return HeldBy::kNative;
  }
}

// What stands in front of, or in place of, a path that does not end in Python.
std::string EndInWords(const HolderChain& chain, const MergeContext& context) {
  switch (chain.end) {
    case HolderEnd::kNativeBlock:
      return absl::StrCat("held from C or C++, in a block made at ",
                          context.name_of_stack(chain.native_stack));
    case HolderEnd::kModuleData:
      return absl::StrCat("held by a variable of ", chain.what.empty() ? "machine code" : chain.what);
    case HolderEnd::kOpaque:
      return absl::StrCat("held by an object of type ", chain.what.empty() ? "unknown" : chain.what,
                          ", which does not say what it holds");
    case HolderEnd::kNativeStack:
      return "held from the stack of a thread that runs machine code";
    case HolderEnd::kNativeMemory:
      return absl::StrCat("held from C or C++, in memory that is not in the trace",
                          chain.what.empty() ? "" : absl::StrCat(" (class ", chain.what, ")"));
    case HolderEnd::kUnreachable:
      return "lost: nothing in the process's memory points to it";
    case HolderEnd::kGarbage:
      return "garbage that waits for the collector";
    case HolderEnd::kFrozen:
      return "garbage that gc.freeze() keeps from the collector";
    default:
      return "";
  }
}

HolderPath ToPath(const Group& group, const MergeContext& context) {
  const HolderChain& chain = *group.chains.back()->chain;
  PathText words = TextOfPath(CommonPath(group), chain.container_segments);
  HolderPath path;
  path.end = EndOf(chain.end);
  const bool is_of_python = path.end == HeldBy::kRoot || path.end == HeldBy::kGarbage;
  path.owner = is_of_python ? context.owner_of(chain.path) : RootOwner::kNative;
  path.root = std::move(words.root);
  path.links = std::move(words.links);
  path.container = std::move(words.container);
  path.container_links = words.container_links;
  path.container_type = chain.container_type;
  path.text = std::move(words.text);
  if (const std::string end = EndInWords(chain, context); !end.empty()) {
    const bool is_cycle = path.end == HeldBy::kGarbage;
    if (!path.text.empty()) path.text = absl::StrCat(end, is_cycle ? "; cycle: " : ": ", path.text);
    if (path.text.empty()) path.text = end;
    if (path.root.empty()) path.root = end;
    path.container.clear();
  }
  path.share = group.share;
  if (!path.container.empty()) path.lengths = LengthsOf(group);
  return path;
}

// Whether one of them leads to what the other one leads to, or to a part of it.
bool Overlap(const HolderPath& a, const HolderPath& b) {
  const std::string& x = a.container.empty() ? a.text : a.container;
  const std::string& y = b.container.empty() ? b.text : b.container;
  return absl::StartsWith(x, y) || absl::StartsWith(y, x);
}

std::vector<Group> Grouped(const std::vector<ChainOfSite>& chains) {
  std::map<std::string, std::set<std::string>> keys;  // what a path with an open key can be
  for (const ChainOfSite& one : chains) {
    if (!IsNotFound(*one.chain)) keys[KeyOf(*one.chain, false)].insert(KeyOf(*one.chain, true));
  }
  std::map<std::string, size_t> index;
  std::vector<Group> groups;
  for (const ChainOfSite& one : chains) {
    if (IsNotFound(*one.chain)) continue;
    // Two keys are told apart ("train" and "test"), more are items.
    constexpr size_t kNamedKeys = 2;
    std::string key = KeyOf(*one.chain, false);
    if (keys[key].size() <= kNamedKeys) key = KeyOf(*one.chain, true);
    const auto [it, is_new] = index.try_emplace(std::move(key), groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].chains.push_back(&one);
  }
  return groups;
}

}  // namespace

SiteHolding MergeChains(const std::vector<ChainOfSite>& chains, const MergeContext& context) {
  SiteHolding holding;
  if (chains.empty()) return holding;
  const ChainOfSite* last = &chains.back();
  for (auto one = chains.rbegin(); one != chains.rend() && last->was_cut; ++one) {
    if (!one->was_cut) last = &*one;
  }
  const uint64_t last_walk = last->chain->walk;
  holding.last_look_step = last->step;
  holding.was_cut = last->was_cut;
  // Stacks weigh by what they hold; within a stack what was looked at stands for the rest.
  struct Stack {
    double weight = 0, asked = 0;
  };
  std::map<uint32_t, Stack> stacks;
  double all = 0;
  for (const ChainOfSite& one : chains) {
    if (one.chain->walk != last_walk) continue;
    Stack& stack = stacks[one.chain->stack];
    stack.weight = std::max(one.weight, 1.0);
    stack.asked = std::max(stack.asked, one.chain->targets_asked);
  }
  for (const auto& [number, stack] : stacks) {
    all += stack.weight;
    holding.looked_at += stack.asked;
  }
  const auto share_of = [&](const ChainOfSite& one) {
    if (one.chain->walk != last_walk) return 0.0;
    const Stack& stack = stacks[one.chain->stack];
    return stack.weight / all * one.chain->targets_found / stack.asked;
  };

  for (const ChainOfSite& one : chains) {
    if (IsNotFound(*one.chain)) holding.not_found_share += share_of(one);
    if (one.chain->end == HolderEnd::kGarbage) holding.garbage_share += share_of(one);
    if (one.chain->end == HolderEnd::kUnreachable) holding.lost_share += share_of(one);
  }
  std::vector<Group> groups = Grouped(chains);
  std::vector<HolderPath> paths;
  for (Group& group : groups) {
    for (const ChainOfSite* one : group.chains) group.share += share_of(*one);
    group.share = std::min(group.share, 1.0);
    if (group.share > 0) paths.push_back(ToPath(group, context));
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [](const HolderPath& a, const HolderPath& b) { return a.share > b.share; });
  if (paths.empty()) return holding;
  const double largest = paths.front().share;
  const auto rank = [largest](const HolderPath& path) {
    return path.share >= kAboutAsMuch * largest ? static_cast<int>(path.owner)
                                                : 1 + static_cast<int>(RootOwner::kNative);
  };
  std::stable_sort(paths.begin(), paths.end(),
                   [&](const HolderPath& a, const HolderPath& b) { return rank(a) < rank(b); });
  for (HolderPath& path : paths) {
    if (holding.paths.size() >= kMaxPaths) break;
    const bool is_of_another = std::none_of(holding.paths.begin(), holding.paths.end(),
                                            [&](const HolderPath& kept) { return Overlap(kept, path); });
    if (holding.paths.empty() || (is_of_another && path.share > kWorthAnotherPath))
      holding.paths.push_back(std::move(path));
  }
  return holding;
}

}  // namespace plateau::process
