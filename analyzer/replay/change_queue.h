// What events did to the heap, and the queue that hands it from the half of the replay that finds out to the
// half that counts.
//
//   events -> HeapMatcher -> changes -> HeapAccounts -> rows, sites, buckets
//
// The matcher knows addresses and which object an event means; the accounts know amounts. Changes are in the
// order of the replay, in batches that travel through a ChangeQueue. Nearly all are births and ends of plain
// objects and travel as the words of these (live_object.h):
//
//   words    | born | born | died | 0 | born | died | 1 | ...        others   | tick | grown | ...
//
// Any other word is the place of a Change among the batch's others. A batch owns everything its changes point
// to. What is retained in the end is listed by words as well.
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
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/replay/definitions/pool.h"
#include "analyzer/replay/folded_totals.h"
#include "preload/trace/record.h"

namespace plateau::replay {

enum class ChangeKind : uint8_t {
  kBorn,
  kGrown,      // bytes of an object that realloc made grow
  kDied,       // with the count of its object
  kPieceDied,  // a part of an object whose first part carries the count
  kShrunk,     // youngest bytes of an object that lives on
  kPoolGrew,   // pools without rows
  kPoolShrank,
  kTagged,  // became a tensor's storage
  kUntagged,
  kRetained,  // is alive at the end and not plain; changes nothing. Detailed, as are the next two
  kPlaced,    // lies at `address` at the moment numbered `birth`; changes nothing
  kTick,      // it is `time` now: buckets end, readings are due
  kDevice,    // `bytes` is an index into ChangeBatch::devices
  kFold,      // and here into ChangeBatch::folds
  kEra,  // from now on the era of number `bytes` is the one of this birth, pool and rate, `stack` its label
  kListing,  // if `bytes` are 1: words of plain objects up to the next such change are what is retained
};

enum ChangeFlags : uint8_t {
  kChangeTensor = 1,    // of kRetained
  kChangePiece = 2,     // of kRetained: without the count
  kChangeDetailed = 4,  // `bytes` is an index into ChangeBatch::details
};

// Of `Change::birth` of kPlaced: the first and the second pass over what is alive at the end.
inline constexpr uint32_t kEndingMoment = UINT32_MAX - 1;

// Of `Change::rate`: stands for one object whatever the sampling.
inline constexpr uint8_t kNotSampled = 255;

struct Change {
  uint32_t stack = 0;  // node of the trace
  uint32_t birth = 0;  // bucket
  uint32_t bytes = 0;  // or an index: what the kind or kChangeDetailed says
  ChangeKind kind = {};
  Pool pool = Pool::kHeap;
  uint8_t rate = 0;  // which sampling rate it was recorded at
  uint8_t flags = 0;
};
static_assert(sizeof(Change) == 16);

// What few changes have: a size beyond 32 bits, a time, an address.
struct ChangeDetail {
  union {
    uint64_t bytes;
    uint64_t time;  // of kTick
  };
  union {
    uint64_t object_bytes;  // of kRetained: the whole object, where `bytes` are a part
    uint64_t address;       // of kPlaced
  };
  uint8_t label;          // of kRetained
  uint64_t reserved = 0;  // of kRetained: the object's size where its bytes are those in memory; else 0
};

struct DeviceChange {
  trace::DeviceRecord record;  // `api` views the string below
  uint64_t tsc;
  std::string api;
};

// Aligned, because one batch is written while its neighbour is read.
struct alignas(128) ChangeBatch {
  static constexpr size_t kChanges = 4096;

  size_t size = 0;
  std::unique_ptr<uint64_t[]> words{new uint64_t[kChanges]};  // the first `size` count
  std::vector<Change> others;
  std::vector<ChangeDetail> details;
  std::deque<DeviceChange> devices;  // never moves what is in it
  std::vector<FoldedPart> folds;

  void Clear() {
    size = 0;
    others.clear();
    details.clear();
    devices.clear();
    folds.clear();
  }
  uint64_t BytesOf(const Change& change) const {
    return change.flags & kChangeDetailed ? details[change.bytes].bytes : change.bytes;
  }
};

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
