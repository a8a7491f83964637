#include "analyzer/report/ledger_span.h"

#include <algorithm>

namespace plateau::report {

LedgerSpan SpanOf(const ReportModel& model) {
  LedgerSpan span;
  const std::vector<LedgerReading>& ledger = model.ledger;
  if (ledger.empty()) return span;
  const double last_step = ledger.back().step;
  const bool has_steps = last_step >= 2;
  while (has_steps && ledger[span.begin].step < 1) ++span.begin;
  for (span.end = span.begin; span.end < ledger.size();) {
    const LedgerReading& reading = ledger[span.end++];
    span.live_peak_bytes = std::max(span.live_peak_bytes, reading.live_bytes);
    if (has_steps && reading.step >= last_step) break;
  }
  if (model.processes.size() <= 1)
    span.live_peak_bytes = std::max(span.live_peak_bytes, model.totals.peak_bytes);
  return span;
}

}  // namespace plateau::report
