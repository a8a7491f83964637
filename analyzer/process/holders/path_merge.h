// Chains of many walks and stacks of one site become a few paths with their shares and lengths.
//
// Chains are equal when they read the same but for indices, lines and, right behind the container, keys. An
// index that is the same in all of them stays, in front of the container: "callbacks[2].seen[*]". Shares are
// those of the last walk that asked for the site, one that was not cut if there is one; lengths are of all walks.
//
// Of paths that hold about as much, one from the user's own modules and frames comes first, then one from a
// library, then one from the interpreter. A second path is kept when it holds more than 20 % and passes none
// of the containers before it. Pure and deterministic.
#ifndef PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_MERGE_H_
#define PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_MERGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/replay/definitions/holder_log.h"
#include "analyzer/series/holding.h"

namespace plateau::process {

struct ChainOfSite {
  const replay::HolderChain* chain = nullptr;
  double step = 0;
  double weight = 0;     // bytes that its stack holds, however many of them were looked at
  bool was_cut = false;  // its walk ended at a limit of time or memory
};

struct MergeContext {
  std::function<series::RootOwner(const std::vector<replay::PathSegment>& path)> owner_of;
  std::function<std::string(uint32_t stack)> name_of_stack;  // "leaky_tokenizer.cc:41 in Encode"
};

// `chains` by time. `is_collector_off` is left to the caller.
series::SiteHolding MergeChains(const std::vector<ChainOfSite>& chains, const MergeContext& context);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_HOLDERS_PATH_MERGE_H_
