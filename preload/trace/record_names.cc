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
                                           "holder_walk",  "holder",
                                           "attach",       "unknown"};
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
                                           "host_available",
                                           "open_files",
                                           "mappings"};
  const size_t index = static_cast<size_t>(field);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

const char* WalkReasonName(WalkReason reason) {
  static constexpr const char* kNames[] = {"none", "steps", "time", "request", "program", "end"};
  const size_t index = static_cast<size_t>(reason);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

const char* WalkResultName(WalkResult result) {
  switch (result) {
    case WalkResult::kDone:
      return "done";
    case WalkResult::kCutByTime:
      return "cut_by_time";
    case WalkResult::kCutByMemory:
      return "cut_by_memory";
    case WalkResult::kSkippedBudget:
      return "skipped_budget";
    case WalkResult::kSkippedMemory:
      return "skipped_memory";
    case WalkResult::kSkippedImport:
      return "skipped_import";
    case WalkResult::kSkippedFinalizing:
      return "skipped_finalizing";
    case WalkResult::kSkippedCollecting:
      return "skipped_collecting";
    case WalkResult::kSkippedUnsupported:
      return "skipped_unsupported";
    case WalkResult::kSkippedNoTable:
      return "skipped_no_table";
    case WalkResult::kSkippedNoTargets:
      return "skipped_no_targets";
  }
  return "unknown";
}

const char* HolderEndName(HolderEnd end) {
  static constexpr const char* kNames[] = {
      "none",      "path",  "garbage", "native_block", "module_data",   "unreachable", "opaque",
      "not_found", "graph", "native",  "native_stack", "native_memory", "frozen"};
  const size_t index = static_cast<size_t>(end);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

const char* SegmentKindName(SegmentKind kind) {
  static constexpr const char* kNames[] = {
      "none",      "module",       "frame",  "file",         "interpreter", "native",
      "global",    "attribute",    "slot",   "type_dict",    "key",         "key_itself",
      "index",     "member",       "local",  "cell",         "default",     "generator",
      "traceback", "context",      "self",   "function",     "buffer",      "inside",
      "graph",     "native_class", "repeat", "thread_local", "context_var", "weak_callback"};
  const size_t index = static_cast<size_t>(kind);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

}  // namespace plateau::trace
