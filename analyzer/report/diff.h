// What changed between two runs, site by site.
//
// Sites are paired by file, function and pool; lines may have moved, so equal lines are paired first and the
// rest in order. Differences of all rows and leftovers add up to the difference of the totals.
#ifndef PLATEAU_ANALYZER_REPORT_DIFF_H_
#define PLATEAU_ANALYZER_REPORT_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

struct DiffSide {
  bool present = false;
  std::string verdict;
  std::string held_by;  // the first path; empty when none is known
  int line = 0;
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  double growth_bytes_per_step = 0;
  int64_t peak_bytes = 0;
  int64_t temporary_bytes = 0;
};

struct DiffRow {
  std::string site;
  DiffSide before;
  DiffSide after;
  int64_t retained_change() const { return after.retained_bytes - before.retained_bytes; }
  double growth_change() const { return after.growth_bytes_per_step - before.growth_bytes_per_step; }
};

struct ReportDiff {
  std::string verdict_before, verdict_after;
  int64_t steps_before = 0, steps_after = 0;
  DiffSide totals_before, totals_after;
  std::vector<DiffRow> rows;  // largest change of growth or retained bytes first
  std::vector<DiffRow> leftovers;
};

ReportDiff DiffReports(const ReportModel& before, const ReportModel& after);

struct DiffTextOptions {
  size_t top = 20;
  int columns = 100;
};

std::string WriteDiffText(const ReportDiff& diff, const DiffTextOptions& options = {});
std::string WriteDiffJson(const ReportDiff& diff);  // schema "plateau-diff/1"

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_DIFF_H_
