#include "analyzer/replay/event_source.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "analyzer/replay/definitions/harvest.h"

namespace plateau::replay {

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
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency()) - 2;
  threads = std::clamp(threads, 0, 16);
  look_ahead_ = 4 * static_cast<size_t>(threads) + 6;
  for (int i = 0; i < threads; ++i) helpers_.emplace_back([this] { Help(); });
}

EventSource::~EventSource() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void EventSource::DecodeNext(std::unique_lock<std::mutex>* lock) {
  const size_t i = next_decode_++;
  std::unique_ptr<EventBlock> block;
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  }
  lock->unlock();
  if (!block) block = std::make_unique<EventBlock>();
  const reader::BlockRef& ref = *plan_[i].ref;
  const absl::Status status = block->Decode(reader_, ref);  // empty after an error
  // Each of its records is an event, unless there is damage. That of other blocks was counted by the first
  // pass.
  if (trace::IsHeapOnly(ref.header) && (!status.ok() || block->size() != ref.header.record_count)) {
    reader::ReadSummary damage;
    CountDamage(reader_, ref, &damage);
    lock->lock();
    damage_.emplace_back(i, std::move(damage));
  } else {
    lock->lock();
  }
  ready_[i] = std::move(block);
  decoded_.notify_all();
}

reader::ReadSummary EventSource::damage() const {
  std::vector<std::pair<size_t, reader::ReadSummary>> in_order = damage_;
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  reader::ReadSummary sum;
  for (const auto& [position, damage] : in_order) sum.Add(damage);
  return sum;
}

void EventSource::Help() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return stop_ || next_decode_ >= plan_.size() || CanDecode(); });
    if (stop_ || next_decode_ >= plan_.size()) return;
    DecodeNext(&lock);
  }
}

bool EventSource::DecodeAhead() {
  std::unique_lock lock(mutex_);
  if (!CanDecode()) return false;
  DecodeNext(&lock);
  return true;
}

std::unique_ptr<EventBlock> EventSource::Take(size_t i) {
  std::unique_lock lock(mutex_);
  while (ready_[i] == nullptr) {
    if (next_decode_ <= i || CanDecode()) {
      DecodeNext(&lock);
    } else {
      decoded_.wait(lock);
    }
  }
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
      if (block->size() == 0) {
        Recycle(std::move(block));
        continue;
      }
      Cursor& cursor = cursors_[cursor_index];
      cursor.blocks.push_back(std::move(block));
      if (cursor.blocks.size() == 1) {
        cursor.Begin();
        heads.push({cursor.time(), cursor_index});
      }
    }
    if (heads.empty()) return;
    const size_t cursor_index = heads.top().second;
    heads.pop();
    Cursor& cursor = cursors_[cursor_index];
    const EventBlock& block = *cursor.blocks.front();
    const std::vector<Stamp>& stamps = block.stamps();
    const uint64_t limit = std::min(heads.empty() ? UINT64_MAX : heads.top().first, next_time());
    size_t stamp = cursor.stamp + 1;
    while (stamp < stamps.size() && stamps[stamp].tsc <= limit) ++stamp;
    const size_t end = stamp < stamps.size() ? stamps[stamp].event : block.size();
    take({&block, cursor.index, end, cursor.stamp});
    cursor.index = end;
    cursor.stamp = stamp;
    if (end == block.size()) {
      Recycle(std::move(cursor.blocks.front()));
      cursor.blocks.pop_front();
      if (!cursor.blocks.empty()) cursor.Begin();
    }
    if (!cursor.blocks.empty()) heads.push({cursor.time(), cursor_index});
  }
}

}  // namespace plateau::replay
