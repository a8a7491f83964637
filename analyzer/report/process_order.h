// The processes of a recording as a tree: workers come behind the rank that they work for.
#ifndef PLATEAU_ANALYZER_REPORT_PROCESS_ORDER_H_
#define PLATEAU_ANALYZER_REPORT_PROCESS_ORDER_H_

#include <cstddef>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct ProcessPlace {
  size_t index = 0;  // among the processes
  int depth = 0;     // 0: its parent is not among them
};

// All of them, parents before their children, those of one parent by their start. A program that followed another in its
// process by exec stands behind it, and what either started is below the one that ran then. Pure.
std::vector<ProcessPlace> OrderAsTree(const std::vector<Process>& processes);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_PROCESS_ORDER_H_
