// Hands batches of changes from the thread that makes them to the thread that counts them.
//
//   writer:  ChangeWriter(&queue).Append(change) ...; queue.Close() at the end
//   reader:  while (ChangeBatch* batch = queue.Take()) { ...; queue.Return(); }
//
// One writer, one reader. kBatches exist in all; who is ahead waits for the other, so memory is bounded
// however long the trace is.
#ifndef PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_
#define PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "analyzer/replay/heap_change.h"

namespace plateau::replay {

class ChangeQueue {
 public:
  static constexpr size_t kBatchChanges = 4096;
  static constexpr size_t kBatches = 8;

  // Hands over what was written so far, if anything, and gives an empty batch.
  ChangeBatch* Next();
  void Close();

  // In the order of Next(). Null when the writer has closed and all is taken.
  ChangeBatch* Take();
  void Return();

 private:
  std::mutex mutex_;
  std::condition_variable written_cv_;
  std::condition_variable returned_cv_;
  std::array<ChangeBatch, kBatches> batches_;
  size_t begun_ = 0;    // batches given to the writer
  size_t written_ = 0;  // handed over
  size_t taken_ = 0;
  size_t returned_ = 0;
  bool is_closed_ = false;
};

// The writer's end: appends changes, whatever batch they come to lie in.
class ChangeWriter {
 public:
  explicit ChangeWriter(ChangeQueue* queue) : queue_(*queue), batch_(queue->Next()) {}

  void Append(const Change& change) {
    if (batch_->changes.size() == ChangeQueue::kBatchChanges) batch_ = queue_.Next();
    batch_->changes.push_back(change);
  }
  // The batch of the next Append(), for what a change points to.
  ChangeBatch* Room() {
    if (batch_->changes.size() == ChangeQueue::kBatchChanges) batch_ = queue_.Next();
    return batch_;
  }

 private:
  ChangeQueue& queue_;
  ChangeBatch* batch_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_
