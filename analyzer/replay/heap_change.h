// What events did to the heap: the language between the two halves of the replay.
//
//   events -> HeapMatcher -> changes -> HeapAccounts -> rows, sites, buckets
//
// The matcher knows addresses and which object an event means; the accounts know amounts. Changes are in the
// order of the replay, in batches that travel through a ChangeQueue. A batch owns everything its changes
// point to.
#ifndef PLATEAU_ANALYZER_REPLAY_HEAP_CHANGE_H_
#define PLATEAU_ANALYZER_REPLAY_HEAP_CHANGE_H_

#include <bit>
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
  kRetained,  // is alive at the end; changes nothing. Detailed, as are the next two
  kPlaced,    // lies at `address` at the moment numbered `birth`; changes nothing
  kTick,      // it is `time` now: buckets end, readings are due
  kDevice,    // `bytes` is an index into ChangeBatch::devices
  kFold,      // and here into ChangeBatch::folds
};

enum ChangeFlags : uint8_t {
  kChangeTensor = 1,    // of kRetained
  kChangePiece = 2,     // of kRetained: without the count
  kChangeDetailed = 4,  // `bytes` is an index into ChangeBatch::details
};

// Of `Change::rate`: stands for one object whatever the sampling.
inline constexpr uint8_t kNotSampled = 255;

// Two words: `born_at` is the stack, and the birth above it; `amount` the bytes, and above them the traits.
// Most are written as words, see ChangeWriter.
//
// No byte of its own: one that is written could be part of anything, and all else would have to be read
// again.
struct Change {
  uint32_t stack;  // node of the trace
  uint32_t birth;  // bucket
  uint32_t bytes;  // or an index: what the kind or kChangeDetailed says
  ChangeKind kind : 8;
  Pool pool : 8;
  uint32_t rate : 8;  // which sampling rate it was recorded at
  uint32_t flags : 8;

  // The last four, in one number: the kind below all else.
  static constexpr uint32_t TraitsOf(ChangeKind kind, Pool pool, uint8_t rate) {
    return static_cast<uint32_t>(kind) | static_cast<uint32_t>(pool) << 8 | uint32_t{rate} << 16;
  }
  uint32_t Traits() const { return TraitsOf(kind, pool, static_cast<uint8_t>(rate)) | flags << 24; }
};
static_assert(sizeof(Change) == 16 && std::endian::native == std::endian::little);

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
  std::unique_ptr<Change[]> changes{new Change[kChanges]};  // the first `size` count
  std::vector<ChangeDetail> details;
  std::deque<DeviceChange> devices;  // never moves what is in it
  std::vector<FoldedPart> folds;

  void Clear() {
    size = 0;
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
