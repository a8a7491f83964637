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
constexpr double kTicksPerSecond = 100;  // of /proc/PID/stat, on every architecture of ours

// What the allocator has in use beyond the blocks that were born since the attach.
double OlderHeap(const ProcessTrace& trace, const std::vector<series::LedgerSample>& samples, size_t i) {
  const double free = LedgerValue(trace.definitions.ledger[i], LedgerField::kAllocatorFreeBytes);
  return std::max(0.0, samples[i].allocator_held - free - samples[i].live);
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
  return trace.reader->header().attach_state != static_cast<uint32_t>(trace::AttachState::kFromStart) &&
         trace.definitions.Info("role") != "forked worker";
}

BeforeAttach WhatWasBefore(const ProcessTrace& trace, const std::vector<series::LedgerSample>& samples) {
  BeforeAttach before;
  const trace::FileHeader& header = trace.reader->header();
  before.age_seconds = std::max(0.0, static_cast<double>(header.start_monotonic_ns) * 1e-9 -
                                         static_cast<double>(header.process_start_ticks) / kTicksPerSecond);
  if (samples.empty()) return before;
  const series::LedgerSample& first = samples.front();
  const double anonymous = std::max(0.0, first.rss_anon - first.own - first.live - first.mapped_live);
  // The allocator is not asked at every sample: the first answer tells.
  const auto asked = std::find_if(samples.begin(), samples.end(),
                                  [](const series::LedgerSample& s) { return s.allocator_held > 0; });
  if (asked == samples.end()) {
    before.beside_heap_bytes = anonymous;
    return before;
  }
  before.heap_bytes = OlderHeap(trace, samples, static_cast<size_t>(asked - samples.begin()));
  before.beside_heap_bytes = std::max(0.0, anonymous - (asked->allocator_held - asked->live));
  return before;
}

void AddBeforeAttach(const ProcessTrace& trace, std::vector<series::LedgerSample>* samples) {
  const BeforeAttach before = WhatWasBefore(trace, *samples);
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

bool JudgeFromWithin(const series::StepClock& clock, const series::RunContext& run,
                     verdict::Verdict* verdict) {
  if (run.has_no_pass) return false;
  if (verdict->kind != VerdictKind::kWarmupComplete && verdict->kind != VerdictKind::kWarmupInProgress)
    return false;
  const std::vector<double> ends = PassEnds(clock);
  const double near = std::max(kNearSteps, kNearShare * run.epoch_steps.value_or(0));
  const auto is_near = [&](double end) { return std::abs(verdict->by_step.value_or(end) - end) <= near; };
  if (ends.size() >= 2 && std::none_of(ends.begin(), ends.end(), is_near)) return false;
  verdict->kind = VerdictKind::kInconclusive;
  verdict->why =
      "the recording began in the middle of a pass over the data, and what ended or slowed down may be a "
      "cache that is full";
  verdict->needs_steps.reset();
  if (run.epoch_steps) verdict->needs_steps = *run.epoch_steps;
  return true;
}

}  // namespace plateau::process
