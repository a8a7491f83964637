// The words for what numbers in a trace mean.
#include <cstddef>

#include "preload/trace/decoder.h"

namespace plateau::trace {

const char* RecordKindName(RecordKind kind) {
  static constexpr const char* kNames[] = {"alloc",        "free",
                                           "node",         "pc",
                                           "time",         "info",
                                           "module",       "module_gone",
                                           "code",         "python_location",
                                           "thread_start", "thread_end",
                                           "map",          "unmap",
                                           "remap",        "break",
                                           "mark",         "ledger",
                                           "drop",         "rate",
                                           "device",       "tensor",
                                           "tensor_gone",  "realloc_cancel",
                                           "fork",         "alloc_in",
                                           "free_in",      "totals",
                                           "copied_pages", "fold_totals",
                                           "fold_row",     "residency",
                                           "unknown"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<size_t>(RecordKind::kUnknown) + 1);
  return kNames[static_cast<size_t>(kind)];
}

const char* DropReasonName(DropReason reason) {
  switch (reason) {
    case DropReason::kReentrant:
      return "reentrant";
    case DropReason::kNoSlot:
      return "no_slot";
    case DropReason::kWrite:
      return "write_failed";
    case DropReason::kLimit:
      return "size_limit";
    case DropReason::kContended:
      return "contended";
    case DropReason::kSandbox:
      return "sandbox";
    case DropReason::kCount:
      break;
  }
  return "unknown";
}

const char* MarkKindName(MarkKind kind) {
  static constexpr const char* kNames[] = {
      "none",           "step",         "epoch",       "phase_begin", "phase_end",     "zero_grad",
      "backward_begin", "backward_end", "fetch_begin", "fetch_end",   "train_mode",    "optimizer_begin",
      "explicit_step",  "op",           "note",        "fetch_stop",  "marks_left_out"};
  const size_t index = static_cast<size_t>(kind);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

const char* LedgerFieldName(LedgerField field) {
  static constexpr const char* kNames[] = {"none",
                                           "rss_anon",
                                           "rss_file",
                                           "rss_shmem",
                                           "allocator_arena",
                                           "allocator_free",
                                           "allocator_mmap",
                                           "cgroup_current",
                                           "cgroup_limit",
                                           "host_limit",
                                           "own",
                                           "swap",
                                           "private_dirty",
                                           "shared",
                                           "threads",
                                           "host_available"};
  const size_t index = static_cast<size_t>(field);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

}  // namespace plateau::trace
