// One process of a recording, all the way from its trace to its analysis.
//
//   trace -> reader -> definitions -> clock -> replay -> series -> analysis
//
// Fails only when the trace cannot be opened; damage is in `definitions.summary`.
#ifndef PLATEAU_ANALYZER_PROCESS_PROCESS_PASS_H_
#define PLATEAU_ANALYZER_PROCESS_PROCESS_PASS_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/replay/site_table.h"
#include "analyzer/process/device_rows.h"
#include "analyzer/process/device_summary.h"
#include "analyzer/process/frame_names.h"
#include "analyzer/process/row_digest.h"
#include "analyzer/process/worker_pass.h"
#include "analyzer/series/breakdown.h"
#include "analyzer/series/series_accumulator.h"
#include "analyzer/series/step_clock.h"
#include "analyzer/series/tensor_series.h"
#include "analyzer/symbols/symbolizer.h"
#include "analyzer/verdict/analysis.h"

namespace plateau::report {

struct ProcessOptions {
  replay::SiteRule site_rule = replay::SiteRule::kUser;
  std::optional<double> epoch_steps;  // what the user knows better
  std::optional<double> planned_steps;
  std::optional<double> limit_bytes;
  std::vector<ForkedWorker> workers;  // forked by this process
  // Of the process that forked this one. A worker that trains nothing itself is counted in its parent's
  // steps.
  std::vector<replay::TimedMark> parent_marks;
  int threads = 0;
};

// What of a site is alive at the end, beyond its series.
struct SiteEnding {
  std::array<double, series::kBirthPhases> phase_bytes{};  // by what the program was doing at the birth
  double variance = 0;                                     // of the retained bytes, from sampling
  std::array<double, series::kAgeBuckets> age_bytes{};     // by age in steps
};

struct ProcessPass {
  std::unique_ptr<reader::TraceReader> reader;
  replay::Definitions definitions;
  series::StepClock clock;
  bool is_worker = false;            // the clock is that of the process that forked this one
  bool ended_before_parent = false;  // which went on to train without it
  std::unique_ptr<replay::SiteTable> site_table;
  replay::ReplayResult replay;
  std::unique_ptr<DeviceRows> device;
  std::unique_ptr<DeviceSummary> device_summary;
  std::unique_ptr<series::SeriesAccumulator> series;
  series::TensorSeries tensors;
  std::vector<SiteEnding> endings;  // by site
  RowDigest rows;
  std::unique_ptr<FrameNames> names;
  std::vector<series::LedgerSample> ledger;
  series::Breakdown breakdown;  // of everything retained on the host
  verdict::AnalysisInput input;
  verdict::Analysis analysis;

  size_t site_count() const { return site_table->sites().size(); }
  bool IsDeviceSite(size_t site) const {
    return static_cast<size_t>(site_table->sites()[site].pool) >= replay::kPools;
  }
  // Rows of the heap, then rows of devices.
  replay::StackRow Row(size_t row) const {
    return row < replay.stacks.size() ? replay.stacks[row] : device->rows()[row - replay.stacks.size()];
  }
  size_t row_count() const { return replay.stacks.size() + device->rows().size(); }
  std::string PoolOf(size_t site) const;
  double Seconds(uint64_t tsc) const { return reader->SecondsSinceStart(tsc); }
};

absl::StatusOr<std::unique_ptr<ProcessPass>> AnalyzeProcess(const std::string& path,
                                                            const ProcessOptions& options,
                                                            symbols::Symbolizer* symbolizer);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_PROCESS_PROCESS_PASS_H_
