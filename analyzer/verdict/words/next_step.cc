#include "analyzer/verdict/words/next_step.h"

#include <cmath>

#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {

std::string NextStep(const Verdict& verdict) {
  const bool has_holder = !verdict.evidence.held_by.empty() && !verdict.evidence.replaced_bytes &&
                          verdict.evidence.untraced_kind.empty();
  if (has_holder && GrowsWithoutEnd(verdict.kind)) {
    return "Look at who adds to " + verdict.evidence.held_by +
           " and never takes out: keep less in it, empty it, or give it a bound.";
  }
  if (verdict.evidence.garbage_share.value_or(0) > 0.5) {
    return "Break the cycle, call gc.collect() now and then, or let the collector run.";
  }
  switch (verdict.kind) {
    case VerdictKind::kLeak:
    case VerdictKind::kSlowLeak:
      return "Look at what keeps the objects of this call site alive: a list, a graph, a closure.";
    case VerdictKind::kUnboundedGrowth:
      if (verdict.evidence.replaced_bytes)
        return "Collect the parts in a list and join them once, or keep only what is needed of them.";
      if (verdict.evidence.untraced_kind == "allocator") {
        return "Look at what the program keeps of the library's objects: tables, buffers, sessions.";
      }
      return "Look at what keeps the objects of this call site alive. If it is a cache, give it a bound; if "
             "the "
             "program makes passes over data, say how long one is with --epoch-steps.";
    case VerdictKind::kStaircase:
      return "Look at what an evaluation or checkpoint leaves behind at this call site.";
    case VerdictKind::kFragmentation:
      return "Try MALLOC_ARENA_MAX=2, malloc_trim at epoch ends, or another allocator (jemalloc, tcmalloc).";
    case VerdictKind::kUntracedGrowth:
      return "See the ledger: mapped files are reclaimable, shared and driver memory are not.";
    case VerdictKind::kCacheFill:
      if (verdict.evidence.container_bound)
        return "Size memory for the full container, or give it a smaller bound.";
      return "Size memory for the data set, or keep examples encoded instead of decoded.";
    case VerdictKind::kWorkerDuplication:
      return "Keep the data set in arrays instead of Python lists, or use fewer workers.";
    case VerdictKind::kInconclusive:
      if (verdict.reason == Reason::kEpochUnknown) return "Give the epoch length with --epoch-steps.";
      if (verdict.reason == Reason::kUnexplainedGrowth)
        return "Look for an allocator or a driver that maps memory by itself, and see the ledger.";
      if (verdict.reason == Reason::kNotCovered) return "Record again, so that nothing is left out.";
      if (verdict.reason == Reason::kNoSteps)
        return "Mark the steps with plateau_step() (plateau/mark.h) or plateau_trace.mark in Python, if "
               "there are "
               "any.";
      return verdict.needs_steps ? "Run " + CountText(std::ceil(*verdict.needs_steps), "more step") + "."
                                 : "";
    default:
      return "";
  }
}

}  // namespace plateau::verdict
