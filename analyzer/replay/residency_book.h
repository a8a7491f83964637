// What RESIDENCY records say of large blocks and maps, so that the replay counts them by what is in memory.
//
//   birth            first reading      later readings
//   |-- first value --|--- its value ---|--- ...          a region without readings counts by its size
//
// From its birth on a region has what the first reading found: nobody looked earlier. Readings are asked for in
// the order of time. Memory: the readings. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_RESIDENCY_BOOK_H_
#define PLATEAU_ANALYZER_REPLAY_RESIDENCY_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/replay/definitions/definitions.h"
#include "preload/trace/record.h"

namespace plateau::replay {

class ResidencyBook {
 public:
  // `readings`, by time, must outlive it.
  explicit ResidencyBook(const std::vector<TimedResidency>* readings);

  bool empty() const { return readings_.empty(); }

  // What the first reading found of the block that was born at that time; all of it when there is none.
  uint64_t FirstOfBlock(uint64_t address, uint64_t bytes, uint64_t birth_tsc) const;
  // The same of a map, which may have lost its edges before that; in all that is left of it.
  std::optional<uint64_t> FirstOfMap(uint64_t begin, uint64_t end, uint64_t birth_tsc) const;

  // UINT64_MAX when there is no more.
  uint64_t NextTime() const { return next_ < readings_.size() ? readings_[next_].tsc : UINT64_MAX; }
  const trace::ResidencyRecord& Take() { return readings_[next_++].region; }

 private:
  const std::vector<TimedResidency>& readings_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> first_;  // by birth: the first reading of each region
  size_t next_ = 0;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_RESIDENCY_BOOK_H_
