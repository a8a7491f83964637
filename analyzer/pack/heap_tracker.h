// What the records before a packed block say of the heap it begins with.
//
// Packed blocks are independent of each other, so each is told at its start which chunks are free and, when
// an object of an earlier block is freed, how large its chunk is. The tracker finds that out before the
// blocks are packed, which then may happen in any order.
//
// Memory: about 30 bytes for each live object, and 16 for each object of an earlier block that one frees.
#ifndef PLATEAU_ANALYZER_PACK_HEAP_TRACKER_H_
#define PLATEAU_ANALYZER_PACK_HEAP_TRACKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/pack/glibc_model.h"

namespace plateau {

struct HeapStart {
  // Born before and freed in the block.
  struct Elder {
    uint64_t address;
    uint32_t units;  // of 16 that its chunk has
  };

  GlibcModel malloc;
  std::vector<Elder> elders;  // in the order they are freed
};

class HeapTracker {
 public:
  // Payloads of one stream, in order, as those of a block to be. Reads up to the first damage. After the last
  // ones nothing may follow.
  HeapStart Follow(const std::vector<EventsPayload>& payloads, bool are_last);

 private:
  struct Object {
    uint32_t units;
    uint32_t block;  // of its birth
  };

  struct Event {
    uint64_t address;
    uint64_t bytes;
    bool is_alloc;
    bool is_realloc;
  };
  static constexpr size_t kAhead = 32;  // events whose objects are on their way from memory

  void OnAlloc(const Event& event);
  void OnFree(const Event& event, HeapStart* start);

  GlibcModel malloc_;
  absl::flat_hash_map<uint64_t, Object> objects_;  // by address
  uint32_t block_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_HEAP_TRACKER_H_
