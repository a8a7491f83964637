// How requests are chosen, and how the trace stays within its size limit.
//
// While the trace is far from its limit, sampling_density.h makes samples up to 8 times denser than was asked.
//
//   file   |<------------------- S, 15/16 of the limit ------------------->|<-- marks, stacks, ledger -->|
//   rate       1              1/4      1/16  ...                totals by stack from here on
//              half of S ----^  3/4 ---^
//
// The k-th change comes when all but S / 2^k is used and makes events four times rarer, so each stage lasts
// twice as long as the one before. At S events end and fold_table.h takes over. docs/design/sampling.md says
// why. Every change is a RATE record, so the weights of earlier events stay right.
//
// Threads: any may call anything; changes are made once, by compare-and-swap. Allocates: never. Locks: never.
#ifndef PLATEAU_PRELOAD_RECORDER_SIZE_LIMIT_H_
#define PLATEAU_PRELOAD_RECORDER_SIZE_LIMIT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/options.h"
#include "preload/recorder/thread_buffer.h"
#include "preload/trace/format.h"

namespace plateau {

inline bool IsExact() { return g_options.mode == trace::Mode::kExact; }

// How requests are chosen now.
struct Rate {
  std::atomic<uint64_t> exact_from;        // requests of so many bytes are all recorded; 0 in exact mode
  std::atomic<uint64_t> sample_bytes;      // the mean number of bytes between two samples of smaller ones
  std::atomic<uint64_t> point_bytes;       // between two points, of which samples are some or all
  std::atomic<uint32_t> coarsened;         // how often the size limit has made the rate coarser
  std::atomic<bool> full;                  // events have ended: totals, the ledger, marks and counters go on
  std::atomic<uint64_t> definition_bytes;  // bytes of definitions since events ended
  // The room for new stacks is used up when this is not 0; this node and those above are not in the trace.
  std::atomic<uint32_t> first_unnamed_stack;
};
extern Rate g_rate;

// Sets the rate that the options ask for. Called when a recording starts, and again in a forked child.
void StartRate();
// Writes the rate where it is not that of the file's header.
void WriteFirstRate(ThreadBuffer* buffer);

// Counts a point that a thread has come to, and makes the sampling denser or coarser when it is time to. Call
// before the point is kept or not.
void NotePoint(ThreadBuffer* buffer);

// The first training step has begun: what came before says nothing of how much the steps allocate.
void NoteFirstStep();

// A number for the rate of now, and how many blocks of `bytes` one stands for that was chosen at the rate of that
// number.
uint32_t RateLevel();
double WeightAt(uint32_t level, uint64_t bytes);

// Makes the sampling coarser when the trace approaches its limit; called after a block was written. In exact
// mode the frees of what was recorded must all follow, so such a trace still grows, slower. At S events are
// folded into totals, which a RATE record of Mode::kFolded says (Mode::kOff when there is no slot for them).
void KeepSizeLimit(ThreadBuffer* buffer);

// What is kept for marks and definitions when events end: a sixteenth of the limit, or a few blocks when the
// trace is small.
inline uint64_t RoomBesideEvents(uint64_t limit_bytes) {
  constexpr uint64_t kFewBlocks = 4 * trace::kSlotBytes;
  const uint64_t beside_ring = limit_bytes > trace::kExtentBytes ? limit_bytes - trace::kExtentBytes : 0;
  return std::max(limit_bytes / 16, std::min(beside_ring / 4, kFewBlocks));
}

// Counts `bytes` of a definition that was written after events ended. New stacks may use a quarter of the
// room beside S: the table that knows stacks forgets, so some are defined again and again.
void NoteDefinition(size_t bytes);

// Whether the definition of the stack is in the trace.
inline bool IsNamed(uint32_t stack) {
  const uint32_t first = g_rate.first_unnamed_stack.load(std::memory_order_relaxed);
  return first == 0 || stack < first;
}

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_SIZE_LIMIT_H_
