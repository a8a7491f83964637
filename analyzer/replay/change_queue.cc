#include "analyzer/replay/change_queue.h"

namespace plateau::replay {

template <typename IsReady>
void ChangeQueue::WaitUntil(IsReady&& is_ready, std::condition_variable* changed,
                            std::unique_lock<std::mutex>* lock) {
  while (!is_ready()) {
    bool has_worked = false;
    if (meanwhile_) {
      lock->unlock();
      has_worked = meanwhile_();
      lock->lock();
    }
    if (!has_worked && !is_ready()) changed->wait(*lock);
  }
}

ChangeBatch* ChangeQueue::Next() {
  std::unique_lock lock(mutex_);
  if (written_ != begun_) {
    written_ = begun_;
    written_cv_.notify_one();
  }
  WaitUntil([this] { return begun_ - returned_ < kBatches; }, &returned_cv_, &lock);
  ChangeBatch* batch = &batches_[begun_++ % kBatches];
  batch->Clear();
  return batch;
}

void ChangeQueue::Close() {
  const std::lock_guard lock(mutex_);
  written_ = begun_;
  is_closed_ = true;
  written_cv_.notify_one();
}

ChangeBatch* ChangeQueue::Take() {
  std::unique_lock lock(mutex_);
  WaitUntil([this] { return taken_ < written_ || is_closed_; }, &written_cv_, &lock);
  return taken_ < written_ ? &batches_[taken_++ % kBatches] : nullptr;
}

void ChangeQueue::Return() {
  const std::lock_guard lock(mutex_);
  ++returned_;
  returned_cv_.notify_one();
}

}  // namespace plateau::replay
