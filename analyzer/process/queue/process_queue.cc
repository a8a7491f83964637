#include "analyzer/process/queue/process_queue.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

namespace plateau::process {
namespace {

constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // of the traces that are analysed at a time

}  // namespace

Lanes PlanLanes(std::vector<uint64_t> trace_bytes, size_t processors) {
  std::sort(trace_bytes.rbegin(), trace_bytes.rend());
  const uint64_t all = std::accumulate(trace_bytes.begin(), trace_bytes.end(), uint64_t{0});
  if (processors < 2 || trace_bytes.size() < 2 || trace_bytes[0] > all / 2) return {};
  Lanes lanes{0, 1};
  uint64_t bytes = 0;
  while (lanes.count < std::min(processors, trace_bytes.size())) {
    bytes += trace_bytes[lanes.count];
    if (lanes.count > 0 && bytes > kMostBytes) break;
    ++lanes.count;
  }
  if (lanes.count == 1) return {};
  lanes.threads = static_cast<int>(std::max<size_t>(1, processors / lanes.count));
  return lanes;
}

ProcessQueue::ProcessQueue(size_t traces, const reader::ProcessTree& tree, const symbols::Sysroot& sysroot,
                           Lanes lanes, AnalyzeFunction analyze)
    : traces_(traces), tree_(tree), lanes_(lanes), analyze_(std::move(analyze)), ready_(traces) {
  for (size_t lane = 0; lane < lanes.count; ++lane)
    symbolizers_.push_back(std::make_unique<symbols::Symbolizer>(sysroot));
  if (lanes.count < 2) return;
  try {
    for (size_t lane = 0; lane < lanes.count; ++lane) threads_.emplace_back([this, lane] { Work(lane); });
  } catch (const std::system_error&) {
    // No more threads can be made; those that there are do the work, or the caller does.
  }
}

ProcessQueue::~ProcessQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ProcessQueue::AreDone(size_t trace) const {
  for (auto above = tree_.ParentOf(trace); above.has_value(); above = tree_.ParentOf(*above)) {
    if (*above >= done_) return false;
  }
  return true;
}

void ProcessQueue::Work(size_t lane) {
  std::unique_lock lock(mutex_);
  while (!is_over_ && next_ < traces_) {
    const size_t trace = next_++;
    changed_.wait(lock, [&] { return is_over_ || AreDone(trace); });
    if (is_over_) return;
    lock.unlock();
    auto analyzed = std::make_unique<Analyzed>(analyze_(trace, lanes_.threads, symbolizers_[lane].get()));
    lock.lock();
    ready_[trace] = std::move(analyzed);
    changed_.notify_all();
    // What was analysed looks names up in the symbolizer of this lane until it is done with.
    changed_.wait(lock, [&] { return is_over_ || done_ > trace; });
  }
}

Analyzed ProcessQueue::Take(size_t trace) {
  if (threads_.empty()) return analyze_(trace, lanes_.threads, symbolizers_[0].get());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_[trace] != nullptr; });
  std::unique_ptr<Analyzed> analyzed = std::move(ready_[trace]);
  return std::move(*analyzed);
}

void ProcessQueue::Done(size_t trace) {
  const std::lock_guard lock(mutex_);
  done_ = trace + 1;
  changed_.notify_all();
}

std::vector<std::string> ProcessQueue::Problems() const {
  std::set<std::string> problems;
  for (const auto& symbolizer : symbolizers_)
    problems.insert(symbolizer->problems().begin(), symbolizer->problems().end());
  return {problems.begin(), problems.end()};
}

}  // namespace plateau::process
