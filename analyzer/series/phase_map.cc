#include "analyzer/series/phase_map.h"

#include <algorithm>
#include <utility>

#include "analyzer/series/clock/loop_events.h"

namespace plateau::series {
namespace {

struct Span {
  uint64_t begin;
  uint64_t end;
  BirthPhase phase;
};

// The named stretches of the loop, in order; what lies between them is forward or other, by what comes next.
std::vector<Span> LoopSpans(const LoopEvents& events) {
  std::vector<Span> spans;
  for (const FetchEvent& fetch : events.fetches)
    spans.push_back({fetch.begin, fetch.end, BirthPhase::kFetch});
  for (const BackwardEvent& pass : events.backwards)
    spans.push_back({pass.begin, pass.end, BirthPhase::kBackward});
  for (const OptimizerEvent& step : events.optimizer_steps) {
    spans.push_back({step.begin, step.end, BirthPhase::kOptimizer});
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return spans;
}

// Appends in order of time.
void Append(std::vector<PhaseSegment>* segments, uint64_t begin, BirthPhase phase) {
  if (!segments->empty() && segments->back().begin == begin) segments->pop_back();
  if (segments->empty() || segments->back().phase != phase) segments->push_back({begin, phase});
}

// Paints the interludes, which are ascending and apart, over the segments.
std::vector<PhaseSegment> PaintOver(const std::vector<PhaseSegment>& below,
                                    const std::vector<Interlude>& interludes, BirthPhase phase) {
  std::vector<PhaseSegment> painted;
  size_t next = 0;
  BirthPhase under = below.front().phase;
  const auto copy_until = [&](uint64_t time) {
    for (; next < below.size() && below[next].begin < time; ++next) {
      under = below[next].phase;
      Append(&painted, below[next].begin, under);
    }
  };
  for (const Interlude& interlude : interludes) {
    if (interlude.begin_time >= interlude.end_time) continue;
    copy_until(interlude.begin_time);
    Append(&painted, interlude.begin_time, phase);
    for (; next < below.size() && below[next].begin <= interlude.end_time; ++next) under = below[next].phase;
    Append(&painted, interlude.end_time, under);
  }
  copy_until(UINT64_MAX);
  return painted;
}

}  // namespace

PhaseMap PhaseMap::Build(const MarkLog& log, const StepClock& clock, uint64_t end_time) {
  std::vector<PhaseSegment> segments = {{0, BirthPhase::kStartup}};
  if (clock.step_count() > 0) {
    const LoopEvents events = CollectLoopEvents(log, end_time);
    uint64_t free_from = clock.BucketBegin(1);
    for (const Span& span : LoopSpans(events)) {
      if (span.end <= free_from) continue;  // inside another: the closure's backward in an optimizer step
      // The gap before a backward pass is the forward pass that leads to it.
      Append(&segments, free_from,
             span.phase == BirthPhase::kBackward ? BirthPhase::kForward : BirthPhase::kOther);
      Append(&segments, std::max(span.begin, free_from), span.phase);
      free_from = span.end;
    }
    Append(&segments, free_from, BirthPhase::kOther);
  }
  segments = PaintOver(segments, clock.evaluations(), BirthPhase::kEvaluation);
  segments = PaintOver(segments, clock.checkpoints(), BirthPhase::kCheckpoint);
  PhaseMap map;
  map.segments_ = std::move(segments);
  return map;
}

BirthPhase PhaseMap::PhaseOf(uint64_t time) const {
  const auto next =
      std::upper_bound(segments_.begin(), segments_.end(), time,
                       [](uint64_t t, const PhaseSegment& segment) { return t < segment.begin; });
  return next == segments_.begin() ? BirthPhase::kStartup : (next - 1)->phase;
}

}  // namespace plateau::series
