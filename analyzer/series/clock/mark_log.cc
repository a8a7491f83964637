#include "analyzer/series/clock/mark_log.h"

#include <algorithm>

namespace plateau::series {

void MarkLog::Add(uint64_t time, uint32_t stream, trace::MarkKind kind, trace::MarkSource source,
                  uint64_t value, std::string_view name) {
  if (kind == trace::MarkKind::kOp) return;
  auto [entry, is_new] = ids_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  marks_.push_back({time, value, stream, entry->second, kind, source});
}

void MarkLog::Finish() {
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark& a, const Mark& b) { return a.time < b.time; });
}

}  // namespace plateau::series
