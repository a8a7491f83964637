#include "analyzer/process/started_threads.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace plateau::process {

std::vector<verdict::StartedThreads> ThreadsByStarter(const ProcessTrace& trace, const ProcessSites& sites,
                                                      const ProcessClock& clock) {
  const replay::Definitions& definitions = trace.definitions;
  const uint64_t end = clock.steps.BucketEnd(clock.steps.last_bucket());
  std::map<std::string, double> counts;  // by the starter's title
  for (const replay::ThreadInfo& thread : definitions.threads) {
    const bool is_running = thread.start_tsc <= end && (thread.end_tsc == 0 || thread.end_tsc > end);
    if (!is_running || thread.creator_stack == 0) continue;
    const uint32_t node = sites.table->SiteNode(thread.creator_stack);
    if (node == 0) continue;
    ++counts[SiteTitle(sites.names->Shown(definitions.nodes[node].location))];
  }
  std::vector<verdict::StartedThreads> started;
  started.reserve(counts.size());
  for (auto& [starter, count] : counts) started.push_back({starter, count});
  std::stable_sort(started.begin(), started.end(),
                   [](const auto& a, const auto& b) { return a.threads > b.threads; });
  return started;
}

}  // namespace plateau::process
