#include "analyzer/process/process_pass.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/other_core.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/process/process_run.h"
#include "analyzer/series/series_feeder.h"
#include "analyzer/process/symbols_ahead.h"
#include "analyzer/series/phase_map.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/python_lines.h"
#include "analyzer/verdict/site_judging.h"

namespace plateau::report {
namespace {

using replay::Pool;

// Sites whose whole stack is symbolized for the patterns; the others are judged by their own frame.
constexpr size_t kSitesWithStacks = 400;
constexpr size_t kMaxFramesForPatterns = 80;
constexpr size_t kSitesWithOperators = 50;

struct Clocks {
  series::StepClock steps;
  series::PhaseMap phases;
  bool is_of_parent = false;
};

Clocks BuildClocks(const std::vector<replay::TimedMark>& marks, const series::StepClockOptions& options) {
  series::MarkLog log;
  for (const replay::TimedMark& mark : marks) {
    log.Add(mark.tsc, mark.stream, mark.kind, mark.source, mark.value, mark.name);
  }
  log.Finish();
  Clocks clocks;
  clocks.steps = series::StepClock::Build(log, options);
  clocks.phases = series::PhaseMap::Build(log, clocks.steps, options.end_time);
  return clocks;
}

// The parent's marks while the worker lived, and what the parent noted before about its loader.
std::vector<replay::TimedMark> MarksDuring(const std::vector<replay::TimedMark>& marks, uint64_t begin,
                                           uint64_t end) {
  std::vector<replay::TimedMark> during;
  for (const replay::TimedMark& mark : marks) {
    if (mark.tsc <= end && (mark.tsc >= begin || mark.kind == trace::MarkKind::kNote)) during.push_back(mark);
  }
  return during;
}

Clocks ChooseClocks(const replay::Definitions& definitions, double ns_per_tick,
                    const std::vector<replay::TimedMark>& parent_marks) {
  series::StepClockOptions options;
  options.begin_time = definitions.first_tsc;
  options.end_time = definitions.last_tsc;
  options.seconds_per_time_unit = ns_per_tick * 1e-9;
  Clocks own = BuildClocks(definitions.marks, options);
  if (parent_marks.empty() || own.steps.source() != series::StepSource::kTime) return own;
  options.is_of_parent = true;
  Clocks parents = BuildClocks(MarksDuring(parent_marks, options.begin_time, options.end_time), options);
  // Steps, but not phases: what the parent was doing says nothing about a worker's allocations.
  if (parents.steps.step_count() > 0) {
    own.steps = std::move(parents.steps);
    own.is_of_parent = true;
  }
  return own;
}

// Whether the parent trained on without this worker. A worker is some batches ahead, so its last allocation
// is some steps before the end of a training that it served to the end.
bool EndedBeforeParent(const ProcessPass& pass, const std::vector<replay::TimedMark>& parent_marks) {
  constexpr uint32_t kBatchesAhead = 16;
  const uint64_t end = pass.definitions.last_tsc;
  const auto later_steps = absl::c_count_if(parent_marks, [end](const replay::TimedMark& mark) {
    return mark.tsc > end && mark.kind == trace::MarkKind::kBackwardBegin;
  });
  return later_steps > std::max(kBatchesAhead, pass.clock.step_count() / 5);
}

void Replay(const series::PhaseMap& phases, const ProcessOptions& options, ProcessPass* pass) {
  const series::StepClock& clock = pass->clock;
  const bool has_steps = clock.source() != series::StepSource::kTime;
  replay::ReplayOptions replay_options;
  for (uint32_t bucket = 0; bucket <= clock.last_bucket(); ++bucket) {
    replay_options.bucket_ends.push_back(clock.BucketEnd(bucket));
  }
  // Slices of time have no teardown behind them: the last one goes on to the end.
  if (has_steps) {
    replay_options.last_bucket = clock.last_bucket();
  } else if (!replay_options.bucket_ends.empty()) {
    replay_options.bucket_ends.pop_back();
  }
  for (const series::PhaseSegment& segment : phases.segments()) {
    replay_options.labels.push_back({segment.begin, static_cast<uint8_t>(segment.phase)});
  }
  SeriesFeeder feeder(pass->series.get(), &pass->tensors);
  replay_options.observer = &feeder;
  replay_options.threads = options.threads;
  replay_options.site_of = [pass](Pool pool, uint32_t node) { return pass->site_table->SiteOf(pool, node); };
  pass->device = std::make_unique<DeviceRows>(&pass->definitions, pass->site_table.get(), pass->series.get(),
                                              &pass->tensors, replay_options.last_bucket);
  pass->device_summary = std::make_unique<DeviceSummary>(pass->device.get(), replay_options.last_bucket);
  replay_options.on_device = [pass](const trace::DeviceRecord& record, uint64_t tsc, uint32_t bucket) {
    pass->device_summary->Apply(record, tsc, bucket);
  };
  // Whose pages the workers copied: what lay where when each was forked.
  std::vector<const ForkedWorker*> workers;
  for (const ForkedWorker& worker : options.workers) {
    if (!worker.copied_pages.empty()) workers.push_back(&worker);
  }
  std::stable_sort(workers.begin(), workers.end(),
                   [](const ForkedWorker* a, const ForkedWorker* b) { return a->fork_tsc < b->fork_tsc; });
  series::CopyOnWrite copies;
  for (const ForkedWorker* worker : workers) {
    std::vector<series::CopiedRange> ranges;
    for (const replay::PageRun& run : worker->copied_pages) {
      ranges.push_back(
          {run.first * trace::kCopiedPageBytes, (run.first + run.count) * trace::kCopiedPageBytes});
    }
    copies.AddWorker(std::move(ranges));
    replay_options.snapshot_times.push_back(worker->fork_tsc);
  }
  replay_options.on_snapshot = [&copies](size_t worker, const replay::PlacedBlock& block) {
    copies.AddBlock(worker, block.address, block.bytes, block.weight, block.site);
  };
  const uint32_t last = clock.last_bucket();
  replay_options.on_retained = [&](const replay::LiveView& object) {
    if (object.site >= pass->endings.size()) pass->endings.resize(object.site + 1);
    SiteEnding& ending = pass->endings[object.site];
    const auto phase = object.label == replay::kNoLabel ? series::BirthPhase::kOther
                                                        : static_cast<series::BirthPhase>(object.label);
    pass->breakdown.Add(phase, object.is_tensor, object.object_bytes, object.bytes, object.count);
    ending.phase_bytes[static_cast<size_t>(phase)] += object.bytes;
    ending.variance += object.variance;
    ending.age_bytes[series::AgeBucket(last > object.birth ? last - object.birth : 0)] += object.bytes;
  };
  pass->replay = replay::ReplayHeap(*pass->reader, pass->definitions, replay_options);
  pass->definitions.summary.Add(pass->replay.damage);
  pass->device_summary->Finish();
  pass->input.copy_on_write = copies.Finish();
  pass->endings.resize(pass->site_count());
  for (uint32_t site = 0; site < pass->endings.size(); ++site) {
    for (size_t i = 0; i < series::kBirthPhases; ++i) {
      const double bytes = pass->endings[site].phase_bytes[i];
      if (bytes > 0) pass->series->OnSurvivor(site, static_cast<series::BirthPhase>(i), bytes);
    }
  }
  pass->series->Finish(clock.last_bucket());
}

// "relu" of the outermost at::_ops::relu::call in a stack; empty when no torch operator is in it.
std::string OperatorOf(const std::vector<const Frame*>& stack) {
  constexpr absl::string_view kBegin = "at::_ops::";
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    if (!absl::StartsWith((*frame)->function, kBegin)) continue;
    const absl::string_view rest = absl::string_view((*frame)->function).substr(kBegin.size());
    return std::string(rest.substr(0, rest.find(':')));
  }
  return "";
}

// The operators behind what a site holds, from the few largest stacks of it.
void FindOperators(ProcessPass* pass, uint32_t site) {
  std::vector<std::string>& operators = pass->input.site_info[site].operators;
  for (const uint32_t row : pass->rows.sites[site].holders) {
    if (row == SiteRows::kNone) break;
    std::string name = OperatorOf(pass->names->Stack(pass->Row(row).node));
    if (!name.empty() && !absl::c_linear_search(operators, name)) operators.push_back(std::move(name));
  }
}

void NamePools(ProcessPass* pass) {
  std::vector<verdict::SiteInfo>& sites = pass->input.site_info;
  sites.resize(pass->input.sites->site_count());
  for (size_t site = 0; site < sites.size(); ++site) {
    const bool is_own_pool =
        pass->IsDeviceSite(site) || pass->site_table->sites()[site].pool == Pool::kShared;
    sites[site].pool = is_own_pool ? pass->PoolOf(site) : "host";
  }
}

// All but the pools.
void DescribeSites(ProcessPass* pass) {
  verdict::AnalysisInput& input = pass->input;
  std::vector<uint32_t> order(input.sites->site_count());
  std::iota(order.begin(), order.end(), 0);
  const auto weight = [pass](uint32_t site) {
    if (pass->rows.sites[site].typical == SiteRows::kNone) return 0.0;
    const replay::StackRow row = pass->Row(pass->rows.sites[site].typical);
    return row.live_bytes + row.peak_bytes;
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return weight(a) > weight(b); });
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t site = order[i];
    verdict::SiteInfo& info = input.site_info[site];
    const replay::SiteKey& key = pass->site_table->sites()[site];
    if (i >= kSitesWithStacks || key.location == 0) {
      info.name = key.location == 0 ? "[no stack]" : absl::StrCat("site ", site);
      continue;
    }
    info.name = SiteTitle(pass->names->Shown(key.location));
    const uint32_t typical = pass->rows.sites[site].typical;
    if (typical == SiteRows::kNone) continue;
    for (const Frame* frame : pass->names->Stack(pass->Row(typical).node)) {
      if (info.frames.size() >= kMaxFramesForPatterns) break;
      info.frames.push_back(absl::StrCat(frame->function, " ", frame->file, " ", frame->module));
    }
  }
  for (size_t i = 0; i < std::min(order.size(), kSitesWithOperators); ++i) FindOperators(pass, order[i]);
}

}  // namespace

std::string ProcessPass::PoolOf(size_t site) const {
  const replay::Pool pool = site_table->sites()[site].pool;
  return IsDeviceSite(site) ? device->PoolName(pool) : replay::PoolName(pool);
}

namespace {

std::unique_ptr<replay::SiteTable> MakeSiteTable(const replay::Definitions& definitions,
                                                 replay::SiteRule rule, symbols::Symbolizer* symbolizer) {
  replay::SiteTableOptions options;
  options.rule = rule;
  options.main_program = definitions.Info("exe");
  options.python_line = [](const replay::CodeObject& code, uint32_t offset) {
    return symbols::PythonLine(code.python_version, static_cast<int>(code.first_line), code.line_table,
                               offset);
  };
  options.is_plumbing = [symbolizer](const replay::Module& module, uint64_t offset) {
    return symbols::IsLibraryPlumbing(symbolizer->SymbolAt(module.path, module.build_id, offset));
  };
  return std::make_unique<replay::SiteTable>(&definitions, std::move(options));
}

// Sites are found for the stacks that are merged already, where there are many and another core.
void MergeStacks(int threads, ProcessPass* pass) {
  constexpr size_t kNodesWorthAThread = 100'000;
  const bool has_other_core = threads != 1 && std::thread::hardware_concurrency() > 1;
  if (!has_other_core || pass->definitions.nodes.size() < kNodesWorthAThread)
    return pass->definitions.MergeStacks();
  replay::SettledNodes settled;
  std::jthread follower([&] { pass->site_table->Follow(settled); });
  const absl::Cleanup let_it_end = [&settled] { settled.Set(UINT32_MAX); };  // whatever happens here
  SendToOtherCore(follower.native_handle());
  pass->definitions.MergeStacks(&settled);
}

absl::StatusOr<std::unique_ptr<ProcessPass>> Analyze(const std::string& path, reader::Check check,
                                                     const ProcessOptions& options,
                                                     symbols::Symbolizer* symbolizer) {
  auto pass = std::make_unique<ProcessPass>();
  PLATEAU_ASSIGN_OR_RETURN(pass->reader, reader::TraceReader::Open(path, check));
  SymbolsAhead ahead(symbolizer);
  PLATEAU_ASSIGN_OR_RETURN(pass->definitions, replay::CollectDefinitions(
                                                  *pass->reader, options.threads,
                                                  [&ahead](const auto& known) { ahead.Read(known); },
                                                  replay::MergeStacks::kLater));
  pass->site_table = MakeSiteTable(pass->definitions, options.site_rule, symbolizer);
  MergeStacks(options.threads, pass.get());
  Clocks clocks = ChooseClocks(pass->definitions, pass->reader->NsPerTick(), options.parent_marks);
  pass->clock = std::move(clocks.steps);
  pass->is_worker = clocks.is_of_parent;
  pass->ended_before_parent = EndedBeforeParent(*pass, options.parent_marks);
  pass->names = std::make_unique<FrameNames>(&pass->definitions, symbolizer);
  pass->series = std::make_unique<series::SeriesAccumulator>();

  Replay(clocks.phases, options, pass.get());
  ahead.Stop();
  pass->rows = DigestRows(*pass, options.threads);
  pass->ledger = SamplesOf(*pass);

  verdict::AnalysisInput& input = pass->input;
  input.run = RunOf(*pass, options);
  input.has_python = !pass->definitions.codes.empty();
  input.sites = pass->series.get();
  input.site_bucket_steps = pass->series->bucket_steps();
  input.ledger = pass->ledger;
  for (const ForkedWorker& worker : options.workers) input.workers.push_back(worker.memory);
  input.pools = pass->device->Curves(pass->clock.last_bucket());
  NamePools(pass.get());
  // Sites are judged while symbols are read.
  verdict::SiteJudging judging(&input);
  std::jthread helper([&judging] { judging.Work(); });
  SendToOtherCore(helper.native_handle());
  for (size_t site = 0; site < pass->series->site_count(); ++site) {
    input.site_traits.push_back(pass->series->Traits(site));
  }
  DescribeSites(pass.get());
  judging.Work();
  helper.join();
  pass->analysis = verdict::RunAnalysis(input, judging.Finish());
  return pass;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessPass>> AnalyzeProcess(const std::string& path,
                                                            const ProcessOptions& options,
                                                            symbols::Symbolizer* symbolizer) {
  PLATEAU_ASSIGN_OR_RETURN(auto pass, Analyze(path, reader::Check::kWhenLoaded, options, symbolizer));
  if (!pass->reader->has_unsound_block()) return pass;
  pass.reset();  // again, with the care that finds what is left around the damage
  return Analyze(path, reader::Check::kNow, options, symbolizer);
}

}  // namespace plateau::report
