#include "analyzer/replay/change_queue.h"

namespace plateau::replay {

ChangeBatch* ChangeQueue::Next() {
  std::unique_lock lock(mutex_);
  if (written_ != begun_) {
    written_ = begun_;
    written_cv_.notify_one();
  }
  returned_cv_.wait(lock, [this] { return begun_ - returned_ < kBatches; });
  ChangeBatch* batch = &batches_[begun_++ % kBatches];
  batch->Clear();
  batch->changes.reserve(kBatchChanges);
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
  written_cv_.wait(lock, [this] { return taken_ < written_ || is_closed_; });
  return taken_ < written_ ? &batches_[taken_++ % kBatches] : nullptr;
}

void ChangeQueue::Return() {
  const std::lock_guard lock(mutex_);
  ++returned_;
  returned_cv_.notify_one();
}

}  // namespace plateau::replay
