#include "preload/recorder/size_limit.h"

#include <type_traits>

#include "preload/base/clock.h"
#include "preload/recorder/file/trace_sink.h"
#include "preload/recorder/fold_table.h"
#include "preload/recorder/mark_thinning.h"
#include "preload/recorder/sampling_density.h"
#include "preload/recorder/thread_state.h"
#include "preload/sampler/sampler.h"
#include "preload/sampler/unrecorded_blocks.h"
#include "preload/unwind/capture.h"

namespace plateau {

constinit Rate g_rate = {};
static_assert(std::is_trivially_destructible_v<Rate>);

namespace {

constinit SamplingDensity g_density;
static_assert(std::is_trivially_destructible_v<SamplingDensity>);

constexpr unsigned kDensityShift =
    8;  // of a rate's number; below it stands how often the rate was made coarser
constexpr uint64_t kFirstExactFrom = 16 * 1024;  // when exact mode becomes a sample
constexpr uint32_t kMaxLevel = 24;               // no file is large enough to need more

void WriteRate(ThreadBuffer* buffer, trace::Mode mode) {
  buffer->StampTime();
  buffer->Append([&](trace::BlockWriter& w) {
    return w.Rate({mode, g_rate.exact_from.load(std::memory_order_relaxed),
                   g_rate.sample_bytes.load(std::memory_order_relaxed)});
  });
}

// Events end, and totals by stack go on in a slot of their own.
void BeginFolding(ThreadBuffer* buffer) {
  if (g_rate.full.exchange(true, std::memory_order_relaxed)) return;
  if (IsExact()) g_gate.Set(GateState::AsksForEach());
  WriteRate(buffer, g_folds.Begin() ? trace::Mode::kFolded : trace::Mode::kOff);
}

// Makes events four times rarer; from exact mode the first change leads to default mode.
void Coarsen(ThreadBuffer* buffer, uint32_t level) {
  if (!g_rate.coarsened.compare_exchange_strong(level, level + 1)) return;  // another thread did it
  g_density.Stop();
  const uint64_t exact_from = g_rate.exact_from.load(std::memory_order_relaxed);
  const uint64_t sample_bytes = g_options.sample_bytes << 2 * (IsExact() ? level : level + 1);
  g_rate.sample_bytes.store(sample_bytes, std::memory_order_relaxed);
  g_rate.point_bytes.store(sample_bytes, std::memory_order_relaxed);
  if (exact_from == 0) {
    g_unrecorded_blocks.Start();
    g_rate.exact_from.store(kFirstExactFrom, std::memory_order_relaxed);
  } else {
    g_rate.exact_from.store(4 * exact_from, std::memory_order_relaxed);
  }
  g_gate.Set(IsExact() ? GateState::AsksForEach() : GateState::SamplesCoarser(4 * exact_from));
  WriteRate(buffer, trace::Mode::kDefault);
}

}  // namespace

void StartRate() {
  g_rate.exact_from.store(IsExact() ? 0 : g_options.exact_from, std::memory_order_relaxed);
  // A power of two that leaves a gap to count down.
  uint32_t denser = 0;
  // Each of Python's objects is recorded, or each request: a change of the rate would say otherwise.
  const bool may_be_denser = !IsExact() && g_options.python_alloc != PythonAlloc::kExact;
  while (may_be_denser && denser < 10 && 2u << denser <= g_options.sample_denser &&
         g_options.sample_bytes >> (denser + 1) > 0)
    ++denser;
  g_density.Start(denser, Now());
  g_rate.sample_bytes.store(g_options.sample_bytes >> denser, std::memory_order_relaxed);
  g_rate.point_bytes.store(g_options.sample_bytes >> denser, std::memory_order_relaxed);
  g_rate.coarsened.store(0, std::memory_order_relaxed);
  g_rate.full.store(false, std::memory_order_relaxed);
  g_rate.definition_bytes.store(0, std::memory_order_relaxed);
  g_rate.first_unnamed_stack.store(0, std::memory_order_relaxed);
  g_folds.Reset();
  g_mark_thinning.Reset();
  g_unrecorded_blocks.Clear();
}

void WriteFirstRate(ThreadBuffer* buffer) {
  if (g_density.is_on()) WriteRate(buffer, trace::Mode::kDefault);
}

void NotePoint(ThreadBuffer* buffer) {
  if (!g_density.is_on() || !g_density.OnPoint(Now(), TicksOfMs(1000), unwind::NextNode())) return;
  uint64_t old_bytes = g_rate.sample_bytes.load(std::memory_order_relaxed);
  const uint64_t new_bytes = g_options.sample_bytes >> g_density.log2();
  if (g_rate.coarsened.load(std::memory_order_relaxed) != 0) return;
  // Where the size limit has made it coarser meanwhile, that stays.
  if (!g_rate.sample_bytes.compare_exchange_strong(old_bytes, new_bytes, std::memory_order_relaxed)) return;
  WriteRate(buffer, trace::Mode::kDefault);
}

void NoteFirstStep() { g_density.BeginAnew(); }

uint32_t RateLevel() {
  return g_rate.coarsened.load(std::memory_order_relaxed) | g_density.log2() << kDensityShift;
}

double WeightAt(uint32_t number, uint64_t bytes) {
  const uint32_t level = number & ((1u << kDensityShift) - 1);
  const uint64_t sample_bytes = g_options.sample_bytes >> (number >> kDensityShift);
  if (IsExact() && level == 0) return 1;
  const unsigned shift = 2 * (IsExact() ? level - 1 : level);
  const uint64_t exact_from = (IsExact() ? kFirstExactFrom : g_options.exact_from) << shift;
  return bytes >= exact_from || bytes == 0 ? 1 : GapRandom::Weight(bytes, sample_bytes << shift);
}

void KeepSizeLimit(ThreadBuffer* buffer) {
  const uint64_t limit = g_options.max_trace;
  if (limit == 0 || g_rate.full.load(std::memory_order_relaxed)) return;
  // The k-th change comes when all but 2^-k of the events' space is used, and makes them four times rarer:
  // each stage lasts twice as long as the one before. What grows with the steps and not with the events
  // (marks, the ledger) may use the rest of the space too; the sink writes nothing beyond the limit.
  const uint64_t space = limit - RoomBesideEvents(limit);
  const uint64_t used = g_sink.file_bytes();
  const uint32_t level = g_rate.coarsened.load(std::memory_order_relaxed);
  if (used > space && level > 0) return BeginFolding(buffer);
  if (level < kMaxLevel && used >= space - (space >> (level + 1))) Coarsen(buffer, level);
}

void NoteDefinition(size_t bytes) {
  const uint64_t used = g_rate.definition_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (used > RoomBesideEvents(g_options.max_trace) / 4 && IsNamed(UINT32_MAX)) {
    g_rate.first_unnamed_stack.store(unwind::NextNode(), std::memory_order_relaxed);
  }
}

}  // namespace plateau
