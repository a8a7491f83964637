// Makes a model small enough to look at: fewer ledger rows, coarser series, a pruned stack tree. Totals
// survive it.
#ifndef PLATEAU_ANALYZER_REPORT_PAGE_DOWNSAMPLE_H_
#define PLATEAU_ANALYZER_REPORT_PAGE_DOWNSAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/report/report_model.h"

namespace plateau::report {

// At most `max_rows` whole rows (never averages, so that each row still adds up): the first, the last, and
// the lowest and highest RSS of each stretch in between, in order.
std::vector<LedgerReading> ThinLedger(const std::vector<LedgerReading>& ledger, size_t max_rows);

// Buckets of neighbours: entry i covers source entries [starts[i], starts[i+1]); at most `max_points` of
// them.
std::vector<size_t> BucketStarts(size_t points, size_t max_points);

// Sums flows (survivors) and keeps the last of levels (live bytes) per bucket.
std::vector<int64_t> SumBuckets(const std::vector<int64_t>& values, const std::vector<size_t>& starts);
std::vector<int64_t> LastOfBuckets(const std::vector<int64_t>& values, const std::vector<size_t>& starts);

// A tree of at most `max_nodes` nodes with the same sums. What is dropped from below a node becomes one child
// of it whose frame is `smaller_frame`. The nodes that matter most in any of the metrics stay. Indices in the
// result are new, parents first.
std::vector<StackTreeNode> PruneStacks(const std::vector<StackTreeNode>& stacks, size_t max_nodes,
                                       uint32_t smaller_frame);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_PAGE_DOWNSAMPLE_H_
