// What was read and what could not be: damage is not an error of the run, but nobody may overlook it.
//
//   damage   bytes that are there and cannot be understood (bit flips, torn writes, a cut file)
//   gap      a block number that is missing in its stream
//   drop     an event the shim did not record, counted by the shim itself
//
// A plain value. Add() sums two of them, for the traces of one recording.
#ifndef PLATEAU_ANALYZER_READER_READ_SUMMARY_H_
#define PLATEAU_ANALYZER_READER_READ_SUMMARY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "preload/trace/format.h"

namespace plateau::reader {

inline constexpr size_t kDropReasons = static_cast<size_t>(trace::DropReason::kCount);

// Events that were not recorded, by reason.
struct DropCounts {
  std::array<uint64_t, kDropReasons> events{};
  std::array<uint64_t, kDropReasons> bytes{};

  // False for a reason this version does not know; it is not counted.
  bool Add(trace::DropReason reason, uint64_t more_events, uint64_t more_bytes);
  void Add(const DropCounts& other);
};

struct ReadSummary {
  uint64_t file_bytes = 0;
  uint64_t blocks = 0;       // usable ones, open_blocks included
  uint64_t open_blocks = 0;  // taken from the ring: the process was running or had been killed
  uint64_t duplicate_blocks = 0;
  uint64_t damaged_blocks = 0;  // regions that should have been a block
  uint64_t damaged_bytes = 0;
  uint64_t gap_blocks = 0;
  uint64_t unknown_blocks = 0;   // of a type from a later version
  uint64_t damaged_records = 0;  // blocks whose records stop making sense although the checksum holds
  uint64_t unknown_records = 0;  // of a kind from a later version
  uint64_t records = 0;
  bool truncated = false;  // the file ends within a block
  bool header_damaged = false;
  bool clean_exit = true;
  trace::Totals totals{};  // exact counters of the process
  std::array<uint64_t, kDropReasons> dropped_events{};
  std::array<uint64_t, kDropReasons> dropped_bytes{};
  std::vector<std::string> notes;  // at most kMaxNotes sentences about damage, each with file and offset

  static constexpr size_t kMaxNotes = 20;
  void Note(std::string sentence);
  void Add(const ReadSummary& other);

  bool HasDamage() const {
    return damaged_blocks + damaged_records + gap_blocks > 0 || truncated || header_damaged;
  }
  // What the DROP records add up to. The header counts the same drops, so of each reason the larger one
  // stays: a header that was lost or not yet written must not hide them.
  void TakeRecordedDrops(const DropCounts& recorded);
  uint64_t TotalDroppedEvents() const;
  uint64_t TotalDroppedBytes() const;
  // One line per thing that is not as it should be; empty for a sound trace.
  std::vector<std::string> Sentences() const;
};

void AddTotals(const trace::Totals& more, trace::Totals* totals);

}  // namespace plateau::reader

#endif  // PLATEAU_ANALYZER_READER_READ_SUMMARY_H_
