#include "analyzer/process/attached_run.h"

#include <algorithm>
#include <cmath>

#include "analyzer/process/ledger_samples.h"

namespace plateau::process {
namespace {

using trace::LedgerField;
using verdict::VerdictKind;

constexpr double kNearShare = 0.1;  // of a pass
constexpr double kNearSteps = 2;
constexpr double kMissedShare = 0.001;  // of the events, in frees that were only implied
constexpr uint64_t kFewMissed = 3;

// What the allocator has in use beyond the blocks that were born since the attach.
double OlderHeap(const ProcessTrace& trace, const std::vector<series::LedgerSample>& samples, size_t i) {
  const double free = LedgerValue(trace.definitions.ledger[i], LedgerField::kAllocatorFreeBytes);
  return std::max(0.0, samples[i].allocator_held - free - samples[i].live);
}

bool IsGrowth(VerdictKind kind) {
  return kind == VerdictKind::kLeak || kind == VerdictKind::kSlowLeak || kind == VerdictKind::kStaircase ||
         kind == VerdictKind::kUnboundedGrowth;
}

std::vector<double> PassEnds(const series::StepClock& clock) {
  std::vector<double> ends;
  for (const series::Epoch& epoch : clock.epochs()) {
    if (epoch.is_complete) ends.push_back(epoch.last_step);
  }
  return ends;
}

}  // namespace

bool IsAttached(const ProcessTrace& trace) {
  if (trace.definitions.attach) return true;
  // The record may have been lost with its block; the header of a forked child is that of an attached process too.
  return trace.reader->header().attach_state != static_cast<uint32_t>(trace::AttachState::kFromStart) &&
         trace.definitions.Info("role") != "forked worker";
}

BeforeAttach WhatWasBefore(const ProcessTrace& trace) {
  BeforeAttach before;
  if (!trace.definitions.attach) return before;
  const trace::AttachRecord& attach = trace.definitions.attach->attach;
  const auto bytes = [](uint64_t value) { return static_cast<double>(value); };
  const double held = bytes(attach.allocator_arena_bytes) + bytes(attach.allocator_mmap_bytes);
  before.age_seconds = bytes(attach.age_ns) * 1e-9;
  before.resident_bytes =
      bytes(attach.rss_anon_bytes) + bytes(attach.rss_file_bytes) + bytes(attach.rss_shmem_bytes);
  before.heap_bytes = std::max(0.0, held - bytes(attach.allocator_free_bytes));
  before.beside_heap_bytes = std::max(0.0, bytes(attach.rss_anon_bytes) - bytes(attach.own_bytes) - held);
  return before;
}

bool MissesFrees(const replay::ReplayResult& heap) {
  return heap.implied_frees > kFewMissed &&
         static_cast<double>(heap.implied_frees) > kMissedShare * static_cast<double>(heap.events);
}

void AddBeforeAttach(const ProcessTrace& trace, std::vector<series::LedgerSample>* samples) {
  const BeforeAttach before = WhatWasBefore(trace);
  double heap = before.heap_bytes;
  for (size_t i = 0; i < samples->size(); ++i) {
    series::LedgerSample& sample = (*samples)[i];
    if (sample.allocator_held > 0) heap = std::min(before.heap_bytes, OlderHeap(trace, *samples, i));
    sample.live += heap;
    sample.mapped_live += before.beside_heap_bytes;
    sample.live_peak += heap + before.beside_heap_bytes;
  }
}

void ForgetFirstPass(const series::StepClock& clock, std::optional<double> epoch_steps,
                     series::RunContext* run) {
  const std::vector<double> ends = PassEnds(clock);
  run->unique_seen.clear();
  run->epoch_steps = epoch_steps;
  if (!run->epoch_steps && ends.size() >= 2)
    run->epoch_steps = (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
  run->has_no_pass &= ends.empty();
}

bool JudgeFromWithin(const series::StepClock& clock, const series::RunContext& run, bool misses_frees,
                     verdict::Verdict* verdict) {
  if (misses_frees && IsGrowth(verdict->kind)) {
    verdict->kind = VerdictKind::kInconclusive;
    verdict->reason = verdict::Reason::kLossLimited;
    verdict->why =
        "some frees are not seen in this attached program, as addresses come again that nobody freed, and "
        "what "
        "stays may be gone";
    verdict->needs_steps.reset();
    return true;
  }
  if (run.has_no_pass) return false;
  if (verdict->kind != VerdictKind::kWarmupComplete && verdict->kind != VerdictKind::kWarmupInProgress)
    return false;
  const std::vector<double> ends = PassEnds(clock);
  const double near = std::max(kNearSteps, kNearShare * run.epoch_steps.value_or(0));
  const auto is_near = [&](double end) { return std::abs(verdict->by_step.value_or(end) - end) <= near; };
  if (ends.size() >= 2 && std::none_of(ends.begin(), ends.end(), is_near)) return false;
  verdict->kind = VerdictKind::kInconclusive;
  verdict->reason = verdict::Reason::kFirstPass;
  verdict->needs_steps.reset();
  if (ends.size() < 2) {
    verdict->why =
        "the recording began in the middle of a pass over the data, and what ended or slowed down may be a "
        "cache that is full";
    if (run.epoch_steps) verdict->needs_steps = *run.epoch_steps;
  } else {
    // However long it goes on, the beginning of the pass stays unseen.
    verdict->why =
        "growth ended where a pass over the data ended, as that of a cache does once it is full, and the "
        "recording began in the middle of that pass";
  }
  return true;
}

}  // namespace plateau::process
