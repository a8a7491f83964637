#include "analyzer/process/process_run.h"

#include <algorithm>
#include <cmath>

#include "analyzer/process/attached_run.h"
#include "analyzer/process/ledger_samples.h"

namespace plateau::process {
namespace {

using trace::LedgerField;

// The limit of a forecast: the smallest cgroup limit that was in force, else the machine's memory. Growth is
// measured against the peak, so a large machine hides nothing.
void FindLimit(const replay::Definitions& definitions, series::RunContext* run) {
  constexpr double kNoLimit = 1e17;  // cgroups write a huge number when there is none
  double cgroup = 0, host = 0;
  for (const replay::TimedLedger& reading : definitions.ledger) {
    const double bytes = LedgerValue(reading, LedgerField::kCgroupLimitBytes);
    if (bytes > 0 && bytes < kNoLimit && (cgroup <= 0 || bytes < cgroup)) cgroup = bytes;
    host = std::max(host, LedgerValue(reading, LedgerField::kHostLimitBytes));
  }
  if (cgroup > 0 && (host <= 0 || cgroup < host)) {
    run->limit_bytes = cgroup;
    run->limit_source = series::LimitSource::kCgroup;
  } else if (host > 0) {
    run->limit_bytes = host;
    run->limit_source = series::LimitSource::kMachine;
  }
}

series::StepUnit UnitOf(series::StepSource source) {
  switch (source) {
    case series::StepSource::kFetch:
      return series::StepUnit::kBatch;
    case series::StepSource::kRounds:
      return series::StepUnit::kRound;
    case series::StepSource::kBytes:
      return series::StepUnit::kBytePart;
    case series::StepSource::kTime:
      return series::StepUnit::kTimeSlice;
    default:
      return series::StepUnit::kStep;
  }
}

series::EventTrack Track(const char* name, const std::vector<series::Interlude>& interludes) {
  series::EventTrack track{name, {}};
  for (const series::Interlude& interlude : interludes) track.steps.push_back(interlude.after_step + 1);
  track.steps.erase(std::unique(track.steps.begin(), track.steps.end()), track.steps.end());
  return track;
}

// The mean gap of samples over the time of the steps, when it was `first` until the first change of the rate.
double MeanGap(const ProcessTrace& trace, const ProcessClock& clock, uint64_t first) {
  const uint64_t begin = clock.steps.BucketBegin(1);
  const uint64_t end = std::max(begin + 1, clock.steps.BucketEnd(clock.steps.last_bucket()));
  double sum = 0;
  uint64_t since = begin, gap = first;
  const auto add_until = [&](uint64_t tsc) {
    const uint64_t until = std::clamp(tsc, since, end);
    sum += static_cast<double>(until - since) * static_cast<double>(gap);
    since = until;
  };
  for (const replay::TimedRate& timed : trace.definitions.rates) {
    if (timed.rate.mode == trace::Mode::kExact) continue;
    add_until(timed.tsc);
    gap = timed.rate.sample_bytes;
  }
  add_until(end);
  return sum / static_cast<double>(end - begin);
}

// The same of whatever was sampled most coarsely.
double LargestGap(const ProcessTrace& trace, const ProcessClock& clock, const ProcessMemory& memory) {
  const trace::FileHeader& header = trace.reader->header();
  uint64_t gap = header.python_sample_bytes;
  if (memory.heap.has_sampling) gap = std::max(gap, header.sample_bytes);
  return MeanGap(trace, clock, gap);
}

// When the program began to exit, unless it worked on behind that, as one does that had an interpreter in it.
uint64_t ExitTime(const replay::Definitions& definitions, const ProcessClock& clock) {
  uint64_t exit = 0;
  for (const replay::TimedMark& mark : definitions.marks) {
    const bool is_exit = mark.kind == trace::MarkKind::kNote && mark.source == trace::MarkSource::kCppHook &&
                         mark.name == "exit";
    if (is_exit) exit = mark.tsc;
  }
  const bool is_behind_steps = exit != 0 && exit >= clock.steps.BucketEnd(clock.steps.last_bucket());
  return is_behind_steps ? exit : UINT64_MAX;
}

std::vector<series::LedgerSample> SamplesOf(const ProcessTrace& trace, const ProcessClock& clock,
                                            const ProcessMemory& memory) {
  std::vector<series::LedgerSample> samples;
  const uint64_t exit = ExitTime(trace.definitions, clock);
  for (size_t i = 0; i < trace.definitions.ledger.size(); ++i) {
    const replay::TimedLedger& reading = trace.definitions.ledger[i];
    const replay::LedgerLive& live = memory.heap.ledger[i];
    const uint32_t bucket = clock.steps.BucketOf(reading.tsc);
    series::LedgerSample s;
    s.time_seconds = trace.Seconds(reading.tsc);
    s.is_of_exit = reading.tsc > exit;
    s.step = std::min(bucket, clock.steps.last_bucket());
    s.rss_anon = LedgerValue(reading, LedgerField::kRssAnonBytes);
    s.rss_file = LedgerValue(reading, LedgerField::kRssFileBytes);
    s.rss_shmem = LedgerValue(reading, LedgerField::kRssShmemBytes);
    s.mapped_live = MappedBytes(live);
    // With its sign, because the objects are an estimate. Without a known arena they are somewhere else.
    const double arenas = PoolBytes(live, replay::Pool::kArena);
    if (arenas > 0) s.pool_slack = arenas - PoolBytes(live, replay::Pool::kPython);
    s.live = HeapBytes(live);
    s.untouched = PoolBytes(live, replay::Pool::kUntouched);
    // Both absent, and so 0, where the allocator was not asked: asking is dear.
    s.allocator_held = LedgerValue(reading, LedgerField::kAllocatorArenaBytes) +
                       LedgerValue(reading, LedgerField::kAllocatorMmapBytes);
    s.live_peak = std::max(live.live_peak_bytes, s.live + s.mapped_live);
    s.pinned = memory.device->LiveAt(replay::DevicePool::Kind::kPinned, bucket);
    s.device_live = memory.device->LiveAt(replay::DevicePool::Kind::kTensors, bucket);
    s.device_reserved = memory.device->LiveAt(replay::DevicePool::Kind::kReserved, bucket);
    s.own = LedgerValue(reading, LedgerField::kOwnBytes);
    s.cgroup = LedgerValue(reading, LedgerField::kCgroupCurrentBytes);
    s.threads = LedgerValue(reading, LedgerField::kThreads);
    s.open_files = LedgerValue(reading, LedgerField::kOpenFiles);
    s.mappings = LedgerValue(reading, LedgerField::kMappings);
    samples.push_back(s);
  }
  return samples;
}

// A forked process begins with the heap of its parent, whose blocks are in no event of its own: they are live,
// not held in vain. What it inherited beside the heap counts as mapped.
void AddInherited(std::vector<series::LedgerSample>* samples) {
  if (samples->empty()) return;
  const series::LedgerSample first = samples->front();
  const double anonymous = std::max(0.0, first.rss_anon - first.own - first.live - first.mapped_live);
  const double heap =
      first.allocator_held > 0 ? std::clamp(first.allocator_held - first.live, 0.0, anonymous) : anonymous;
  for (series::LedgerSample& sample : *samples) {
    sample.live += heap;
    sample.mapped_live += anonymous - heap;
    sample.live_peak += anonymous;
  }
}

// Workers of a loader have a share of each batch, and of the data set unless its order is mixed for every pass.
void ShareExamples(const series::StepClock& clock, series::RunContext* run) {
  const auto workers = static_cast<double>(clock.loader_workers());
  if (workers < 2) return;
  if (run->examples_per_step) *run->examples_per_step /= workers;
  run->unique_seen = clock.ExpectedExamplesOfWorker();
  if (run->dataset_examples && run->unique_seen.empty()) *run->dataset_examples /= workers;
}

series::RunContext ContextOf(const ProcessTrace& trace, const ProcessClock& process_clock,
                             const ProcessMemory& memory, const KnownRun& known) {
  const series::StepClock& clock = process_clock.steps;
  series::RunContext run;
  run.steps = clock.last_bucket();
  run.unit = UnitOf(clock.source());
  run.loop = clock.loop();
  run.saw_loop = clock.saw_loop() || run.CountsSteps();
  if (clock.allocated_bytes() > 0)
    run.allocated_bytes_per_step = clock.allocated_bytes() / std::max(1u, clock.last_bucket());
  if (clock.steps_per_epoch() > 0) run.epoch_steps = clock.steps_per_epoch();
  if (known.epoch_steps) run.epoch_steps = known.epoch_steps;
  // A loader that feeds training makes passes, though none has ended yet: their length can be given.
  const bool trains_on_loader = clock.batches_per_step() > 0 && clock.source() != series::StepSource::kFetch;
  run.has_no_pass = !run.epoch_steps.has_value() && !trains_on_loader;
  if (clock.examples_per_step() > 0) run.examples_per_step = clock.examples_per_step();
  if (clock.dataset_examples() > 0) run.dataset_examples = static_cast<double>(clock.dataset_examples());
  run.unique_seen = clock.ExpectedExamples();
  if (process_clock.is_of_parent) ShareExamples(clock, &run);
  if (IsAttached(trace)) ForgetFirstPass(clock, known.epoch_steps, &run);
  run.planned_steps = known.planned_steps;
  if (!clock.evaluations().empty()) run.events.push_back(Track("eval", clock.evaluations()));
  if (!clock.checkpoints().empty()) run.events.push_back(Track("checkpoint", clock.checkpoints()));
  run.reference_bytes = memory.heap.peak_bytes;
  FindLimit(trace.definitions, &run);
  if (known.limit_bytes) {
    run.limit_bytes = known.limit_bytes;
    run.limit_source = series::LimitSource::kGiven;
  }
  if (clock.last_bucket() > 0) {
    run.seconds_per_step =
        (trace.Seconds(clock.BucketEnd(clock.last_bucket())) - trace.Seconds(clock.BucketBegin(1))) /
        clock.last_bucket();
  }
  if (memory.heap.has_sampling)
    run.sample_interval_bytes = MeanGap(trace, process_clock, trace.reader->header().sample_bytes);
  run.sampled_site_interval_bytes = LargestGap(trace, process_clock, memory);
  run.lost_rate = LostShare(trace.definitions.summary, memory.heap.events);
  return run;
}

constexpr double kErrors = 3;  // deviations beyond what was lost, and so many records besides

// Whether far more of a stack stays than was lost on average. Counted in records: one of a sample stands for many blocks.
bool StaysDespiteLoss(const replay::StackRow& row, const series::RunContext& run) {
  if (row.live_count <= 0 || row.alloc_count <= 0) return false;
  const double block_bytes = row.alloc_bytes / row.alloc_count;
  const double interval = std::max(run.sample_interval_bytes, run.sampled_site_interval_bytes);
  const double weight = block_bytes > 0 ? std::max(1.0, interval / block_bytes) : 1;
  const double lost = run.lost_rate * row.alloc_count / weight;
  return row.live_count / weight > lost + kErrors * std::sqrt(lost) + kErrors;
}

}  // namespace

ProcessRun DescribeRun(const ProcessTrace& trace, const ProcessClock& clock, const ProcessMemory& memory,
                       const KnownRun& known) {
  ProcessRun run;
  run.ledger = SamplesOf(trace, clock, memory);
  if (trace.definitions.Info("role") == "forked worker") AddInherited(&run.ledger);
  if (IsAttached(trace)) AddBeforeAttach(trace, &run.ledger);
  run.context = ContextOf(trace, clock, memory, known);
  return run;
}

double LostShare(const reader::ReadSummary& summary, uint64_t events) {
  const auto dropped = [&](trace::DropReason reason) {
    return summary.dropped_events[static_cast<size_t>(reason)];
  };
  const uint64_t unsampled = dropped(trace::DropReason::kReentrant) + dropped(trace::DropReason::kNoSlot);
  const uint64_t others = summary.TotalDroppedEvents() - unsampled;
  const auto share = [](uint64_t lost, uint64_t kept) {
    return static_cast<double>(lost) / std::max(1.0, static_cast<double>(lost) + static_cast<double>(kept));
  };
  const uint64_t calls = summary.totals.alloc_calls + summary.totals.free_calls;
  return std::min(1.0, share(unsampled, std::max(calls, events)) + share(others, events));
}

std::vector<bool> KeepsDespiteLoss(const replay::StackRows& rows, const series::RunContext& run) {
  if (run.lost_rate <= 0) return {};
  std::vector<double> live, surely;
  for (size_t i = 0; i < rows.size(); ++i) {
    const replay::StackRow row = rows[i];
    if (row.site >= live.size()) {
      live.resize(row.site + 1);
      surely.resize(row.site + 1);
    }
    live[row.site] += row.live_bytes;
    if (StaysDespiteLoss(row, run)) surely[row.site] += row.live_bytes;
  }
  std::vector<bool> keeps(live.size());
  for (size_t site = 0; site < live.size(); ++site) keeps[site] = surely[site] > live[site] / 2;
  return keeps;
}

}  // namespace plateau::process
