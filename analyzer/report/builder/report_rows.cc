#include "analyzer/report/builder/report_rows.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/process/names/site_path.h"
#include "analyzer/report/builder/row_order.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

Share& ShareOf(Site* site, const std::string& process) {
  if (site->processes.empty() || site->processes.back().name != process)
    site->processes.push_back({.name = process});
  return site->processes.back();
}

// What a process that is gone held is free again, so that workers which lived one after the other do not add up.
process::RowAmounts AtTheEnd(const process::ProcessAnalysis& process, process::RowAmounts amounts) {
  if (!process.IsGone()) return amounts;
  amounts.free_count += amounts.retained_count;
  amounts.retained_bytes = amounts.retained_count = 0;
  return amounts;
}

double GrowthOfAll(const process::ProcessAnalysis& process) {
  double sum = 0;
  if (process.IsGone()) return sum;
  for (const verdict::SiteAnalysis& site : process.verdicts.sites) sum += site.growth_bytes_per_step.value;
  return sum;
}

}  // namespace

void ReportRows::AddRows(const process::ProcessAnalysis& process, size_t process_index) {
  const std::string name =
      absl::StrCat(process.trace.reader->header().pid, " ", model_.processes[process_index].role);
  std::vector<int32_t> model_site(process.sites.count(), -1);
  frames_.Release();
  for (const auto& [title, text] : process.sites.names->cells().texts()) source_.Add(title, text);
  model_.sites.reserve(model_.sites.size() + process.sites.count());
  // A site with all its rows: with the first of them that is met, which is its largest.
  const auto site_of = [&](uint32_t site) {
    int32_t& index = model_site[site];
    if (index < 0) {
      index = static_cast<int32_t>(SiteIndex(process, site));
      AddToSite(name, AtTheEnd(process, process.rows.sites[site].sum), &model_.sites[index]);
      if (site < process.verdicts.sites.size() && !process.IsGone()) {
        ShareOf(&model_.sites[index], name).growth_bytes_per_step +=
            process.verdicts.sites[site].growth_bytes_per_step.value;
      }
    }
    return index;
  };
  process::RowAmounts others;  // whose stacks are not in the tree
  uint64_t other_rows = 0;
  double other_growth = GrowthOfAll(process);
  int32_t other_stacks = -1;  // in the tree
  for (const process::SiteRows& site : process.rows.sites) {
    others.Add(AtTheEnd(process, site.sum));
    other_rows += site.summed_rows;
  }
  const size_t max_stacks = options_.with_stacks ? options_.max_stacks : 0;
  size_t stacks = 0;
  for (const uint32_t row_index : OrderRows(process, max_stacks)) {
    const replay::StackRow row = process.memory.Row(row_index);
    const process::RowAmounts amounts = AtTheEnd(process, process::RowAmounts(row));
    const bool is_device = process.sites.IsOfDevice(row.site);
    const double growth = process.IsGone() ? 0 : process.memory.row_growth.Of(process, row_index);
    if (is_device) {
      amounts.AddTo(&LeftoverNamed("[device memory]",
                                   "device and pinned memory has its own pools and is not host memory"),
                    -1);
    }
    if (row.node == 0) {
      amounts.AddTo(&LeftoverNamed("[no stack]", "allocated where the stack could not be walked"));
      AddToTree(tree_.IndexOf("[no stack]"), amounts, growth, -1, is_device);
      other_growth -= growth;
      continue;
    }
    const int32_t site = site_of(row.site);
    if (is_device) AddToSite(name, amounts, &model_.sites[site]);
    if (++stacks <= max_stacks) {
      AddToTree(tree_.IndexOf(process.sites.names->Stack(row.node)), amounts, growth, site, is_device);
      other_growth -= growth;
      if (is_device) continue;
      others.Add(amounts, -1);
      --other_rows;
    } else {
      if (other_stacks < 0) other_stacks = tree_.IndexOf("[other stacks]");
      if (is_device) AddToTree(other_stacks, amounts, 0, -1, is_device);
    }
  }
  if (other_rows > 0 || other_stacks >= 0) {
    StackTreeNode& node = model_.stacks[tree_.IndexOf("[other stacks]")];
    others.AddTo(&node);
    node.growth_bytes_per_step += other_growth;
  }
  for (size_t site = 0; site < process.sites.count(); ++site) {
    if (model_site[site] < 0) continue;
    const auto index = static_cast<size_t>(model_site[site]);
    const bool with_curves = options_.with_details && index < options_.named_sites;
    opinions_.Add(process, site, process_index, index, with_curves, &model_.sites[index]);
  }
}

void ReportRows::AddToSite(const std::string& process_name, const process::RowAmounts& amounts, Site* site) {
  amounts.AddTo(site);
  site->free_count += amounts.free_count;
  Share& share = ShareOf(site, process_name);
  share.retained_bytes += amounts.retained_bytes;
  share.retained_count += amounts.retained_count;
  share.peak_bytes += amounts.peak_bytes;
  share.temporary_bytes += amounts.temporary_bytes;
}

void ReportRows::AddToTree(int32_t node, const process::RowAmounts& amounts, double growth, int32_t site,
                           bool is_device) {
  amounts.AddTo(&model_.stacks[node]);
  model_.stacks[node].growth_bytes_per_step += growth;
  if (site >= 0) model_.stacks[node].site = site;
  if (is_device) amounts.AddTo(&model_.stacks[tree_.IndexOf("[device memory]")], -1);
}

size_t ReportRows::SiteIndex(const process::ProcessAnalysis& process, size_t site) {
  const replay::SiteKey& key = process.sites.table->sites()[site];
  const bool is_named = model_.sites.size() < options_.named_sites;
  const Frame& frame = process.sites.names->Shown(key.location);
  std::string pool = process.PoolOf(site);
  std::string id =
      absl::StrCat(frame.file, "\n", frame.line, "\n", frame.function, "\n", frame.module, "\n", pool);
  const auto [it, is_new] = sites_.try_emplace(std::move(id), model_.sites.size());
  if (!is_new && options_.process.site_rule != replay::SiteRule::kStack) return it->second;
  Site& out = model_.sites.emplace_back();
  out.site = process::SiteTitle(frame);
  out.file = frame.file;
  out.line = frame.line;
  out.function = frame.function;
  out.module = frame.module;
  out.pool = std::move(pool);
  out.source_line = source_.Line(frame.file, frame.line);
  const uint32_t row = process.rows.sites[site].typical;
  if (!is_named || row == process::SiteRows::kNone) return model_.sites.size() - 1;
  const std::vector<const Frame*> stack = process.sites.names->Stack(process.memory.Row(row).node);
  const process::SitePath path = process::PathToAllocation(stack, &frame, process.sites.IsUsers(site));
  if (path.library != nullptr) out.library = process::SiteTitle(*path.library);
  out.is_import = path.is_import;
  if (options_.with_details) {
    for (const Frame* f : stack) out.stack.push_back(frames_.IndexOf(f));
  }
  return model_.sites.size() - 1;
}

void ReportRows::AddExcerpts() {
  constexpr size_t kSites = 12;
  constexpr int kReach = 2;
  for (size_t i = 0; i < model_.sites.size(); ++i) {
    Site& site = model_.sites[i];
    if (i >= kSites && site.site != model_.verdict.site) continue;
    for (std::string& line : source_.Excerpt(site.file, site.line, kReach, &site.excerpt_from))
      site.excerpt.push_back(std::move(line));
    if (site.excerpt.empty()) site.excerpt_from = 0;
    const bool may_go_on = verdict::ToneOf(site.verdict) == verdict::Tone::kGrows ||
                           verdict::ToneOf(site.verdict) == verdict::Tone::kOpen;
    if (!may_go_on || !absl::EndsWith(site.file, ".py")) continue;
    site.stored_at_line = source_.LineThatStores(site.file, site.line);
    if (site.stored_at_line > 0) site.stored_at_text = source_.Line(site.file, site.stored_at_line);
  }
}

Leftover& ReportRows::LeftoverNamed(const char* name, const char* explanation) {
  for (Leftover& leftover : model_.leftovers) {
    if (leftover.name == name) return leftover;
  }
  model_.leftovers.push_back({.name = name, .explanation = explanation});
  return model_.leftovers.back();
}

void ReportRows::AddLeftovers(const process::ProcessAnalysis& process) {
  const trace::Totals& exact = process.trace.definitions.summary.totals;
  model_.totals.free_count += static_cast<int64_t>(exact.free_calls);
  if (process.memory.heap.unknown_frees > 0) {
    LeftoverNamed("[freed elsewhere]",
                  "frees of blocks that were allocated before the recording or were not recorded; their "
                  "size is unknown");
  }
  const uint64_t dropped_events = process.trace.definitions.summary.TotalDroppedEvents();
  if (dropped_events > 0) {
    Leftover& dropped =
        LeftoverNamed("[dropped]", "events that were not recorded; the recording counts them");
    dropped.alloc_count += static_cast<int64_t>(dropped_events);
    dropped.alloc_bytes += static_cast<int64_t>(process.trace.definitions.summary.TotalDroppedBytes());
    StackTreeNode& node = model_.stacks[tree_.IndexOf("[dropped]")];
    node.alloc_count += static_cast<int64_t>(dropped_events);
    node.alloc_bytes += static_cast<int64_t>(process.trace.definitions.summary.TotalDroppedBytes());
  }
  if (exact.alloc_calls == 0) return;
  const int64_t bytes = static_cast<int64_t>(exact.alloc_bytes) - process.rows.heap_alloc_bytes;
  const int64_t calls = static_cast<int64_t>(exact.alloc_calls) - process.rows.heap_alloc_count;
  if (bytes == 0 && calls == 0) return;
  Leftover& rest =
      process.memory.heap.has_sampling
          ? LeftoverNamed("[sampling]", "exact counters minus what the samples stand for")
          : LeftoverNamed("[not recorded]",
                          "exact counters minus the recorded events: blocks that realloc moved, and drops");
  StackTreeNode& node = model_.stacks[tree_.IndexOf(rest.name)];
  rest.alloc_bytes += bytes;
  rest.alloc_count += calls;
  node.alloc_bytes += bytes;
  node.alloc_count += calls;
}

void ReportRows::SumTotals() {
  Totals& t = model_.totals;
  const auto add = [&t](const auto& row) {
    t.retained_bytes += row.retained_bytes;
    t.retained_count += row.retained_count;
    t.peak_bytes += row.peak_bytes;
    t.temporary_bytes += row.temporary_bytes;
    t.alloc_bytes += row.alloc_bytes;
    t.alloc_count += row.alloc_count;
  };
  for (const Site& site : model_.sites) add(site);
  for (const Leftover& leftover : model_.leftovers) add(leftover);
  t.free_bytes =
      t.alloc_bytes - t.retained_bytes;  // the recorder does not know the size of every freed block
}

}  // namespace plateau::report
