// What events did to the heap: the language between the two halves of the replay.
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
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_CHANGE_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_CHANGE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/replay/folded_totals.h"
#include "analyzer/replay/pool.h"
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
  uint8_t label;  // of kRetained
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

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_HEAP_CHANGE_H_
