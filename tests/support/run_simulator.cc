#include "tests/support/run_simulator.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace plateau::report {
namespace {

int AgeBucket(int age) {
  int bucket = 0;
  while (age > 0) {
    age >>= 1;
    ++bucket;
  }
  return std::min(bucket, kAgeBuckets - 1);
}

uint32_t AddFrame(ReportModel& model, const Frame& frame) {
  for (size_t i = 0; i < model.frames.size(); ++i) {
    const Frame& f = model.frames[i];
    if (f.function == frame.function && f.file == frame.file && f.line == frame.line)
      return static_cast<uint32_t>(i);
  }
  model.frames.push_back(frame);
  return static_cast<uint32_t>(model.frames.size() - 1);
}

// The child of `parent` with this frame, made when missing.
int32_t Child(ReportModel& model, int32_t parent, uint32_t frame) {
  for (size_t i = 0; i < model.stacks.size(); ++i) {
    if (model.stacks[i].parent == parent && model.stacks[i].frame == frame) return static_cast<int32_t>(i);
  }
  model.stacks.push_back({.parent = parent, .frame = frame});
  return static_cast<int32_t>(model.stacks.size() - 1);
}

// All of the simulated sites are in one pool.
void AddTensors(ReportModel& model, const Site& site) {
  if (model.tensors.empty()) {
    const size_t buckets = model.axis_steps.size();
    model.tensors.push_back({"host", std::vector<int64_t>(buckets), std::vector<int64_t>(buckets)});
  }
  for (size_t i = 0; i < site.tensor_live_count.size(); ++i) {
    model.tensors[0].live_count[i] += site.tensor_live_count[i];
    model.tensors[0].live_bytes[i] += site.tensor_live_bytes[i];
  }
}

}  // namespace

ReportModel RunSimulator::Finish() const {
  ReportModel model;
  model.tool_version = "0.1.0";
  model.steps.count = steps_;
  model.steps.source = "optimizer";
  model.steps.confidence = 0.98;
  for (int step = 0; step <= steps_; ++step) {
    model.axis_steps.push_back(step);
    model.axis_seconds.push_back(step * seconds_per_step + 4);
  }
  std::vector<double> live(steps_ + 1, 0), in_step(steps_ + 1, 0);
  for (const SimulatedSite& spec : sites_) {
    Site site;
    site.site = absl::StrCat(spec.file, ":", spec.line, " in ", spec.function);
    site.file = spec.file;
    site.line = spec.line;
    site.function = spec.function;
    site.module = spec.module;
    site.pool = spec.pool;
    site.phase = spec.phase;
    site.category = spec.category;
    site.source_line = spec.source_line;
    site.verdict = spec.verdict;
    site.evidence = spec.evidence;
    site.first_step = steps_;
    int64_t held = 0;
    for (int step = 0; step <= steps_; ++step) {
      const auto kept = static_cast<int64_t>(spec.keep(step));
      const auto churned = static_cast<int64_t>(spec.churn(step));
      held += kept;
      site.live_bytes.push_back(held);
      site.survivor_bytes.push_back(kept);
      site.age_bytes[AgeBucket(steps_ - step)] += kept;
      site.retained_bytes += kept;
      site.temporary_bytes += churned;
      site.retained_count += std::llround(kept / spec.object_bytes);
      site.alloc_count += std::llround((kept + churned) / spec.object_bytes);
      if (kept + churned > 0) {
        site.first_step = std::min<double>(site.first_step, step);
        site.last_step = step;
      }
      live[step] += held;
      in_step[step] += held + churned;
    }
    site.alloc_bytes = site.retained_bytes + site.temporary_bytes;
    site.free_count = site.alloc_count - site.retained_count;
    if (spec.tensors) {
      site.tensor_count = site.retained_count;
      site.tensor_bytes = site.retained_bytes;
      site.tensor_live_bytes = site.live_bytes;
      for (const int64_t bytes : site.live_bytes)
        site.tensor_live_count.push_back(std::llround(bytes / spec.object_bytes));
      AddTensors(model, site);
    }
    const int window = std::max(1, steps_ / 3);
    const double grown = site.live_bytes[steps_] - site.live_bytes[steps_ - window];
    site.growth_bytes_per_step = grown / window;
    if (grown > 0) {
      site.growth_interval = Interval{site.growth_bytes_per_step * 0.96, site.growth_bytes_per_step * 1.04};
    }
    site.numbers = {{"retained_bytes", static_cast<double>(site.retained_bytes)},
                    {"growth_bytes_per_step", site.growth_bytes_per_step}};
    model.sites.push_back(std::move(site));
  }

  const int peak_step = static_cast<int>(std::max_element(in_step.begin(), in_step.end()) - in_step.begin());
  model.totals.peak_step = peak_step;
  const uint32_t start = AddFrame(model, {"_start", "", 0, "python3", "native"});
  const uint32_t main = AddFrame(model, {"<module>", "train.py", 118, "python3", "python"});
  const uint32_t train = AddFrame(model, {"train", "train.py", 74, "python3", "python"});
  const uint32_t allocate = AddFrame(model, {"malloc", "", 0, "libc.so.6", "native"});
  for (size_t i = 0; i < model.sites.size(); ++i) {
    Site& site = model.sites[i];
    const SimulatedSite& spec = sites_[i];
    site.peak_bytes = site.live_bytes[peak_step] + static_cast<int64_t>(spec.churn(peak_step));
    std::vector<uint32_t> path = {start, main, train};
    path.push_back(AddFrame(model, {spec.function, spec.file, spec.line, spec.module, spec.kind}));
    for (const Frame& frame : spec.callees) path.push_back(AddFrame(model, frame));
    path.push_back(allocate);
    int32_t node = -1;
    for (uint32_t frame : path) node = Child(model, node, frame);
    StackTreeNode& leaf = model.stacks[node];
    leaf.site = static_cast<int32_t>(i);
    leaf.retained_bytes = site.retained_bytes;
    leaf.retained_count = site.retained_count;
    leaf.growth_bytes_per_step = site.growth_bytes_per_step;
    leaf.peak_bytes = site.peak_bytes;
    leaf.temporary_bytes = site.temporary_bytes;
    leaf.alloc_bytes = site.alloc_bytes;
    leaf.alloc_count = site.alloc_count;
    site.stack.assign(path.rbegin(), path.rend());
    const Share share = {"",
                         site.retained_bytes,
                         site.retained_count,
                         site.peak_bytes,
                         site.temporary_bytes,
                         site.growth_bytes_per_step};
    site.threads = {share};
    site.threads[0].name = spec.phase == "data" ? "pin_memory" : "MainThread";
    site.processes = {share};
    site.processes[0].name = "4242 main";
  }

  Leftover no_stack = {
      "[no stack]", "allocated before the shim could walk the stack", 3145729, 811, 3145729, 40000, 3185729,
      1200};
  Leftover elsewhere = {
      "[freed elsewhere]", "freed by a process that was not recorded", -65536, -2, -65536, 0, 0, 0};
  model.leftovers = {no_stack, elsewhere};
  for (const Leftover& leftover : model.leftovers) {
    const int32_t node = Child(model, -1, AddFrame(model, {leftover.name, "", 0, "", "native"}));
    StackTreeNode& leaf = model.stacks[node];
    leaf.retained_bytes = leftover.retained_bytes;
    leaf.retained_count = leftover.retained_count;
    leaf.peak_bytes = leftover.peak_bytes;
    leaf.temporary_bytes = leftover.temporary_bytes;
    leaf.alloc_bytes = leftover.alloc_bytes;
    leaf.alloc_count = leftover.alloc_count;
  }

  Totals& t = model.totals;
  auto add = [&t](const auto& row) {
    t.retained_bytes += row.retained_bytes;
    t.retained_count += row.retained_count;
    t.peak_bytes += row.peak_bytes;
    t.temporary_bytes += row.temporary_bytes;
    t.alloc_bytes += row.alloc_bytes;
    t.alloc_count += row.alloc_count;
  };
  for (const Site& site : model.sites) add(site);
  for (const Leftover& leftover : model.leftovers) add(leftover);
  t.free_bytes = t.alloc_bytes - t.retained_bytes;
  t.free_count = t.alloc_count - t.retained_count;

  for (int step = 0; step <= steps_; ++step) {
    LedgerReading s;
    s.step = step;
    s.time_seconds = model.axis_seconds[step];
    s.live_bytes = static_cast<int64_t>(live[step]) + no_stack.retained_bytes + elsewhere.retained_bytes;
    s.allocator_gap_bytes = static_cast<int64_t>(gap(step));
    s.rss_file_bytes = static_cast<int64_t>(files(step));
    s.rss_shmem_bytes = 8 << 20;
    s.own_bytes = 22 << 20;
    s.unexplained_bytes = static_cast<int64_t>(baseline_rss) - (s.rss_file_bytes > 0 ? 210 << 20 : 0) +
                          (step * 7919 % 13 - 6) * 100000;
    s.rss_anon_bytes = s.live_bytes + s.allocator_gap_bytes + s.own_bytes + s.unexplained_bytes;
    s.rss_bytes = s.rss_anon_bytes + s.rss_file_bytes + s.rss_shmem_bytes;
    s.cgroup_bytes = s.rss_bytes + (64 << 20);
    if (!model.tensors.empty()) {
      s.tensor_bytes = model.tensors[0].live_bytes[step];
      s.tensor_count = model.tensors[0].live_count[step];
    }
    model.ledger.push_back(s);
  }

  for (const SimulatedSite& spec : sites_) {
    auto at = std::find_if(model.breakdown.begin(), model.breakdown.end(),
                           [&](const BreakdownItem& b) { return b.name == spec.category; });
    if (at == model.breakdown.end())
      model.breakdown.push_back({spec.category, 0, 0, "by the phase its bytes are born in"});
  }
  for (const Site& site : model.sites) {
    for (BreakdownItem& item : model.breakdown) {
      if (item.name != site.category) continue;
      item.bytes += site.retained_bytes;
      item.count += site.retained_count;
    }
  }
  model.breakdown.push_back({"[leftovers]", no_stack.retained_bytes + elsewhere.retained_bytes,
                             no_stack.retained_count + elsewhere.retained_count, "belong to no site"});
  std::sort(model.breakdown.begin(), model.breakdown.end(),
            [](const BreakdownItem& a, const BreakdownItem& b) { return a.bytes > b.bytes; });
  SortSites(model);

  RecordingInfo& r = model.recording;
  r.path = "plateau-train-4242";
  r.command = "python train.py --epochs 3";
  r.sample_bytes = 512 << 10;
  r.exact_from_bytes = 16 << 10;
  r.started_utc = "2026-03-02T09:12:44Z";
  r.duration_seconds = model.axis_seconds.back();
  r.ending = "exit 0";
  r.trace_files = 1;
  r.events = static_cast<uint64_t>(t.alloc_count + t.free_count);
  r.trace_bytes = r.events * 6 + 4096;
  r.sources = {"malloc", "mmap", "pymalloc", "torch"};
  r.environment = {{"host", "gpu-box-7"}, {"kernel", "6.1.0"}, {"python", "3.11.2"}, {"torch", "1.13.1"}};
  Process p;
  p.pid = 4242;
  p.parent_pid = 4200;
  p.role = "main";
  p.exe = "/usr/bin/python3.11";
  p.command = r.command;
  p.ending = r.ending;
  p.end_seconds = r.duration_seconds;
  p.retained_bytes = t.retained_bytes;
  p.peak_bytes = t.peak_bytes;
  for (int step = 0; step <= steps_; ++step) {
    const auto churned = static_cast<int64_t>(in_step[step] - live[step]);
    p.peak_rss_bytes = std::max(p.peak_rss_bytes, model.ledger[step].rss_bytes + churned);
  }
  model.processes = {p};
  return model;
}

}  // namespace plateau::report
