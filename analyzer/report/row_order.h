// In which order the rows of a process go into a report.
//
// The report needs the largest rows in order (they get a place in the stack tree), the largest row of every
// site (it decides the order of the sites) and the rows that have names of their own: of millions of rows a
// few thousand. The rest is summed up and may come as it lies.
#ifndef PLATEAU_ANALYZER_REPORT_ROW_ORDER_H_
#define PLATEAU_ANALYZER_REPORT_ROW_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/report/process_pass.h"

namespace plateau::report {

struct RowOrder {
  std::vector<uint32_t>
      first;  // largest first: by what they hold, then by what they allocated, then by number
  std::vector<uint32_t> rest;  // ascending
  size_t with_stack = 0;       // so many of `first` that have a stack get their place in the tree
};

RowOrder OrderRows(const ProcessPass& pass, size_t max_stacks);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_ROW_ORDER_H_
