// The third stage: the replay, and everything that is counted while it runs.
//
//   events of the heap    --> ReplayResult     rows per stack, levels per bucket
//                         --> SeriesAccumulator, TensorSeries   per site and step
//                         --> SiteEnding, Breakdown             what is alive at the end
//                         --> CopyOnWrite                       what lay on pages that workers copied
//   events of devices     --> DeviceSummary --> DeviceRows      rows and series of device memory
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_MEMORY_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_MEMORY_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/process/device_rows.h"
#include "analyzer/process/device_summary.h"
#include "analyzer/process/forked_worker.h"
#include "analyzer/process/large_regions.h"
#include "analyzer/process/process_clock.h"
#include "analyzer/process/process_trace.h"
#include "analyzer/process/row_growth.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/stack_rows.h"
#include "analyzer/series/breakdown.h"
#include "analyzer/series/copy_on_write.h"
#include "analyzer/series/heap_pins.h"
#include "analyzer/series/series_accumulator.h"
#include "analyzer/series/tensor_series.h"

namespace plateau::process {

// What of a site is alive at the end, beyond its series.
struct SiteEnding {
  std::array<double, series::kBirthPhases> phase_bytes{};  // by what the program was doing at the birth
  double variance = 0;                                     // of the retained bytes, from sampling
  std::array<double, series::kAgeBuckets> age_bytes{};     // by age in steps
};

struct ProcessMemory {
  replay::ReplayResult heap;
  std::unique_ptr<series::SeriesAccumulator> series;
  std::unique_ptr<series::TensorSeries> tensors;
  std::vector<SiteEnding> endings;  // by site
  RowGrowth row_growth;
  LargeRegions regions;
  series::HeapHoles holes;      // empty when the heap has few
  series::Breakdown breakdown;  // of everything retained on the host
  series::CopyOnWriteAttribution copy_on_write;
  std::unique_ptr<DeviceRows> device;
  std::unique_ptr<DeviceSummary> device_summary;

  // Rows of the heap come first, then rows of devices.
  size_t row_count() const { return heap.stacks.size() + device->rows().size(); }
  replay::StackRow Row(size_t row) const {
    return row < heap.stacks.size() ? heap.stacks[row] : device->rows()[row - heap.stacks.size()];
  }
  // "heap", "python", "device 0 tensors".
  std::string PoolName(replay::Pool pool) const;
};

// Adds what only the replay notices to `trace->definitions.summary`. `trace` and `sites` must outlive the
// result.
ProcessMemory ReplayMemory(const ProcessClock& clock, const std::vector<ForkedWorker>& workers, int threads,
                           ProcessTrace* trace, ProcessSites* sites);

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_MEMORY_H_
