#include "analyzer/report/page/page_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/ledger_span.h"
#include "analyzer/report/model_json.h"
#include "analyzer/report/page/downsample.h"

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

// Three digits after the point are plenty for steps and seconds, and keep the page small.
double Rounded(double value) { return std::round(value * 1000) / 1000; }

Json LedgerColumns(const std::vector<LedgerReading>& rows) {
  Json out = Json::object();
  Json step = Json::array(), time = Json::array();
  for (const LedgerReading& row : rows) {
    step.push_back(Rounded(row.step));
    time.push_back(Rounded(row.time_seconds));
  }
  out["step"] = std::move(step);
  out["time"] = std::move(time);
  auto column = [&](const char* name, int64_t LedgerReading::*field) {
    if (std::all_of(rows.begin(), rows.end(), [&](const LedgerReading& row) { return row.*field == 0; }))
      return;
    Json values = Json::array();
    for (const LedgerReading& row : rows) values.push_back(row.*field);
    out[name] = std::move(values);
  };
  column("live", &LedgerReading::live_bytes);
  column("rss", &LedgerReading::rss_bytes);
  column("anon", &LedgerReading::rss_anon_bytes);
  column("file", &LedgerReading::rss_file_bytes);
  column("shmem", &LedgerReading::rss_shmem_bytes);
  column("gap", &LedgerReading::allocator_gap_bytes);
  column("own", &LedgerReading::own_bytes);
  column("pinned", &LedgerReading::pinned_bytes);
  column("device_live", &LedgerReading::device_live_bytes);
  column("device_reserved", &LedgerReading::device_reserved_bytes);
  column("cgroup", &LedgerReading::cgroup_bytes);
  column("unexplained", &LedgerReading::unexplained_bytes);
  column("tensors", &LedgerReading::tensor_bytes);
  column("tensor_count", &LedgerReading::tensor_count);
  return out;
}

// Indices of the sites to show: the largest in any metric, in the model's order.
std::vector<size_t> MostImportant(const std::vector<Site>& sites, size_t count) {
  std::vector<size_t> all(sites.size());
  std::iota(all.begin(), all.end(), 0);
  if (all.size() <= count) return all;
  double retained = 1, growth = 1e-9, peak = 1, temporary = 1;
  for (const Site& site : sites) {
    retained = std::max(retained, static_cast<double>(site.retained_bytes));
    growth = std::max(growth, std::fabs(site.growth_bytes_per_step));
    peak = std::max(peak, static_cast<double>(site.peak_bytes));
    temporary = std::max(temporary, static_cast<double>(site.temporary_bytes));
  }
  auto score = [&](size_t i) {
    const Site& site = sites[i];
    return std::max({site.retained_bytes / retained, std::fabs(site.growth_bytes_per_step) / growth,
                     site.peak_bytes / peak, site.temporary_bytes / temporary});
  };
  std::nth_element(all.begin(), all.begin() + count, all.end(), [&](size_t a, size_t b) {
    const double x = score(a), y = score(b);
    return x != y ? x > y : a < b;
  });
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

class StringTable {
 public:
  size_t Index(const std::string& text) {
    const auto [at, added] = index_.try_emplace(text, strings_.size());
    if (added) strings_.push_back(text);
    return at->second;
  }
  Json Take() { return Json(std::move(strings_)); }

 private:
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<std::string> strings_;
};

// Frames that pruned stacks and shown sites use, renumbered.
class FrameTable {
 public:
  explicit FrameTable(const std::vector<Frame>& frames) : frames_(frames), new_index_(frames.size(), -1) {}

  int Index(uint32_t frame) {
    if (frame >= frames_.size()) return Smaller();
    if (new_index_[frame] < 0) new_index_[frame] = Add(frames_[frame]);
    return new_index_[frame];
  }

  int Smaller() {
    if (smaller_ < 0) smaller_ = Add(Frame{.function = "[smaller stacks]", .kind = "leftover"});
    return smaller_;
  }

  Json Take() {
    return {{"strings", strings_.Take()}, {"function", function_}, {"file", file_}, {"line", line_},
            {"module", module_},          {"kind", kind_}};
  }

 private:
  int Add(const Frame& frame) {
    function_.push_back(strings_.Index(frame.function));
    file_.push_back(strings_.Index(frame.file));
    line_.push_back(frame.line);
    module_.push_back(strings_.Index(frame.module));
    kind_.push_back(strings_.Index(frame.kind));
    return static_cast<int>(function_.size()) - 1;
  }

  const std::vector<Frame>& frames_;
  std::vector<int> new_index_;
  int smaller_ = -1;
  StringTable strings_;
  std::vector<size_t> function_, file_, module_, kind_;
  std::vector<int> line_;
};

// The paths of one site: what the page draws as chains of chips.
Json HoldersToJson(const std::vector<HolderPath>& paths) {
  Json rows = Json::array();
  for (const HolderPath& path : paths) {
    Json links = Json::array(), step = Json::array(), items = Json::array();
    for (const HolderLink& link : path.links) links.push_back(Json::array({link.kind, link.text}));
    for (const ContainerReading& reading : path.lengths) {
      step.push_back(Rounded(reading.step));
      items.push_back(reading.items);
    }
    Json row = {{"text", path.text},   {"end", path.end},
                {"root", path.root},   {"share", Rounded(path.share)},
                {"bytes", path.bytes}, {"links", std::move(links)}};
    if (!path.container.empty()) {
      row["container"] = path.container;
      row["type"] = path.container_type;
      row["container_links"] = path.container_links;
    }
    if (!path.lengths.empty()) {
      row["step"] = std::move(step);
      row["items"] = std::move(items);
    }
    if (path.bound.has_value()) row["bound"] = *path.bound;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json SitesToJson(const std::vector<Site>& sites, const std::vector<size_t>& shown, FrameTable& frames) {
  Json rows = Json::array();
  for (size_t index : shown) {
    const Site& s = sites[index];
    Json stack = Json::array();
    for (uint32_t frame : s.stack) stack.push_back(frames.Index(frame));
    Json row = {{"site", s.site}, {"retained", s.retained_bytes}, {"count", s.retained_count}};
    // Fields at their default are left out; the page knows the defaults.
    auto text = [&](const char* name, const std::string& value) {
      if (!value.empty()) row[name] = value;
    };
    auto number = [&](const char* name, double value) {
      if (value != 0) row[name] = value;
    };
    auto integer = [&](const char* name, int64_t value) {
      if (value != 0) row[name] = value;
    };
    text("file", s.file);
    integer("line", s.line);
    text("function", s.function);
    text("module", s.module);
    if (s.pool != "host") text("pool", s.pool);
    text("phase", s.phase);
    text("category", s.category);
    text("source", s.source_line);
    if (!s.excerpt.empty()) {
      row["excerpt"] = s.excerpt;
      integer("excerpt_from", s.excerpt_from);
    }
    text("library", s.library);
    if (s.is_import) row["import"] = true;
    text("verdict", s.verdict);
    text("evidence", s.evidence);
    number("growth", s.growth_bytes_per_step);
    if (s.growth_interval.has_value()) {
      row["growth_interval"] = Json::array({s.growth_interval->low, s.growth_interval->high});
    }
    integer("peak", s.peak_bytes);
    integer("temporary", s.temporary_bytes);
    integer("alloc_bytes", s.alloc_bytes);
    integer("alloc_count", s.alloc_count);
    integer("tensors", s.tensor_count);
    integer("tensor_bytes", s.tensor_bytes);
    if (std::any_of(s.age_bytes.begin(), s.age_bytes.end(), [](int64_t b) { return b != 0; })) {
      row["ages"] = s.age_bytes;
    }
    if (!s.held_by.empty()) row["held_by"] = HoldersToJson(s.held_by);
    number("garbage_share", s.garbage_share);
    number("not_found_share", s.not_found_share);
    if (s.look_was_cut) row["look_was_cut"] = true;
    row["stack"] = std::move(stack);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json RestOfSites(const ReportModel& model, const std::vector<size_t>& shown) {
  Leftover rest;
  int64_t count = 0;
  size_t next = 0;
  for (size_t i = 0; i < model.sites.size(); ++i) {
    if (next < shown.size() && shown[next] == i) {
      ++next;
      continue;
    }
    ++count;
    rest.retained_bytes += model.sites[i].retained_bytes;
    rest.retained_count += model.sites[i].retained_count;
    rest.peak_bytes += model.sites[i].peak_bytes;
    rest.temporary_bytes += model.sites[i].temporary_bytes;
  }
  return {{"sites", count},
          {"retained", rest.retained_bytes},
          {"count", rest.retained_count},
          {"peak", rest.peak_bytes},
          {"temporary", rest.temporary_bytes}};
}

Json SeriesToJson(const ReportModel& model, const std::vector<size_t>& shown, const PageLimits& limits) {
  const std::vector<size_t> starts = BucketStarts(model.axis_steps.size(), limits.series_points);
  Json steps = Json::array(), seconds = Json::array();
  for (size_t start : starts) {
    steps.push_back(Rounded(model.axis_steps[start]));
    if (start < model.axis_seconds.size()) seconds.push_back(Rounded(model.axis_seconds[start]));
  }
  // Curves for the sites that held most at any time; all others are one curve.
  std::vector<std::pair<int64_t, size_t>> by_height;
  for (size_t row = 0; row < shown.size(); ++row) {
    const std::vector<int64_t>& live = model.sites[shown[row]].live_bytes;
    if (!live.empty()) by_height.emplace_back(-*std::max_element(live.begin(), live.end()), row);
  }
  std::sort(by_height.begin(), by_height.end());
  if (by_height.size() > limits.series_sites) by_height.resize(limits.series_sites);
  std::vector<bool> own_curve(model.sites.size(), false);
  Json curves = Json::array();
  for (const auto& [height, row] : by_height) {
    const Site& site = model.sites[shown[row]];
    own_curve[shown[row]] = true;
    Json curve = {{"row", row},
                  {"live", LastOfBuckets(site.live_bytes, starts)},
                  {"survivors", SumBuckets(site.survivor_bytes, starts)}};
    if (!site.tensor_live_count.empty()) {
      curve["tensors"] = LastOfBuckets(site.tensor_live_count, starts);
    }
    curves.push_back(std::move(curve));
  }
  std::vector<int64_t> others(model.axis_steps.size(), 0);
  for (size_t i = 0; i < model.sites.size(); ++i) {
    if (own_curve[i]) continue;
    const std::vector<int64_t>& live = model.sites[i].live_bytes;
    for (size_t k = 0; k < live.size() && k < others.size(); ++k) others[k] += live[k];
  }
  return {{"step", steps}, {"time", seconds}, {"curves", curves}, {"others", LastOfBuckets(others, starts)}};
}

Json StacksToJson(const ReportModel& model, const std::vector<size_t>& shown, const PageLimits& limits,
                  FrameTable& frames) {
  const auto smaller = static_cast<uint32_t>(model.frames.size());
  const std::vector<StackTreeNode> nodes = PruneStacks(model.stacks, limits.stack_nodes, smaller);
  std::vector<int> row_of(model.sites.size(), -1);
  for (size_t row = 0; row < shown.size(); ++row) row_of[shown[row]] = static_cast<int>(row);
  Json parent = Json::array(), frame = Json::array(), site = Json::array(), retained = Json::array(),
       growth = Json::array(), peak = Json::array(), temporary = Json::array();
  for (const StackTreeNode& node : nodes) {
    parent.push_back(node.parent);
    frame.push_back(frames.Index(node.frame));
    const bool known = node.site >= 0 && static_cast<size_t>(node.site) < row_of.size();
    site.push_back(known ? row_of[node.site] : -1);
    retained.push_back(node.retained_bytes);
    growth.push_back(Rounded(node.growth_bytes_per_step));
    peak.push_back(node.peak_bytes);
    temporary.push_back(node.temporary_bytes);
  }
  return {{"all", model.stacks.size()}, {"parent", parent}, {"frame", frame}, {"site", site},
          {"retained", retained},       {"growth", growth}, {"peak", peak},   {"temporary", temporary}};
}

}  // namespace

nlohmann::ordered_json BuildPageData(const ReportModel& model, const PageLimits& limits) {
  FrameTable frames(model.frames);
  const std::vector<size_t> shown = MostImportant(model.sites, limits.sites);
  Json out;
  out["report"] = SummaryToJson(model);
  out["ledger"] = LedgerColumns(ThinLedger(model.ledger, limits.ledger_rows));
  out["ledger_readings"] = model.ledger.size();
  out["gap_estimated"] = std::any_of(model.ledger.begin(), model.ledger.end(),
                                     [](const LedgerReading& s) { return s.allocator_gap_is_estimated; });
  if (const LedgerSpan span = SpanOf(model); !span.empty()) {
    const LedgerReading &first = model.ledger[span.begin], &last = model.ledger[span.end - 1];
    out["span"] = {{"live_from", first.live_bytes},
                   {"live_to", last.live_bytes},
                   {"live_peak", span.live_peak_bytes},
                   {"rss_from", first.rss_bytes},
                   {"rss_to", last.rss_bytes},
                   {"gap", last.allocator_gap_bytes},
                   {"gap_estimated", last.allocator_gap_is_estimated}};
  }
  out["series"] = SeriesToJson(model, shown, limits);
  out["sites"] = SitesToJson(model.sites, shown, frames);
  out["rest"] = RestOfSites(model, shown);
  out["stacks"] = StacksToJson(model, shown, limits, frames);
  out["frames"] = frames.Take();
  return out;
}

}  // namespace plateau::report
