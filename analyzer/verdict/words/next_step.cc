#include "analyzer/verdict/words/next_step.h"

#include <cmath>

#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {

std::string NextStep(const Verdict& verdict) {
  const bool has_holder = !verdict.evidence.held_by.empty() && !verdict.evidence.replaced_bytes &&
                          verdict.evidence.untraced_kind.empty();
  if (has_holder && GrowsWithoutEnd(verdict.kind)) {
    return "Look for the code that adds to " + verdict.evidence.held_by +
           " and never removes: keep less in it, empty it, or give it a bound.";
  }
  if (verdict.evidence.garbage_share.value_or(0) > 0.5) {
    return "Break the reference cycle, call gc.collect() now and then, or let the collector run.";
  }
  switch (verdict.kind) {
    case VerdictKind::kLeak:
    case VerdictKind::kSlowLeak:
      return "Look for what keeps the objects made at this line alive: a list, a graph, a closure.";
    case VerdictKind::kUnboundedGrowth:
      if (verdict.evidence.replaced_bytes)
        return "Collect the parts in a list and join them once at the end, or keep only what you need of "
               "them.";
      if (verdict.evidence.untraced_kind == "allocator") {
        return "Look at what the program keeps of the library's objects: tables, buffers, sessions.";
      }
      return "Look for what keeps the objects made at this line alive. If it is a cache, give it a bound. If "
             "the program makes passes over data, say how long one is with --epoch-steps.";
    case VerdictKind::kStaircase:
      return "Look for what an evaluation, a checkpoint or an epoch leaves behind at this line.";
    case VerdictKind::kFragmentation:
      return "Try MALLOC_ARENA_MAX=2, malloc_trim at the ends of epochs, or another allocator (jemalloc, "
             "tcmalloc).";
    case VerdictKind::kUntracedGrowth:
      return "Look at the ledger for what it is: the kernel can take mapped files back, but not shared "
             "memory or a driver's.";
    case VerdictKind::kCacheFill:
      if (verdict.evidence.container_bound)
        return "Plan memory for the full container, or give it a smaller bound.";
      return "Plan memory for the whole data set, or keep examples encoded instead of decoded.";
    case VerdictKind::kWorkerDuplication:
      return "Keep the data set in arrays instead of Python lists, or use fewer workers.";
    case VerdictKind::kInconclusive:
      if (verdict.reason == Reason::kEpochUnknown)
        return "Say how long an epoch is with --epoch-steps, or run past its end.";
      if (verdict.reason == Reason::kUnexplainedGrowth)
        return "Look for a library or a driver that maps memory by itself; the ledger says how much.";
      if (verdict.reason == Reason::kNotCovered) return "Record again, so that nothing is left out.";
      if (verdict.reason == Reason::kNoSteps)
        return "If the program has steps, mark them: plateau_trace.mark.step() in Python, plateau_step() in "
               "C "
               "(plateau/mark.h).";
      return verdict.needs_steps ? "Run " + CountText(std::ceil(*verdict.needs_steps), "more step") + "."
                                 : "";
    default:
      return "";
  }
}

}  // namespace plateau::verdict
