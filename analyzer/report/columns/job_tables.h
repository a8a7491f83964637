// The ranks of a recording as tables of rows, schema "plateau-columns/1" (docs/fleet.md).
//
//   jobs      one row: the recording         sites     the sites that matter, by rank; the rest is one row
//   ranks     one row per rank and attempt   series    their live bytes by step, at most 64 points each
//   verdicts  what was said and tested       ledger    resident memory by step, at most 64 points
//   holders   who keeps a site's bytes       stacks, frames   by content, shared by all ranks
//
// Job and node are no columns: they are the folders that the files lie in. Pure.
#ifndef PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_TABLES_H_
#define PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_TABLES_H_

#include <string>
#include <vector>

#include "analyzer/report/columns/table.h"
#include "analyzer/report/rank_report.h"

namespace plateau::report {

inline constexpr char kColumnsSchema[] = "plateau-columns/1";

// Tables of one recording on one node, in the order above. Every table is there, also without rows.
std::vector<Table> TablesOf(const RecordingReport& recording);

// What makes one recording of a job another than the next: the same recording gives the same key again.
std::string RecordingKey(const RecordingReport& recording);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_COLUMNS_JOB_TABLES_H_
