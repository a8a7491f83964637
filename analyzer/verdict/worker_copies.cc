#include "analyzer/verdict/worker_copies.h"

#include <algorithm>
#include <vector>

#include "analyzer/verdict/method/statistics.h"

namespace plateau::verdict {
namespace {

double EndMinusStart(const std::vector<double>& x) {
  if (x.empty()) return 0;
  const size_t q = std::max<size_t>(1, x.size() / 20);
  return Median(Values(x).last(q)) - Median(Values(x).first(q));
}

void Add(const series::WorkerSeries& worker, WorkerCopies* to) {
  to->private_growth_bytes += EndMinusStart(worker.private_bytes);
  to->heap_growth_bytes += EndMinusStart(worker.live_bytes);
  to->bound_bytes += worker.shared_at_fork_bytes;
  ++to->workers;
}

}  // namespace

WorkerCopies MostAtOnce(std::span<const series::WorkerSeries> workers) {
  WorkerCopies always;
  std::vector<const series::WorkerSeries*> timed;
  for (const series::WorkerSeries& worker : workers) {
    if (worker.begin_time < worker.end_time) {
      timed.push_back(&worker);
    } else {
      Add(worker, &always);
    }
  }
  std::sort(timed.begin(), timed.end(),
            [](const auto* a, const auto* b) { return a->begin_time < b->begin_time; });
  WorkerCopies most = always;
  std::vector<const series::WorkerSeries*> living;
  for (const series::WorkerSeries* born : timed) {
    std::erase_if(living, [born](const auto* worker) { return worker->end_time <= born->begin_time; });
    living.push_back(born);
    WorkerCopies now = always;
    for (const series::WorkerSeries* worker : living) Add(*worker, &now);
    if (now.private_growth_bytes > most.private_growth_bytes || most.workers == 0) most = now;
  }
  return most;
}

}  // namespace plateau::verdict
