// What a fitted shape of a memory curve says: still growing, stopped, slowing, stairs, flat, or too weak to
// say.
#ifndef PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_READING_H_
#define PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_READING_H_

#include <optional>
#include <string>

#include "analyzer/verdict/method/curves/curve_models.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::verdict {

enum class Growth { kFlat, kGrowing, kStopped, kSlowing, kStairs, kUnclear };
const char* GrowthName(Growth growth);

struct Reading {
  Growth growth = Growth::kUnclear;
  std::optional<Slope> tail;  // slope of the part the reading is about
  double since = 0;           // step at which growth ended, when stopped
  double onset = 0;           // step at which it began, when growing; 0: from the start
  double rise = 0;
  bool warmed_up_before = false;
  std::optional<Estimate> plateau;  // when slowing
  int event_count = 0;
  double per_event_bytes = 0;
  std::string event;
};

// The cleaned samples and the scales everything is compared with.
struct CurveView {
  Values t;
  Values y;
  double last_step = 0;  // of the run
  double level = 0;      // median
  double sample_distance = 1;

  double span() const { return t.back() - t.front(); }
  double flat_limit() const;  // slope below which a curve counts as flat
  double floor_rate() const;

  // Slope of the samples from step `from` on; empty when they are too few or too short.
  std::optional<Slope> TailFrom(double from) const;
  Slope Whole() const { return RobustSlope(t, y); }
};

Reading Read(const CurveModel& model, const CurveModels& all, const CurveView& view);

}  // namespace plateau::verdict

#endif  // PLATEAU_ANALYZER_VERDICT_METHOD_CURVES_CURVE_READING_H_
