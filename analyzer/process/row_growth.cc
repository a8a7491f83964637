#include "analyzer/process/row_growth.h"

#include "analyzer/base/whole_number.h"
#include "analyzer/process/analyze_process.h"

namespace plateau::process {

double RowGrowth::Of(const ProcessAnalysis& process, uint32_t row) const {
  const replay::StackRow amounts = process.memory.Row(row);
  if (amounts.site >= process.verdicts.sites.size()) return 0;
  const double growth = process.verdicts.sites[amounts.site].growth_bytes_per_step.value;
  if (growth == 0) return 0;
  const double late = amounts.site < site_late_bytes_.size() ? site_late_bytes_[amounts.site] : 0;
  if (late > 0) return row < late_bytes_.size() ? growth * late_bytes_[row] / late : 0;
  const SiteRows& site = process.rows.sites[amounts.site];
  if (site.held_bytes > 0) {
    return growth * static_cast<double>(Round(amounts.live_bytes)) / static_cast<double>(site.held_bytes);
  }
  return row == site.typical ? growth : 0;
}

}  // namespace plateau::process
