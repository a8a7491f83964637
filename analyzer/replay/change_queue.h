// Hands batches of changes from the thread that makes them to the thread that counts them.
//
//   writer:  ChangeWriter writer(&queue); writer.Append(change); ...; writer.Close() at the end
//   reader:  while (ChangeBatch* batch = queue.Take()) { ...; queue.Return(); }
//
// One writer, one reader. kBatches exist in all; who is ahead waits for the other, so memory is bounded
// however long the trace is.
#ifndef PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_
#define PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "analyzer/replay/heap_change.h"

namespace plateau::replay {

class ChangeQueue {
 public:
  static constexpr size_t kBatches = 8;

  ChangeQueue() = default;
  // `meanwhile` is called, by the writer and the reader, before either waits for the other: it does a piece
  // of other work, or returns false when there is none.
  explicit ChangeQueue(std::function<bool()> meanwhile) : meanwhile_(std::move(meanwhile)) {}

  // Hands over what was written so far, if anything, and gives an empty batch.
  ChangeBatch* Next();
  void Close();

  // In the order of Next(). Null when the writer has closed and all is taken.
  ChangeBatch* Take();
  void Return();

 private:
  template <typename IsReady>
  void WaitUntil(IsReady&& is_ready, std::condition_variable* changed, std::unique_lock<std::mutex>* lock);

  std::function<bool()> meanwhile_;
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
  explicit ChangeWriter(ChangeQueue* queue) : queue_(*queue) { Turn(); }

  // A plain object that is born, or that has died.
  [[gnu::always_inline]] void AppendWord(uint64_t word) {
    if (next_ == end_) [[unlikely]]
      Turn();
    *next_++ = word;
  }
  void Append(const Change& change) {
    ChangeBatch* const batch = Room();
    *next_++ = batch->others.size();
    batch->others.push_back(change);
  }
  // With a detail, to which the change will point.
  void Append(Change change, const ChangeDetail& detail) {
    ChangeBatch* const batch = Room();
    change.bytes = static_cast<uint32_t>(batch->details.size());
    change.flags |= kChangeDetailed;
    batch->details.push_back(detail);
    Append(change);
  }
  // The batch of the next Append(), for what a change points to.
  ChangeBatch* Room() {
    if (next_ == end_) Turn();
    return batch_;
  }
  // Hands over the last batch. Call once at the end.
  void Close() {
    batch_->size = static_cast<size_t>(next_ - batch_->words.get());
    queue_.Close();
  }

 private:
  void Turn() {
    if (batch_ != nullptr) batch_->size = ChangeBatch::kChanges;
    batch_ = queue_.Next();
    next_ = batch_->words.get();
    end_ = next_ + ChangeBatch::kChanges;
  }

  ChangeQueue& queue_;
  ChangeBatch* batch_ = nullptr;
  uint64_t* next_ = nullptr;
  uint64_t* end_ = nullptr;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_CHANGE_QUEUE_H_
