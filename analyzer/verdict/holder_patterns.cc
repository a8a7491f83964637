#include "analyzer/verdict/holder_patterns.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "analyzer/verdict/pattern_thresholds.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

using series::HeldBy;
using series::HolderLink;
using series::HolderPath;

// The name that a link is held by, without the point in front of it. Empty for keys, indices and the like.
std::string_view NameOf(const HolderLink& link) {
  const bool is_name = link.kind == "attribute" || link.kind == "slot" || link.kind == "global" ||
                       link.kind == "local" || link.kind == "type_dict" || link.kind == "module";
  if (!is_name) return "";
  std::string_view name = link.text;
  if (name.starts_with('.')) name.remove_prefix(1);
  return name;
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Where one of `names` stands in a path; its size when none does.
size_t FindNamed(const HolderPath& path, std::initializer_list<std::string_view> names, size_t from = 0) {
  size_t at = from;
  while (at < path.links.size() && !IsOneOf(NameOf(path.links[at]), names)) ++at;
  return at;
}
bool HasNamed(const HolderPath& path, std::initializer_list<std::string_view> names) {
  return FindNamed(path, names) < path.links.size();
}
bool HasKind(const HolderPath& path, std::initializer_list<std::string_view> kinds, size_t from = 0) {
  return std::any_of(path.links.begin() + static_cast<ptrdiff_t>(std::min(from, path.links.size())),
                     path.links.end(), [&](const HolderLink& link) { return IsOneOf(link.kind, kinds); });
}
// An attribute behind place `at`: not the object itself but something that it keeps.
bool HasAttributeBehind(const HolderPath& path, size_t at) {
  return at < path.links.size() && HasKind(path, {"attribute", "slot"}, at + 1);
}

bool IsBounded(const HolderPath& path) { return !path.lengths.empty() && path.lengths.back().bound > 0; }

// Of several trainers: `trainer.callback_handler.callbacks[2].seen`, Lightning's `trainer.callbacks[0].outputs`.
bool OfCallback(const HolderPath& path) {
  return HasAttributeBehind(path, FindNamed(path, {"callbacks", "_callbacks"}));
}

bool OfLogHistory(const HolderPath& path) { return HasNamed(path, {"log_history"}); }

bool OfMetric(const HolderPath& path) {
  for (size_t at = 0; at < path.links.size(); ++at) {
    const HolderLink& link = path.links[at];
    const bool is_metric =
        ContainsWord(NameOf(link), "metric") || (link.kind == "inside" && ContainsWord(link.text, "metric"));
    if (is_metric && HasAttributeBehind(path, at)) return true;
  }
  return false;
}

bool OfHook(const HolderPath& path) {
  const size_t hooks =
      FindNamed(path, {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
                       "_state_dict_hooks", "_load_state_dict_pre_hooks", "_optimizer_step_post_hooks",
                       "_optimizer_step_pre_hooks"});
  return hooks < path.links.size() && HasKind(path, {"cell", "self", "default", "attribute"}, hooks + 1);
}

bool OfException(const HolderPath& path) {
  return HasKind(path, {"traceback"}) || HasNamed(path, {"last_exc", "last_value", "last_traceback"});
}

// The container is what a module's own name stands for.
bool OfModuleLevel(const HolderPath& path) {
  if (path.container_links == 0 || path.container_links > path.links.size() || IsBounded(path)) return false;
  const HolderLink& holder = path.links[path.container_links - 1];
  const bool is_collection = IsOneOf(
      path.container_type, {"list", "dict", "set", "collections.deque", "deque", "collections.defaultdict",
                            "defaultdict", "collections.OrderedDict", "OrderedDict"});
  return is_collection && holder.kind == "global";
}

bool OfUnboundedLruCache(const HolderPath& path) {
  return path.container_type.find("lru_cache") != std::string::npos && !IsBounded(path);
}

// `self.` of a data set: something that it keeps beside its examples or of them.
bool OfDataset(const HolderPath& path) {
  for (size_t at = 0; at < path.links.size(); ++at) {
    const std::string_view name = NameOf(path.links[at]);
    const bool is_dataset = IsOneOf(name, {"dataset", "train_dataset", "eval_dataset", "datasets", "train_ds",
                                           "val_ds", "trainset", "train_set"}) ||
                            name.ends_with("_dataset");
    if (is_dataset && HasAttributeBehind(path, at)) return true;
  }
  return false;
}

bool OfPrefetchQueue(const HolderPath& path) {
  return HasNamed(path, {"_data_queue", "_worker_result_queue", "_task_info", "prefetch_queue",
                         "_prefetch_queue", "_prefetcher", "prefetcher", "_reorder_buffer"});
}

using PathTest = bool (*)(const HolderPath&);
using SiteTest = bool (*)(const SiteEvidence&);

bool MayGoOn(const SiteEvidence& site) { return site.MayGoOn(); }
// A fill is worth a word too: its end is known, its size may be a surprise.
bool Stays(const SiteEvidence& site) { return site.MayGoOn() || site.Keeps(); }

struct HolderPattern {
  PathTest is_held_so;
  SiteTest counts;
};

const std::map<std::string_view, HolderPattern>& HolderPatterns() {
  static const std::map<std::string_view, HolderPattern> patterns = {
      {"K33", {OfCallback, MayGoOn}},
      {"K34", {OfLogHistory, MayGoOn}},
      {"K35", {OfMetric, MayGoOn}},
      {"K36", {OfHook, MayGoOn}},
      {"K37", {OfException, Stays}},
      {"K38", {OfModuleLevel, MayGoOn}},
      {"K39", {OfUnboundedLruCache, MayGoOn}},
      {"K40", {OfDataset, Stays}},
      {"K41", {OfPrefetchQueue, Stays}},
  };
  return patterns;
}

}  // namespace

bool IsHolderPattern(std::string_view id) { return HolderPatterns().contains(id); }

std::optional<PatternMatch> MatchHolderPattern(std::string_view id, const EvidenceBundle& evidence) {
  const auto pattern = HolderPatterns().find(id);
  if (pattern == HolderPatterns().end()) return std::nullopt;
  std::optional<PatternMatch> best;
  for (size_t i = 0; i < evidence.sites.size(); ++i) {
    const SiteEvidence& site = evidence.sites[i];
    if (site.holding == nullptr || !pattern->second.counts(site)) continue;
    for (const HolderPath& path : site.holding->paths) {
      const double bytes = path.share * site.retained_bytes;
      if (path.end != HeldBy::kRoot || path.share < kHolderWorthNaming || !pattern->second.is_held_so(path))
        continue;
      if (bytes < kSmallKeeper * evidence.Material() || (best && bytes <= best->bytes)) continue;
      best.emplace();
      best->bytes = bytes;
      best->site = i;
      best->evidence = "held by " + series::ContainerText(path) + ": " + BytesText(bytes) + " of what " +
                       site.info.name + " made";
    }
  }
  return best;
}

}  // namespace plateau::verdict
