// Who holds what stays, as the model has it: the paths of each site, the looks themselves, and the line of the card.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_HOLDER_FACTS_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_HOLDER_FACTS_H_

#include <string>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

HolderLooks LooksOf(const process::ProcessAnalysis& process);

// Fills what `site` says of its holders. `retained_bytes` is what the process keeps of it.
void AddHolders(const series::SiteHolding& holding, int64_t retained_bytes, Site* site);

// "client._cache[*]['x'] (list, 40 items, +1 a step), 97 % of the bytes": one line for each path that is worth one.
std::vector<std::string> HeldByLines(const series::SiteHolding& holding);

// The lines of the site that the headline of `process` is about; empty when there is none.
std::vector<std::string> HeldByHeadline(const process::ProcessAnalysis& process);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_HOLDER_FACTS_H_
