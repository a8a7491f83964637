// Tables and trees for the terminal, beside the card.
//
// Plain text unless colour is asked for; strings from the recording are made printable. Every table ends in
// its total.
#ifndef PLATEAU_ANALYZER_REPORT_TEXT_TEXT_REPORT_H_
#define PLATEAU_ANALYZER_REPORT_TEXT_TEXT_REPORT_H_

#include <string>

#include "analyzer/report/report_model.h"
#include "analyzer/report/site_listing.h"

namespace plateau::report {

struct TextOptions {
  bool color = false;
  int columns = 100;
};

// What `plateau sites` prints.
std::string WriteSiteTable(const ReportModel& model, const TableOptions& table, const TextOptions& text = {});

enum class TreeMetric { kRetained, kGrowth, kPeak, kTemporary };

struct TreeOptions {
  TreeMetric metric = TreeMetric::kRetained;
  double min_share = 0.01;  // branches below this share of the whole are added up
  int max_depth = 40;
};

// The stacks as an indented tree, root first.
std::string WriteCallTree(const ReportModel& model, const TreeOptions& tree, const TextOptions& text = {});

// What `plateau report` prints below the card: sites, breakdown, hypotheses, ledger, pools, processes,
// recording.
std::string WriteTextReport(const ReportModel& model, const TableOptions& table,
                            const TextOptions& text = {});

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_TEXT_TEXT_REPORT_H_
