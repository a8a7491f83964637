#include "analyzer/process/process_memory.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analyzer/process/ledger_samples.h"
#include "analyzer/series/series_feeder.h"

namespace plateau::process {
namespace {

// Tells the replay where buckets and phases begin.
void SetTimes(const ProcessClock& clock, replay::ReplayOptions* options) {
  const series::StepClock& steps = clock.steps;
  for (uint32_t bucket = 0; bucket <= steps.last_bucket(); ++bucket) {
    options->bucket_ends.push_back(steps.BucketEnd(bucket));
  }
  // The last bucket of a clock that goes on to the end of the trace takes the trace's last events too.
  const bool has_teardown = steps.BucketEnd(steps.last_bucket()) < steps.BucketEnd(steps.last_bucket() + 1);
  if (has_teardown || steps.step_count() > 0) {
    options->last_bucket = steps.last_bucket();
  } else {
    options->bucket_ends.pop_back();
  }
  for (const series::PhaseSegment& segment : clock.phases.segments()) {
    options->labels.push_back({segment.begin, static_cast<uint8_t>(segment.phase)});
  }
}

// Asks for what lay where when each worker was forked: the pages that it copied later belong to those blocks.
void SetSnapshots(const std::vector<ForkedWorker>& forked, series::CopyOnWrite* copies,
                  replay::ReplayOptions* options) {
  std::vector<const ForkedWorker*> workers;
  for (const ForkedWorker& worker : forked) {
    if (!worker.copied_pages.empty()) workers.push_back(&worker);
  }
  std::stable_sort(workers.begin(), workers.end(),
                   [](const ForkedWorker* a, const ForkedWorker* b) { return a->fork_tsc < b->fork_tsc; });
  for (const ForkedWorker* worker : workers) {
    std::vector<series::CopiedRange> ranges;
    for (const replay::PageRun& run : worker->copied_pages) {
      ranges.push_back(
          {run.first * trace::kCopiedPageBytes, (run.first + run.count) * trace::kCopiedPageBytes});
    }
    copies->AddWorker(std::move(ranges));
    options->snapshot_times.push_back(worker->fork_tsc);
  }
  options->on_snapshot = [copies](size_t worker, const replay::PlacedBlock& block) {
    copies->AddBlock(worker, block.address, block.bytes, block.weight, block.site);
  };
}

// Bytes that the allocator had free when it was last asked during the run; 0 when they are not worth a look. To
// look at all live blocks takes as long as to list them.
double FreeInHeap(const replay::Definitions& definitions, uint64_t end_tsc) {
  constexpr double kWorthBytes = 4 << 20, kWorthShare = 0.05;
  double free = 0;
  for (const replay::TimedLedger& reading : definitions.ledger) {
    if (reading.tsc > end_tsc) break;
    const double resident = LedgerValue(reading, trace::LedgerField::kRssAnonBytes);
    const double now = LedgerValue(reading, trace::LedgerField::kAllocatorFreeBytes);
    if (now > 0) free = now >= std::max(kWorthBytes, kWorthShare * resident) ? now : 0;
  }
  return free;
}

// Finds out which survivors hold the holes of the heap.
class HoleFinder {
 public:
  HoleFinder(const ProcessTrace& trace, uint64_t end_tsc)
      : free_bytes_(FreeInHeap(trace.definitions, end_tsc)),
        pins_({.page_bytes = trace.reader->header().mode == static_cast<uint8_t>(trace::Mode::kExact)
                                 ? series::HeapPins::kExactPageBytes
                                 : series::HeapPins::kSampledPageBytes}) {}

  void SetOptions(replay::ReplayOptions* options) {
    if (free_bytes_ == 0) return;
    options->on_ending = [this](int pass, const replay::PlacedBlock& block) {
      if (block.pool != replay::Pool::kHeap) return;
      if (pass == 0) return pins_.AddUse(block.address, block.bytes, block.weight);
      if (!std::exchange(has_uses_, true)) pins_.EndUses();
      pins_.AddPin(block.address, block.bytes, block.weight, block.site);
    };
  }

  series::HeapHoles Finish() {
    series::HeapHoles holes = pins_.Finish();
    // The allocator knows what is free; a sample knows where.
    if (!holes.is_exact) holes.ScaleTo(std::min(free_bytes_, holes.hole_bytes));
    return holes;
  }

 private:
  double free_bytes_;
  series::HeapPins pins_;
  bool has_uses_ = false;
};

void AddRetained(const replay::LiveView& object, uint32_t last_bucket, ProcessMemory* memory) {
  if (object.site >= memory->endings.size()) memory->endings.resize(object.site + 1);
  SiteEnding& ending = memory->endings[object.site];
  memory->regions.Add(object);
  memory->row_growth.AddRetained(object.row, object.site, object.birth, object.bytes);
  const auto phase = object.label == replay::kNoLabel ? series::BirthPhase::kOther
                                                      : static_cast<series::BirthPhase>(object.label);
  memory->breakdown.Add(phase, object.is_tensor, object.object_bytes, object.bytes, object.count);
  ending.phase_bytes[static_cast<size_t>(phase)] += object.bytes;
  ending.variance += object.variance;
  ending.age_bytes[series::AgeBucket(last_bucket > object.birth ? last_bucket - object.birth : 0)] +=
      object.bytes;
}

void FinishSeries(uint32_t last_bucket, size_t sites, ProcessMemory* memory) {
  memory->endings.resize(sites);
  for (uint32_t site = 0; site < sites; ++site) {
    for (size_t i = 0; i < series::kBirthPhases; ++i) {
      const double bytes = memory->endings[site].phase_bytes[i];
      if (bytes > 0) memory->series->OnSurvivor(site, static_cast<series::BirthPhase>(i), bytes);
    }
  }
  memory->series->Finish(last_bucket);
}

}  // namespace

std::string ProcessMemory::PoolName(replay::Pool pool) const {
  const bool is_of_device = static_cast<size_t>(pool) >= replay::kPools;
  return is_of_device ? device->PoolName(pool) : replay::PoolName(pool);
}

ProcessMemory ReplayMemory(const ProcessClock& clock, const std::vector<ForkedWorker>& workers, int threads,
                           ProcessTrace* trace, ProcessSites* sites) {
  const uint32_t last_bucket = clock.steps.last_bucket();
  replay::ReplayOptions options;
  options.threads = threads;
  SetTimes(clock, &options);
  series::CopyOnWrite copies;
  SetSnapshots(workers, &copies, &options);

  ProcessMemory memory;
  memory.row_growth = RowGrowth(last_bucket);
  memory.series = std::make_unique<series::SeriesAccumulator>();
  memory.tensors = std::make_unique<series::TensorSeries>();
  series::SeriesFeeder feeder(memory.series.get(), memory.tensors.get());
  options.observer = &feeder;
  options.on_retained = [&](const replay::LiveView& object) { AddRetained(object, last_bucket, &memory); };

  memory.device = std::make_unique<DeviceRows>(&trace->definitions, sites->table.get(), memory.series.get(),
                                               memory.tensors.get(), options.last_bucket);
  memory.device_summary = std::make_unique<DeviceSummary>(memory.device.get(), options.last_bucket);
  options.on_device = [&memory](const trace::DeviceRecord& record, uint64_t tsc, uint32_t bucket) {
    memory.device_summary->Apply(record, tsc, bucket);
  };
  options.site_of = [table = sites->table.get()](replay::Pool pool, uint32_t node) {
    return table->SiteOf(pool, node);
  };

  HoleFinder holes(*trace, clock.steps.BucketEnd(last_bucket));
  holes.SetOptions(&options);
  memory.heap = replay::ReplayHeap(*trace->reader, trace->definitions, options);
  trace->definitions.summary.Add(memory.heap.damage);
  memory.holes = holes.Finish();
  memory.regions.Finish(memory.heap.stacks, trace->definitions, sites->table.get());
  memory.device_summary->Finish();
  memory.copy_on_write = copies.Finish();
  FinishSeries(last_bucket, sites->count(), &memory);
  LibraryCallers callers(&memory.heap.stacks, &trace->definitions, memory.series.get(), sites->table.get());
  memory.regions.ChargeCallers(&callers, sites->table.get());
  ChargeThreads(memory.regions.sites(), trace->definitions, &callers, sites->table.get());
  return memory;
}

}  // namespace plateau::process
