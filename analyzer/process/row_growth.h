// How the growth of a site is shared among its stacks: by what each of them still holds that was born in the
// second half of the run, which is where growth is measured.
//
//   RowGrowth growth(last_bucket);
//   growth.AddRetained(row, site, birth, bytes);    // what is alive at the end, during the replay
//   growth.Of(process, row_index)                      // bytes per step; the rows of a site add up to the site
//
// A site that keeps nothing of the second half is shared by what its stacks hold at the end, and one that
// holds nothing is its typical stack's alone. Memory: four bytes per row.
#ifndef PLATEAU_ANALYZER_PROCESS_ROW_GROWTH_H_
#define PLATEAU_ANALYZER_PROCESS_ROW_GROWTH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plateau::process {

struct ProcessAnalysis;

class RowGrowth {
 public:
  explicit RowGrowth(uint32_t last_bucket = 0) : middle_(last_bucket / 2) {}

  void AddRetained(uint32_t row, uint32_t site, uint32_t birth, double bytes) {
    if (birth <= middle_) return;
    if (row >= late_bytes_.size()) late_bytes_.resize(row + 1);
    if (site >= site_late_bytes_.size()) site_late_bytes_.resize(site + 1);
    late_bytes_[row] += static_cast<float>(bytes);
    site_late_bytes_[site] += bytes;
  }

  // When `process` has its verdicts.
  double Of(const ProcessAnalysis& process, uint32_t row) const;

 private:
  uint32_t middle_;
  std::vector<float> late_bytes_;        // by row
  std::vector<double> site_late_bytes_;  // by site
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_ROW_GROWTH_H_
