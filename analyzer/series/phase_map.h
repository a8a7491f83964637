// What a training program was doing at a moment: loading, fetching data, forward, backward, optimizer,
// evaluating, writing a checkpoint, or something else.
//
//   start-up | fetch | forward | backward | other | optimizer | other | fetch | ...
//
// Ranges and hooks give the fetch, backward and optimizer phases. Forward is the time that leads up to a
// backward pass, from the last fetch, zero_grad or optimizer step on. Evaluations and checkpoints cover what
// lies inside them. Everything before the first step is start-up; without steps there is nothing but start-up
// and evaluation.
//
// The phase is that of the thread that trains; what other threads do meanwhile is counted with it.
// Pure; a binary search per question.
#ifndef PLATEAU_ANALYZER_SERIES_PHASE_MAP_H_
#define PLATEAU_ANALYZER_SERIES_PHASE_MAP_H_

#include <cstdint>
#include <vector>

#include "analyzer/series/clock/mark_log.h"
#include "analyzer/series/clock/step_clock.h"
#include "analyzer/series/site_traits.h"

namespace plateau::series {

struct PhaseSegment {
  uint64_t begin;
  BirthPhase phase;
};

class PhaseMap {
 public:
  static PhaseMap Build(const MarkLog& log, const StepClock& clock, uint64_t end_time);

  BirthPhase PhaseOf(uint64_t time) const;

  // Ascending; neighbours differ. The first begins at 0.
  const std::vector<PhaseSegment>& segments() const { return segments_; }

 private:
  std::vector<PhaseSegment> segments_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_PHASE_MAP_H_
