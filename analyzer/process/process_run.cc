#include "analyzer/process/process_run.h"

#include <algorithm>
#include <optional>

#include "analyzer/process/ledger_samples.h"
#include "analyzer/process/process_pass.h"

namespace plateau::report {
namespace {

using trace::LedgerField;

// The smallest cgroup limit that was in force. The machine's memory counts as a limit only for a process that
// uses a good part of it: against all of a large machine, a small program's leak would look like nothing.
std::optional<double> MemoryLimit(const replay::Definitions& definitions, double peak_bytes) {
  constexpr double kNoLimit = 1e17;  // cgroups write a huge number when there is none
  constexpr double kGoodPart = 0.1;
  std::optional<double> limit;
  double host = 0;
  for (const replay::TimedLedger& reading : definitions.ledger) {
    const double bytes = LedgerValue(reading, LedgerField::kCgroupLimitBytes);
    if (bytes > 0 && bytes < kNoLimit && (!limit || bytes < *limit)) limit = bytes;
    host = std::max(host, LedgerValue(reading, LedgerField::kHostLimitBytes));
  }
  if (host > 0 && limit && *limit >= host) limit.reset();
  if (!limit && host > 0 && peak_bytes > kGoodPart * host) limit = host;
  return limit;
}

series::EventTrack Track(const char* name, const std::vector<series::Interlude>& interludes) {
  series::EventTrack track{name, {}};
  for (const series::Interlude& interlude : interludes) track.steps.push_back(interlude.after_step + 1);
  track.steps.erase(std::unique(track.steps.begin(), track.steps.end()), track.steps.end());
  return track;
}

// The highest resident memory: what a limit is about. Live memory that was never touched does not count.
double PeakRss(const ProcessPass& pass) {
  if (pass.ledger.empty()) return pass.replay.peak_bytes;
  double peak = 0;
  for (const series::LedgerSample& sample : pass.ledger) peak = std::max(peak, sample.rss());
  return peak;
}

// The largest mean gap of samples, of whatever was sampled at any time.
double LargestGap(const ProcessPass& pass) {
  const trace::FileHeader& header = pass.reader->header();
  uint64_t gap = header.python_sample_bytes;
  if (pass.replay.has_sampling) gap = std::max(gap, header.sample_bytes);
  for (const replay::TimedRate& timed : pass.definitions.rates) {
    if (timed.rate.mode != trace::Mode::kExact) gap = std::max(gap, timed.rate.sample_bytes);
  }
  return static_cast<double>(gap);
}

}  // namespace

std::vector<series::LedgerSample> SamplesOf(const ProcessPass& pass) {
  std::vector<series::LedgerSample> samples;
  for (size_t i = 0; i < pass.definitions.ledger.size(); ++i) {
    const replay::TimedLedger& reading = pass.definitions.ledger[i];
    const replay::LedgerLive& live = pass.replay.ledger[i];
    const uint32_t bucket = pass.clock.BucketOf(reading.tsc);
    series::LedgerSample s;
    s.time_seconds = pass.Seconds(reading.tsc);
    s.step = std::min(bucket, pass.clock.last_bucket());
    s.rss_anon = LedgerValue(reading, LedgerField::kRssAnonBytes);
    s.rss_file = LedgerValue(reading, LedgerField::kRssFileBytes);
    s.rss_shmem = LedgerValue(reading, LedgerField::kRssShmemBytes);
    s.mapped_live = MappedBytes(live);
    s.pool_slack =
        std::max(0.0, PoolBytes(live, replay::Pool::kArena) - PoolBytes(live, replay::Pool::kPython));
    s.live = HeapBytes(live);
    // Both absent, and so 0, where the allocator was not asked: asking is dear.
    s.allocator_held = LedgerValue(reading, LedgerField::kAllocatorArenaBytes) +
                       LedgerValue(reading, LedgerField::kAllocatorMmapBytes);
    s.live_peak = std::max(live.live_peak_bytes, s.live + s.mapped_live);
    s.pinned = pass.device->LiveAt(replay::DevicePool::Kind::kPinned, bucket);
    s.device_live = pass.device->LiveAt(replay::DevicePool::Kind::kTensors, bucket);
    s.device_reserved = pass.device->LiveAt(replay::DevicePool::Kind::kReserved, bucket);
    s.own = LedgerValue(reading, LedgerField::kOwnBytes);
    s.cgroup = LedgerValue(reading, LedgerField::kCgroupCurrentBytes);
    samples.push_back(s);
  }
  return samples;
}

series::RunContext RunOf(const ProcessPass& pass, const ProcessOptions& options) {
  const series::StepClock& clock = pass.clock;
  series::RunContext run;
  run.steps = clock.last_bucket();
  if (clock.source() == series::StepSource::kFetch) run.unit = series::StepUnit::kBatch;
  if (clock.source() == series::StepSource::kTime) run.unit = series::StepUnit::kTimeSlice;
  if (clock.steps_per_epoch() > 0) run.epoch_steps = clock.steps_per_epoch();
  if (options.epoch_steps) run.epoch_steps = options.epoch_steps;
  if (clock.examples_per_step() > 0) run.examples_per_step = clock.examples_per_step();
  if (clock.dataset_examples() > 0) run.dataset_examples = static_cast<double>(clock.dataset_examples());
  run.planned_steps = options.planned_steps;
  if (!clock.evaluations().empty()) run.events.push_back(Track("eval", clock.evaluations()));
  if (!clock.checkpoints().empty()) run.events.push_back(Track("checkpoint", clock.checkpoints()));
  run.reference_bytes = pass.replay.peak_bytes;
  run.limit_bytes = options.limit_bytes ? options.limit_bytes : MemoryLimit(pass.definitions, PeakRss(pass));
  if (clock.last_bucket() > 0) {
    run.seconds_per_step =
        (pass.Seconds(clock.BucketEnd(clock.last_bucket())) - pass.Seconds(clock.BucketBegin(1))) /
        clock.last_bucket();
  }
  if (pass.replay.has_sampling)
    run.sample_interval_bytes = static_cast<double>(pass.reader->header().sample_bytes);
  run.sampled_site_interval_bytes = LargestGap(pass);
  const double lost = static_cast<double>(pass.definitions.summary.TotalDroppedEvents());
  run.lost_rate = lost / std::max(1.0, lost + static_cast<double>(pass.replay.events));
  return run;
}

}  // namespace plateau::report
