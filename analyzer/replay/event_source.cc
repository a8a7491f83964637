#include "analyzer/replay/event_source.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace plateau::replay {

uint64_t EventRun::LatestTime(size_t index) const {
  for (size_t i = index; i < block->events.size(); ++i) {
    if (block->events[i].flags & kEventTimed) return block->events[i].tsc;
  }
  return block->last_tsc != 0 ? block->last_tsc : UINT64_MAX;
}

EventSource::EventSource(const reader::TraceReader& reader, int threads) : reader_(reader) {
  for (const reader::StreamIndex& stream : reader.streams()) {
    uint64_t earliest = 0;  // a stream's blocks stay in order whatever their stamps say
    for (const reader::BlockRef& ref : stream.blocks) {
      earliest = std::max(earliest, ref.header.first_tsc);
      plan_.push_back({earliest, &ref, cursors_.size()});
    }
    cursors_.emplace_back();
  }
  std::stable_sort(plan_.begin(), plan_.end(),
                   [](const Planned& a, const Planned& b) { return a.first_tsc < b.first_tsc; });
  ready_.resize(plan_.size());
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency()) - 1;
  threads = std::clamp(threads, 1, 16);
  look_ahead_ = 4 * static_cast<size_t>(threads) + 4;
  for (int i = 0; i < threads; ++i) helpers_.emplace_back([this] { Decode(); });
}

EventSource::~EventSource() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void EventSource::Decode() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] {
      return stop_ || next_decode_ >= plan_.size() || next_decode_ < taken_ + look_ahead_;
    });
    if (stop_ || next_decode_ >= plan_.size()) return;
    const size_t i = next_decode_++;
    std::unique_ptr<EventBlock> block;
    if (!spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    if (!block) block = std::make_unique<EventBlock>();
    if (!DecodeEvents(reader_, *plan_[i].ref, block.get()).ok())
      block->events.clear();  // counted by the first pass
    lock.lock();
    ready_[i] = std::move(block);
    decoded_.notify_all();
  }
}

std::unique_ptr<EventBlock> EventSource::Take(size_t i) {
  std::unique_lock lock(mutex_);
  decoded_.wait(lock, [&] { return ready_[i] != nullptr; });
  ++taken_;
  wanted_.notify_one();
  return std::move(ready_[i]);
}

void EventSource::Recycle(std::unique_ptr<EventBlock> block) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < look_ahead_) spare_.push_back(std::move(block));
}

void EventSource::ForEachRun(const std::function<void(const EventRun&)>& take) {
  // (time of the next event, cursor), earliest first. The cursor breaks ties, so the order is always the
  // same.
  using Head = std::pair<uint64_t, size_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  size_t next = 0;
  const auto next_time = [&] { return next < plan_.size() ? plan_[next].first_tsc : UINT64_MAX; };
  while (true) {
    while (next < plan_.size() && (heads.empty() || next_time() <= heads.top().first)) {
      const size_t cursor_index = plan_[next].cursor;
      std::unique_ptr<EventBlock> block = Take(next++);
      if (block->events.empty()) {
        Recycle(std::move(block));
        continue;
      }
      Cursor& cursor = cursors_[cursor_index];
      cursor.blocks.push_back(std::move(block));
      if (cursor.blocks.size() == 1) {
        cursor.index = 0;
        heads.push({cursor.blocks.front()->events.front().tsc, cursor_index});
      }
    }
    if (heads.empty()) return;
    const size_t cursor_index = heads.top().second;
    heads.pop();
    Cursor& cursor = cursors_[cursor_index];
    const EventBlock& block = *cursor.blocks.front();
    const uint64_t limit = std::min(heads.empty() ? UINT64_MAX : heads.top().first, next_time());
    size_t end = cursor.index + 1;
    while (end < block.events.size() && block.events[end].tsc <= limit) ++end;
    take({&block, cursor.index, end});
    cursor.index = end;
    if (end == block.events.size()) {
      Recycle(std::move(cursor.blocks.front()));
      cursor.blocks.pop_front();
      cursor.index = 0;
    }
    if (!cursor.blocks.empty()) {
      heads.push({cursor.blocks.front()->events[cursor.index].tsc, cursor_index});
    }
  }
}

}  // namespace plateau::replay
