#include "analyzer/reader/read_summary.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {

void ReadSummary::Note(std::string sentence) {
  if (notes.size() < kMaxNotes) notes.push_back(std::move(sentence));
}

void AddTotals(const trace::Totals& more, trace::Totals* totals) {
  totals->alloc_calls += more.alloc_calls;
  totals->alloc_bytes += more.alloc_bytes;
  totals->free_calls += more.free_calls;
  totals->freed_bytes += more.freed_bytes;
  totals->recorded_allocs += more.recorded_allocs;
  totals->recorded_frees += more.recorded_frees;
}

void ReadSummary::Add(const ReadSummary& other) {
  file_bytes += other.file_bytes;
  blocks += other.blocks;
  open_blocks += other.open_blocks;
  duplicate_blocks += other.duplicate_blocks;
  damaged_blocks += other.damaged_blocks;
  damaged_bytes += other.damaged_bytes;
  gap_blocks += other.gap_blocks;
  unknown_blocks += other.unknown_blocks;
  damaged_records += other.damaged_records;
  unknown_records += other.unknown_records;
  records += other.records;
  truncated |= other.truncated;
  header_damaged |= other.header_damaged;
  clean_exit &= other.clean_exit;
  AddTotals(other.totals, &totals);
  for (size_t i = 0; i < kDropReasons; ++i) {
    dropped_events[i] += other.dropped_events[i];
    dropped_bytes[i] += other.dropped_bytes[i];
  }
  for (const std::string& note : other.notes) Note(note);
}

bool DropCounts::Add(trace::DropReason reason, uint64_t more_events, uint64_t more_bytes) {
  const auto i = static_cast<size_t>(reason);
  if (i >= kDropReasons) return false;
  events[i] += more_events;
  bytes[i] += more_bytes;
  return true;
}

void DropCounts::Add(const DropCounts& other) {
  for (size_t i = 0; i < kDropReasons; ++i) {
    events[i] += other.events[i];
    bytes[i] += other.bytes[i];
  }
}

void ReadSummary::TakeRecordedDrops(const DropCounts& recorded) {
  for (size_t i = 0; i < kDropReasons; ++i) {
    dropped_events[i] = std::max(dropped_events[i], recorded.events[i]);
    dropped_bytes[i] = std::max(dropped_bytes[i], recorded.bytes[i]);
  }
}

uint64_t ReadSummary::TotalDroppedEvents() const {
  return std::accumulate(dropped_events.begin(), dropped_events.end(), uint64_t{0});
}

uint64_t ReadSummary::TotalDroppedBytes() const {
  return std::accumulate(dropped_bytes.begin(), dropped_bytes.end(), uint64_t{0});
}

std::vector<std::string> ReadSummary::Sentences() const {
  std::vector<std::string> lines;
  const auto say = [&lines](uint64_t count, auto... words) {
    if (count > 0) lines.push_back(absl::StrCat(words...));
  };
  say(header_damaged, "the file header is damaged; its settings may be wrong");
  say(damaged_blocks, Counted(damaged_blocks, "damaged region"), " skipped (", FormatBytes(damaged_bytes),
      ")");
  say(damaged_records, Counted(damaged_records, "block"), " with an end that cannot be read");
  say(gap_blocks, Counted(gap_blocks, "block"), " missing");
  say(truncated, "the file ends within a block");
  say(unknown_records, Counted(unknown_records, "record"), " of kinds this version does not know");
  say(unknown_blocks, Counted(unknown_blocks, "block"), " of kinds this version does not know");
  for (size_t i = 0; i < kDropReasons; ++i) {
    say(dropped_events[i], Counted(dropped_events[i], "event"), " (", FormatBytes(dropped_bytes[i]),
        ") not recorded: ", trace::DropReasonName(static_cast<trace::DropReason>(i)));
  }
  return lines;
}

}  // namespace plateau::reader
