// In which order the rows of a process go into a report.
//
// The report needs the largest rows in order (they get a place in the stack tree), the largest row of every
// site (it decides the order of the sites) and the rows that have names of their own: of millions of rows a
// few thousand. The rest is in the sums of its sites (row_digest.h).
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_ROW_ORDER_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_ROW_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/process/analyze_process.h"

namespace plateau::report {

// Those rows, the largest first: by what they hold, then by what they allocated, then by number. With the
// `max_stacks` largest that have a stack.
std::vector<uint32_t> OrderRows(const process::ProcessAnalysis& process, size_t max_stacks);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_ROW_ORDER_H_
