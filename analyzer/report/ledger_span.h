// First and last reading of the training: the figures beside the curves, on the card and on the page alike.
//
// The curves begin at step 1 and end with the last step; what comes behind it is the program taking itself down. A run without
// steps has all of its readings.
#ifndef PLATEAU_ANALYZER_REPORT_LEDGER_SPAN_H_
#define PLATEAU_ANALYZER_REPORT_LEDGER_SPAN_H_

#include <cstddef>
#include <cstdint>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct LedgerSpan {
  size_t begin = 0;  // readings [begin, end) of the ledger; empty when there are none
  size_t end = 0;
  // The peak of the events is an estimate where small requests were sampled; the curve is counted. With several processes
  // the totals are sums over them, and the curve is that of the one that the verdict is about.
  int64_t live_peak_bytes = 0;

  bool empty() const { return begin == end; }
};

LedgerSpan SpanOf(const ReportModel& model);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_LEDGER_SPAN_H_
