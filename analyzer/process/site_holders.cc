#include "analyzer/process/site_holders.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzer/process/holders/path_merge.h"

namespace plateau::process {
namespace {

using replay::HolderChain;
using replay::PathSegment;
using series::RootOwner;
using trace::SegmentKind;
using trace::WalkResult;

// Whose a root is, from the files of the code that ran.
class RootOwners {
 public:
  explicit RootOwners(const replay::Definitions& definitions) : definitions_(definitions) {}

  RootOwner Of(const std::vector<PathSegment>& path) {
    if (path.empty()) return RootOwner::kNative;
    const PathSegment& root = path.front();
    switch (root.kind) {
      case SegmentKind::kModule:
        return root.text == "__main__" ? RootOwner::kUser : OfModule(root.text);
      case SegmentKind::kFrame:
      case SegmentKind::kGenerator:
        return OfFrame(root.text, path.size() > 1 && path[1].kind == SegmentKind::kFile ? path[1].text : "");
      case SegmentKind::kGlobal:
      case SegmentKind::kLocal:
      case SegmentKind::kThreadLocal:
      case SegmentKind::kContextVar:
        return RootOwner::kUser;
      case SegmentKind::kNative:
        return RootOwner::kNative;
      default:
        return RootOwner::kInterpreter;
    }
  }

 private:
  static RootOwner OfFile(const std::string& file) {
    return replay::OwnerOfPythonFile(file) == replay::SiteTable::Owner::kUser ? RootOwner::kUser
                                                                              : RootOwner::kLibrary;
  }

  // A module whose code was never in a stack is taken for a library's: only the order of two paths hangs on it.
  RootOwner OfModule(const std::string& module) {
    const auto [known, is_new] = modules_.try_emplace(module, RootOwner::kLibrary);
    if (!is_new) return known->second;
    for (const std::string_view name : {"sys", "builtins", "gc", "threading", "functools", "_weakrefset"}) {
      if (module == name) return known->second = RootOwner::kInterpreter;
    }
    const std::string tail = absl::StrCat("/", absl::StrReplaceAll(module, {{".", "/"}}));
    const std::string file = absl::StrCat(tail, ".py"), package = absl::StrCat(tail, "/__init__.py");
    for (const replay::CodeObject& code : definitions_.codes) {
      const bool is_it = absl::EndsWith(code.file, file) || absl::EndsWith(code.file, package) ||
                         absl::StrCat("/", code.file) == file;
      if (is_it) return known->second = OfFile(code.file);
    }
    return known->second;
  }

  RootOwner OfFrame(const std::string& function, const std::string& file) {
    const auto [known, is_new] = frames_.try_emplace(absl::StrCat(file, "\n", function), RootOwner::kUser);
    if (!is_new) return known->second;
    for (const replay::CodeObject& code : definitions_.codes) {
      const bool is_it = absl::EndsWith(code.name, function) && absl::EndsWith(code.file, file);
      if (is_it && !code.file.empty()) return known->second = OfFile(code.file);
    }
    return known->second;
  }

  const replay::Definitions& definitions_;
  absl::flat_hash_map<std::string, RootOwner> modules_, frames_;
};

std::string WhySkipped(WalkResult result) {
  switch (result) {
    case WalkResult::kSkippedBudget:
      return "walks would have taken too much of the run's time";
    case WalkResult::kSkippedMemory:
      return "the process was too near to its memory limit";
    case WalkResult::kSkippedImport:
      return "a module was being imported";
    case WalkResult::kSkippedFinalizing:
      return "the interpreter was ending";
    case WalkResult::kSkippedCollecting:
      return "a collection was under way";
    case WalkResult::kSkippedUnsupported:
      return "this interpreter's objects are not known to Plateau";
    case WalkResult::kSkippedNoTable:
      return "exact mode has no table of live blocks";
    case WalkResult::kSkippedNoTargets:
      return "nothing had grown since the look before";
    default:
      return "";
  }
}

HolderLooks LooksOf(const replay::HolderLog& log, const series::StepClock& clock) {
  HolderLooks looks;
  looks.damaged = log.damaged_chains + log.surplus;
  for (const replay::TimedWalk& timed : log.walks) {
    const trace::HolderWalkRecord& walk = timed.walk;
    const bool was_made = walk.result <= WalkResult::kCutByMemory;
    if (!was_made) {
      // That nothing grew is no loss.
      if (walk.result == WalkResult::kSkippedNoTargets) continue;
      ++looks.skipped;
      looks.skipped_why = WhySkipped(walk.result);
      continue;
    }
    ++looks.walks;
    looks.cut += walk.result != WalkResult::kDone;
    looks.objects = static_cast<double>(walk.objects);
    looks.seconds += static_cast<double>(walk.elapsed_ns) / 1e9;
    looks.last_step = std::min(clock.BucketOf(timed.tsc), clock.last_bucket());
    if (walk.garbage_objects > 0) {
      looks.garbage_objects = static_cast<double>(walk.garbage_objects);
      looks.garbage_bytes = static_cast<double>(walk.garbage_bytes);
    }
    if (walk.frozen_objects > 0) looks.frozen_objects = static_cast<double>(walk.frozen_objects);
    looks.is_collector_off = walk.gc_disabled;
  }
  return looks;
}

// The site and the bytes of each stack that a walk asked for. One stack may have rows in several pools: the one
// that holds most speaks for it.
struct StackOwner {
  uint32_t site = 0;
  double bytes = 0;
  double weight = -1;  // by which it was chosen
};

absl::flat_hash_map<uint32_t, StackOwner> OwnersOfStacks(const replay::HolderLog& log,
                                                         const ProcessMemory& memory) {
  absl::flat_hash_map<uint32_t, StackOwner> stacks;
  for (const HolderChain& chain : log.chains) {
    if (chain.stack != 0) stacks.try_emplace(chain.stack);
  }
  for (size_t i = 0; i < memory.row_count(); ++i) {
    const replay::StackRow row = memory.Row(i);
    const auto found = stacks.find(row.node);
    if (found == stacks.end()) continue;
    const double weight = row.live_bytes + 1e-3 * row.peak_bytes + 1e-6 * row.alloc_bytes;
    if (weight <= found->second.weight) continue;
    found->second = {.site = row.site, .bytes = row.live_bytes, .weight = weight};
  }
  return stacks;
}

}  // namespace

SiteHolders FindHolders(const ProcessTrace& trace, const ProcessClock& clock, const ProcessMemory& memory,
                        ProcessSites* sites) {
  const replay::HolderLog& log = trace.definitions.holders;
  SiteHolders out;
  out.looks = LooksOf(log, clock.steps);
  if (log.chains.empty()) return out;
  const absl::flat_hash_map<uint32_t, StackOwner> stacks = OwnersOfStacks(log, memory);
  out.sites.resize(sites->count());
  std::vector<std::vector<ChainOfSite>> chains(sites->count());
  absl::flat_hash_set<uint64_t> cut_walks;
  for (const replay::TimedWalk& timed : log.walks) {
    const WalkResult result = timed.walk.result;
    if (result == WalkResult::kCutByTime || result == WalkResult::kCutByMemory)
      cut_walks.insert(timed.walk.walk);
  }
  for (const HolderChain& chain : log.chains) {
    const auto owner = stacks.find(chain.stack);
    if (owner == stacks.end() || owner->second.weight < 0 || owner->second.site >= chains.size()) {
      ++out.looks.damaged;  // of a stack that allocated nothing
      continue;
    }
    const double step = std::min(clock.steps.BucketOf(chain.tsc), clock.steps.last_bucket());
    chains[owner->second.site].push_back({&chain, step, owner->second.bytes, cut_walks.contains(chain.walk)});
  }
  RootOwners owners(trace.definitions);
  MergeContext context;
  context.owner_of = [&owners](const std::vector<PathSegment>& path) { return owners.Of(path); };
  context.name_of_stack = [sites, &trace](uint32_t stack) -> std::string {
    if (stack == 0) return "a place that is not known";
    const uint32_t node = sites->table->SiteNode(stack);
    const uint32_t location = trace.definitions.nodes[node].location;
    return location == 0 ? "a place that is not known" : SiteTitle(sites->names->Shown(location));
  };
  for (size_t site = 0; site < chains.size(); ++site) {
    if (chains[site].empty()) continue;
    out.sites[site] = MergeChains(chains[site], context);
    out.sites[site].is_collector_off = out.looks.is_collector_off;
  }
  return out;
}

}  // namespace plateau::process
