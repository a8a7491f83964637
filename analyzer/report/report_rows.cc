#include "analyzer/report/report_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/report/row_order.h"
#include "analyzer/report/whole_number.h"

namespace plateau::report {
namespace {

Share& ShareOf(Site* site, const std::string& process) {
  if (site->processes.empty() || site->processes.back().name != process)
    site->processes.push_back({.name = process});
  return site->processes.back();
}

}  // namespace

// The amounts of one row in whole numbers: everything above it is a sum of these, so every total adds up.
struct ReportRows::Amounts {
  int64_t retained_bytes, retained_count, peak_bytes, temporary_bytes, alloc_bytes, alloc_count, free_count;

  explicit Amounts(const replay::StackRow& row)
      : retained_bytes(Round(row.live_bytes)),
        retained_count(Round(row.live_count)),
        peak_bytes(Round(row.peak_bytes)),
        temporary_bytes(Round(row.temporary_bytes)),
        alloc_bytes(Round(row.alloc_bytes)),
        alloc_count(Round(row.alloc_count)),
        free_count(Round(row.free_count)) {}

  template <typename Row>
  void AddTo(Row* row, int sign = 1) const {
    row->retained_bytes += sign * retained_bytes;
    row->retained_count += sign * retained_count;
    row->peak_bytes += sign * peak_bytes;
    row->temporary_bytes += sign * temporary_bytes;
    row->alloc_bytes += sign * alloc_bytes;
    row->alloc_count += sign * alloc_count;
  }
};

void ReportRows::AddRows(const ProcessPass& pass, size_t process) {
  const std::string name = absl::StrCat(pass.reader->header().pid, " ", model_.processes[process].role);
  std::vector<int32_t> model_site(pass.site_count(), -1);
  const auto add = [&](uint32_t row_index, bool with_stack) {
    const replay::StackRow& row = pass.Row(row_index);
    const Amounts amounts(row);
    const bool is_device = pass.IsDeviceSite(row.site);
    if (is_device)
      amounts.AddTo(&LeftoverNamed("[device memory]",
                                   "device and pinned memory has its own pools and is not host memory"),
                    -1);
    if (row.node == 0) {
      amounts.AddTo(&LeftoverNamed("[no stack]", "allocated where the stack could not be walked"));
      AddToTree({{.function = "[no stack]"}}, amounts, -1, is_device);
      return;
    }
    int32_t& site_index = model_site[row.site];
    if (site_index < 0) site_index = static_cast<int32_t>(SiteIndex(pass, row.site));
    Site& site = model_.sites[site_index];
    amounts.AddTo(&site);
    site.free_count += amounts.free_count;
    Share& share = ShareOf(&site, name);
    share.retained_bytes += amounts.retained_bytes;
    share.retained_count += amounts.retained_count;
    share.peak_bytes += amounts.peak_bytes;
    share.temporary_bytes += amounts.temporary_bytes;
    if (with_stack) {
      AddToTree(pass.names->Stack(row.node), amounts, site_index, is_device);
    } else if (is_device) {
      AddToTree({{.function = "[other stacks]"}}, amounts, -1, is_device);
    } else {
      if (other_stacks_ < 0) other_stacks_ = tree_.IndexOf({{.function = "[other stacks]"}});
      amounts.AddTo(&model_.stacks[other_stacks_]);
    }
  };
  const RowOrder order = OrderRows(pass, options_.with_stacks ? options_.max_stacks : 0);
  size_t leaves = 0;
  for (const uint32_t row : order.first) add(row, pass.Row(row).node != 0 && ++leaves <= order.with_stack);
  for (const uint32_t row : order.rest) add(row, false);
  for (size_t site = 0; site < pass.site_count(); ++site) {
    if (model_site[site] < 0) continue;
    const auto index = static_cast<size_t>(model_site[site]);
    opinions_.Add(pass, site, process, index, /*with_curves=*/index < options_.named_sites,
                  &model_.sites[index]);
  }
}

void ReportRows::AddToTree(const std::vector<Frame>& stack, const Amounts& amounts, int32_t site,
                           bool is_device) {
  StackNode& node = tree_.At(stack);
  amounts.AddTo(&node);
  if (site >= 0) node.site = site;
  if (is_device) amounts.AddTo(&tree_.At({{.function = "[device memory]"}}), -1);
}

size_t ReportRows::SiteIndex(const ProcessPass& pass, size_t site) {
  const replay::SiteKey& key = pass.site_table->sites()[site];
  const bool is_named = model_.sites.size() < options_.named_sites;
  const Frame frame = pass.names->Shown(key.location);
  const std::string pool = pass.PoolOf(site);
  const std::string id =
      absl::StrCat(frame.file, "\n", frame.line, "\n", frame.function, "\n", frame.module, "\n", pool);
  const auto [it, is_new] = sites_.try_emplace(id, model_.sites.size());
  if (!is_new && options_.process.site_rule != replay::SiteRule::kStack) return it->second;
  Site out;
  out.site = SiteTitle(frame);
  out.file = frame.file;
  out.line = frame.line;
  out.function = frame.function;
  out.module = frame.module;
  out.pool = pool;
  if (is_named) {
    out.source_line = source_.Line(frame.file, frame.line);
    const uint32_t row = pass.typical_stack[site];
    if (row != UINT32_MAX) {
      for (const Frame& f : pass.names->Stack(pass.Row(row).node)) out.stack.push_back(frames_.IndexOf(f));
    }
  }
  model_.sites.push_back(std::move(out));
  return model_.sites.size() - 1;
}

Leftover& ReportRows::LeftoverNamed(const char* name, const char* explanation) {
  for (Leftover& leftover : model_.leftovers) {
    if (leftover.name == name) return leftover;
  }
  model_.leftovers.push_back({.name = name, .explanation = explanation});
  return model_.leftovers.back();
}

void ReportRows::AddLeftovers(const ProcessPass& pass) {
  const trace::Totals& exact = pass.definitions.summary.totals;
  model_.totals.free_count += static_cast<int64_t>(exact.free_calls);
  if (pass.replay.unknown_frees > 0) {
    LeftoverNamed("[freed elsewhere]",
                  "frees of blocks that were allocated before the recording or were not recorded; their "
                  "size is unknown");
  }
  const uint64_t dropped_events = pass.definitions.summary.TotalDroppedEvents();
  if (dropped_events > 0) {
    Leftover& dropped =
        LeftoverNamed("[dropped]", "events that were not recorded; the recording counts them");
    dropped.alloc_count += static_cast<int64_t>(dropped_events);
    dropped.alloc_bytes += static_cast<int64_t>(pass.definitions.summary.TotalDroppedBytes());
    StackNode& node = tree_.At({{.function = "[dropped]"}});
    node.alloc_count += static_cast<int64_t>(dropped_events);
    node.alloc_bytes += static_cast<int64_t>(pass.definitions.summary.TotalDroppedBytes());
  }
  if (exact.alloc_calls == 0) return;
  int64_t bytes = static_cast<int64_t>(exact.alloc_bytes), calls = static_cast<int64_t>(exact.alloc_calls);
  for (const replay::StackRow& row : pass.replay.stacks) {
    if (row.pool != replay::Pool::kHeap) continue;
    bytes -= Round(row.alloc_bytes);
    calls -= Round(row.alloc_count);
  }
  if (bytes == 0 && calls == 0) return;
  Leftover& rest =
      pass.replay.has_sampling
          ? LeftoverNamed("[sampling]", "exact counters minus what the samples stand for")
          : LeftoverNamed("[not recorded]",
                          "exact counters minus the recorded events: blocks that realloc moved, and drops");
  StackNode& node = tree_.At({{.function = rest.name}});
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
