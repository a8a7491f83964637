#include "analyzer/process/judge_process.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analyzer/process/attached_run.h"
#include "analyzer/process/names/site_path.h"
#include "analyzer/process/started_threads.h"
#include "analyzer/verdict/site_judging.h"
#include "analyzer/verdict/words/sentence.h"

namespace plateau::process {
namespace {

// Sites whose whole stack is symbolized for the patterns; the others are judged by their own frame.
constexpr size_t kSitesWithStacks = 400;
constexpr size_t kMaxFramesForPatterns = 80;
constexpr size_t kSitesWithOperators = 50;

// "relu" of the outermost at::_ops::relu::call in a stack; empty when no torch operator is in it.
std::string OperatorOf(const std::vector<const symbols::Frame*>& stack) {
  constexpr absl::string_view kBegin = "at::_ops::";
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    if (!absl::StartsWith((*frame)->function, kBegin)) continue;
    const absl::string_view rest = absl::string_view((*frame)->function).substr(kBegin.size());
    return std::string(rest.substr(0, rest.find(':')));
  }
  return "";
}

class SiteDescriber {
 public:
  SiteDescriber(const ProcessSites& sites, const ProcessMemory& memory, const RowDigest& rows,
                std::vector<verdict::SiteInfo>* info)
      : sites_(sites), memory_(memory), rows_(rows), info_(*info) {}

  void NamePools() {
    for (size_t site = 0; site < info_.size(); ++site) {
      const bool has_own_pool = sites_.IsOfDevice(site) || sites_.pool(site) == replay::Pool::kShared;
      info_[site].pool = has_own_pool ? memory_.PoolName(sites_.pool(site)) : "host";
    }
  }

  // Gives the largest sites their titles, stacks and operators.
  void NameSites() {
    const std::vector<uint32_t> order = LargestFirst();
    for (size_t i = 0; i < order.size(); ++i) NameSite(order[i], i < kSitesWithStacks);
    for (size_t i = 0; i < std::min(order.size(), kSitesWithOperators); ++i) FindOperators(order[i]);
  }

 private:
  std::vector<uint32_t> LargestFirst() const {
    std::vector<uint32_t> order(info_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto weight = [this](uint32_t site) {
      if (rows_.sites[site].typical == SiteRows::kNone) return 0.0;
      const replay::StackRow row = memory_.Row(rows_.sites[site].typical);
      return row.live_bytes + row.peak_bytes;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return weight(a) > weight(b); });
    return order;
  }

  void NameSite(uint32_t site, bool with_stack) {
    verdict::SiteInfo& info = info_[site];
    const uint32_t location = sites_.table->sites()[site].location;
    if (!with_stack || location == 0) {
      info.name = location == 0 ? "[no stack]" : absl::StrCat("site ", site);
      return;
    }
    info.name = SiteTitle(sites_.names->Shown(location));
    const uint32_t typical = rows_.sites[site].typical;
    if (typical == SiteRows::kNone) return;
    const std::vector<const symbols::Frame*> stack = sites_.names->Stack(memory_.Row(typical).node);
    info.is_import = PathToAllocation(stack, &sites_.names->Shown(location), sites_.IsUsers(site)).is_import;
    for (const symbols::Frame* frame : stack) {
      if (info.frames.size() >= kMaxFramesForPatterns) break;
      info.frames.push_back(absl::StrCat(frame->function, " ", frame->file, " ", frame->module));
    }
  }

  // The operators behind what a site holds, from the few largest stacks of it.
  void FindOperators(uint32_t site) {
    std::vector<std::string>& operators = info_[site].operators;
    for (const uint32_t row : rows_.sites[site].holders) {
      if (row == SiteRows::kNone) break;
      std::string name = OperatorOf(sites_.names->Stack(memory_.Row(row).node));
      if (!name.empty() && !absl::c_linear_search(operators, name)) operators.push_back(std::move(name));
    }
  }

  const ProcessSites& sites_;
  const ProcessMemory& memory_;
  const RowDigest& rows_;
  std::vector<verdict::SiteInfo>& info_;
};

// What of the process the trace does not have. Lost events are another matter: they have a rate, and sites are
// judged with it.
std::vector<std::string> NotCovered(const replay::Definitions& definitions, bool has_whole_ledger) {
  std::vector<std::string> out;
  if (!has_whole_ledger)
    out.push_back(
        "resident memory could not be read to the end, so growth beside recorded blocks is not known");
  const uint64_t blocks = definitions.summary.gap_blocks + definitions.summary.damaged_blocks;
  if (blocks > 0) {
    out.push_back(absl::StrCat(blocks, blocks == 1 ? " block" : " blocks",
                               " of the trace could not be read, and what they held may be what grows"));
  }
  // Another malloc stands before ours.
  if (absl::string_view malloc = definitions.Info("malloc"); !malloc.empty()) {
    absl::ConsumePrefix(&malloc, "not traced: ");
    out.emplace_back(malloc);
  }
  return out;
}

// Whether there are readings of the ledger up to where the run ends. Those of its beginning alone would rule out what
// came later.
bool HasWholeLedger(const ProcessTrace& trace, const ProcessClock& clock, const ProcessRun& run) {
  constexpr double kWholeShare = 0.75;
  if (trace.unread_memory.readings == 0) return true;
  return !run.ledger.empty() && run.ledger.back().step >= kWholeShare * clock.steps.last_bucket();
}

// Names the allocators behind the maps of libraries; their growth is that of the sites that made these maps.
std::vector<series::BundledAllocator> AllocatorsOf(const ProcessSites& sites, const ProcessMemory& memory,
                                                   const verdict::Analysis& analysis) {
  std::vector<series::BundledAllocator> out;
  for (const LargeRegions::LibraryMaps& maps : memory.regions.libraries()) {
    series::BundledAllocator allocator = maps.allocator;
    std::vector<std::string> functions;
    for (const symbols::Frame* frame : sites.names->Stack(maps.node)) functions.push_back(frame->function);
    NameAllocator(functions, &allocator);
    for (const uint32_t site : allocator.sites) {
      if (allocator.grown_bytes > 0 && site < analysis.sites.size())
        allocator.rate_bytes_per_step += analysis.sites[site].growth_bytes_per_step.value;
    }
    out.push_back(std::move(allocator));
  }
  return out;
}

// The verdicts of sites and of what the process is made of are two copies.
void JudgeSitesFromWithin(const series::StepClock& clock, bool misses_frees, verdict::JudgedSites* judged) {
  for (const verdict::PoolContext& pool : judged->pools) {
    for (const size_t site : pool.sites) {
      verdict::Verdict& verdict = judged->sites[site].verdict;
      if (JudgeFromWithin(clock, pool.run, misses_frees, &verdict)) verdict::Explain(pool.run, &verdict);
    }
  }
  for (verdict::PoolContext& pool : judged->pools) {
    for (verdict::SiteFinding& finding : pool.findings) {
      if (JudgeFromWithin(clock, pool.run, misses_frees, &finding.verdict))
        verdict::Explain(pool.run, &finding.verdict);
    }
  }
}

}  // namespace

verdict::Analysis JudgeProcess(const ProcessTrace& trace, const ProcessSites& sites,
                               const ProcessClock& clock, const ProcessMemory& memory, const RowDigest& rows,
                               const ProcessRun& run, const SiteHolders& holders,
                               const std::vector<ForkedWorker>& workers) {
  verdict::AnalysisInput input;
  input.run = run.context;
  input.has_python = !trace.definitions.codes.empty();
  input.sites = memory.series.get();
  input.site_bucket_steps = memory.series->bucket_steps();
  const bool has_whole_ledger = HasWholeLedger(trace, clock, run);
  if (has_whole_ledger) input.ledger = run.ledger;
  for (const ForkedWorker& worker : workers) input.workers.push_back(worker.memory);
  input.pools = memory.device->Curves(clock.steps.last_bucket());
  input.copy_on_write = memory.copy_on_write;
  input.not_covered = NotCovered(trace.definitions, has_whole_ledger);
  input.reservations = memory.regions.sites();
  input.holdings = holders.sites;
  input.keeps_despite_loss = KeepsDespiteLoss(memory.heap.stacks, run.context);
  for (const series::PinningSite& pin : memory.holes.sites) {
    if (pin.site >= input.hole_bytes.size()) input.hole_bytes.resize(pin.site + 1);
    input.hole_bytes[pin.site] += pin.hole_bytes;
  }
  input.started_threads = ThreadsByStarter(trace, sites, clock);
  input.site_info.resize(memory.series->site_count());
  SiteDescriber describer(sites, memory, rows, &input.site_info);
  describer.NamePools();

  // Sites are judged while their symbols are read; judging them needs no more than the names of their pools.
  verdict::SiteJudging judging(&input);
  std::jthread helper([&judging] { judging.Work(); });
  for (size_t site = 0; site < memory.series->site_count(); ++site) {
    input.site_traits.push_back(memory.series->Traits(site));
  }
  describer.NameSites();
  judging.Work();
  helper.join();
  verdict::JudgedSites judged = judging.Finish();
  const bool misses_frees = MissesFrees(memory.heap);
  if (IsAttached(trace)) JudgeSitesFromWithin(clock.steps, misses_frees, &judged);
  verdict::Analysis analysis = verdict::RunAnalysis(input, std::move(judged));
  verdict::Verdict& headline = analysis.process.headline;
  if (IsAttached(trace) && JudgeFromWithin(clock.steps, run.context, misses_frees, &headline))
    verdict::Explain(run.context, &headline);
  analysis.allocators = AllocatorsOf(sites, memory, analysis);
  analysis.ledger = series::Decompose(run.ledger);  // also what is not judged
  return analysis;
}

}  // namespace plateau::process
