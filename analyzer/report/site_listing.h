// Sites as rows: filtered, grouped, sorted, cut, and always adding up to the total.
//
//   TableOptions options;
//   options.group = Grouping::kFile;
//   options.sort = SortKey::kGrowth;
//   options.filter.path_glob = "src/*.py";
//   const SiteListing table = ListSites(model, options);
#ifndef PLATEAU_ANALYZER_REPORT_SITE_LISTING_H_
#define PLATEAU_ANALYZER_REPORT_SITE_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analyzer/report/report_model.h"
#include "analyzer/report/suppressions.h"

namespace plateau::report {

enum class Grouping { kSite, kFile, kFunction, kModule, kThread, kProcess, kPool, kPhase, kCategory };
enum class SortKey { kRetained, kGrowth, kPeak, kTemporary, kCount, kTensors, kAllocations, kName };

// "site", "file", ... and "retained", "growth", ...; nullopt for an unknown name.
std::optional<Grouping> ParseGrouping(absl::string_view name);
std::optional<SortKey> ParseSortKey(absl::string_view name);

// What a site must be to be shown. Step and age limits also restrict retained bytes to what was born in those
// steps.
struct SiteFilter {
  std::optional<double> from_step;  // born in this step or later
  std::optional<double> to_step;    // born in this step or earlier
  std::optional<double> min_age_steps;
  std::optional<double> max_age_steps;
  std::optional<double> min_object_bytes;  // mean size of its objects
  std::optional<double> max_object_bytes;
  std::string pool;
  std::string phase;
  std::string verdict;
  std::string path_glob;  // against the site's file and module
  std::string text;       // part of the site's name, file or function; letters of either case
  bool has_birth_limits() const {
    return from_step.has_value() || to_step.has_value() || min_age_steps.has_value() ||
           max_age_steps.has_value();
  }
};

struct TableOptions {
  Grouping group = Grouping::kSite;
  SortKey sort = SortKey::kRetained;
  size_t top = 20;  // 0: all
  SiteFilter filter;
  const Suppressions* suppressions = nullptr;
};

struct TableRow {
  std::string name;
  std::string verdict;      // of the site, or the most severe of a group
  std::string source_line;  // of a site
  int64_t sites = 0;
  int64_t retained_bytes = 0;
  int64_t retained_count = 0;
  double growth_bytes_per_step = 0;
  int64_t peak_bytes = 0;
  int64_t temporary_bytes = 0;
  int64_t alloc_count = 0;
  int64_t tensor_count = 0;
};

// rows + rest add up to total, which is the model's.
struct SiteListing {
  std::vector<TableRow> rows;
  std::vector<TableRow>
      rest;  // "[12 more rows]", "[suppressed]", "[filtered out]", and the model's leftovers
  TableRow total;
};

SiteListing ListSites(const ReportModel& model, const TableOptions& options);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_SITE_LISTING_H_
