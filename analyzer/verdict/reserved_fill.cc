#include "analyzer/verdict/reserved_fill.h"

#include "analyzer/verdict/method/thresholds.h"

namespace plateau::verdict {
namespace {

// Whether a verdict says, or leaves open, that growth goes on.
bool GoesOn(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kWarmupComplete:
    case VerdictKind::kSpikeRecovered:
    case VerdictKind::kSteady:
      return false;
    default:
      return true;
  }
}

// Whether pages come at an even rate up to the end. Pages are no objects, so a verdict that asks for more objects
// will never have them: the rate itself decides, when no pass over data is known that could end it.
bool IsStraight(const series::SiteReservation& reservation, const Estimate& rate,
                const series::RunContext& run, const Verdict& verdict) {
  if (GrowsWithoutEnd(verdict.kind)) return verdict.rate_bytes_per_step.has_value();
  const bool lacks_objects =
      verdict.kind == VerdictKind::kInconclusive &&
      (verdict.reason == Reason::kFewSamples || verdict.reason == Reason::kEpochUnknown);
  const double steps = static_cast<double>(run.steps) * static_cast<double>(run.bucket_steps);
  if (!lacks_objects || steps < kStraightSteps || !rate.interval || rate.interval->low <= 0) return false;
  return rate.value >= kStraightShare * reservation.unbounded_bytes / steps;
}

}  // namespace

void JudgeReservedFill(const series::SiteReservation& reservation, const Estimate& rate,
                       const series::RunContext& run, Verdict* verdict) {
  if (reservation.IsLibrarys() && IsStraight(reservation, rate, run, *verdict)) {
    if (!verdict->rate_bytes_per_step) verdict->rate_bytes_per_step = rate;
    verdict->kind = VerdictKind::kUnboundedGrowth;
    verdict->reason = Reason::kNone;
    verdict->needs_steps.reset();
    verdict->needs_samples.reset();
    verdict->why = "what grows are pages of an allocator that a library brought along";
    verdict->evidence.untraced_kind = "allocator";
    verdict->evidence.is_by_caller = reservation.is_by_caller;
    verdict->evidence.objects_per_step.reset();
    return;
  }
  if (!reservation.IsFill() || !GoesOn(verdict->kind)) return;
  Verdict fill;
  fill.kind = VerdictKind::kWarmupInProgress;
  fill.why = "what grows are pages of memory that was reserved before";
  if (rate.value > 0) fill.rate_bytes_per_step = rate;
  fill.plateau_bytes = Estimate{reservation.reserved_bytes, std::nullopt};
  fill.evidence = verdict->evidence;
  fill.evidence.reserved_bytes = reservation.reserved_bytes;
  fill.evidence.live_bytes = reservation.resident_bytes;
  fill.evidence.remaining_bytes = reservation.room_bytes();
  fill.detectable_bytes_per_step = verdict->detectable_bytes_per_step;
  if (rate.value > 0) {
    const double now = static_cast<double>(run.steps) * static_cast<double>(run.bucket_steps);
    fill.knee_step = Estimate{now + reservation.room_bytes() / rate.value, std::nullopt};
  }
  *verdict = std::move(fill);
}

}  // namespace plateau::verdict
