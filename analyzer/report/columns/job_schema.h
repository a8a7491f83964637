// The tables of a job and their columns: schema `plateau-columns/1`, which docs/fleet.md describes. Columns are only added.
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_SCHEMA_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_SCHEMA_H_

#include <vector>

#include "analyzer/report/columns/table.h"

namespace plateau::report {

// By place in what EmptyJobTables() gives.
enum JobTable { kJobs, kRanks, kSites, kSeries, kLedger, kStacks, kFrames, kVerdicts, kHolders };

// All of them, without rows.
std::vector<Table> EmptyJobTables();

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_SCHEMA_H_
