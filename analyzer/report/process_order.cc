#include "analyzer/report/process_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace plateau::report {

std::vector<ProcessPlace> OrderAsTree(const std::vector<Process>& processes) {
  std::vector<size_t> by_start(processes.size());
  std::iota(by_start.begin(), by_start.end(), size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](size_t a, size_t b) {
    return processes[a].start_seconds < processes[b].start_seconds;
  });
  // Going by start, the last program seen with a pid is the one that ran when a child began.
  std::unordered_map<int64_t, size_t> running;
  std::vector<std::vector<size_t>> children(processes.size());
  std::vector<size_t> roots;
  for (const size_t i : by_start) {
    const auto parent = running.find(processes[i].parent_pid);
    if (parent == running.end() || parent->first == processes[i].pid) {
      roots.push_back(i);
    } else {
      children[parent->second].push_back(i);
    }
    running[processes[i].pid] = i;
  }
  std::vector<ProcessPlace> order;
  std::vector<ProcessPlace> waiting;
  const auto push = [&waiting](const std::vector<size_t>& some, int depth) {
    for (size_t k = some.size(); k > 0; --k) waiting.push_back({some[k - 1], depth});
  };
  push(roots, 0);
  while (!waiting.empty()) {
    const ProcessPlace place = waiting.back();
    waiting.pop_back();
    order.push_back(place);
    push(children[place.index], place.depth + 1);
  }
  return order;
}

}  // namespace plateau::report
