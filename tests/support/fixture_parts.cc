#include "tests/support/fixture_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plateau::report {
namespace {

constexpr double kMiB = 1 << 20;

}  // namespace

std::vector<Frame> TensorFrames(const std::string& op) {
  return {{op, "", 0, "libtorch_cpu.so", "op"},
          {"at::native::empty_cpu", "", 0, "libtorch_cpu.so", "native"},
          {"c10::alloc_cpu", "", 0, "libc10.so", "native"}};
}

void AddNetwork(RunSimulator& run) {
  auto once = [](int when, double bytes) { return [=](int step) { return step == when ? bytes : 0.0; }; };
  run.Add({.function = "build_model",
           .file = "model.py",
           .line = 31,
           .phase = "setup",
           .category = "parameters",
           .source_line = "    return VisionTransformer(depth=12, dim=384)",
           .evidence = "born before the first step",
           .callees = TensorFrames("aten::empty"),
           .keep = once(0, 346 * kMiB),
           .tensors = true});
  run.Add({.function = "train_step",
           .file = "train.py",
           .line = 51,
           .phase = "backward",
           .category = "gradients",
           .source_line = "        loss.backward()",
           .verdict = "warmup_complete",
           .evidence = "346 MiB born in step 1, nothing kept since",
           .callees = TensorFrames("aten::empty_like"),
           .keep = once(1, 346 * kMiB),
           .churn = [](int step) { return step > 0 ? 120 * kMiB : 0; },
           .tensors = true});
  run.Add({.function = "train_step",
           .file = "train.py",
           .line = 53,
           .phase = "optimizer",
           .category = "optimizer state",
           .source_line = "        optimizer.step()",
           .verdict = "warmup_complete",
           .evidence = "692 MiB born in step 1, twice the parameters: Adam's moments",
           .callees = TensorFrames("aten::zeros_like"),
           .keep = once(1, 692 * kMiB),
           .tensors = true});
  run.Add({.function = "forward",
           .file = "model.py",
           .line = 88,
           .category = "activations",
           .source_line = "        x = block(x)",
           .evidence = "lives at most 1 step",
           .callees = TensorFrames("aten::addmm"),
           .churn = [](int step) { return step > 0 ? 512 * kMiB : 0; },
           .tensors = true});
  run.Add({.function = "collate",
           .file = "data.py",
           .line = 40,
           .phase = "data",
           .category = "batch data",
           .source_line = "    return torch.stack(images)",
           .evidence = "lives at most 2 steps",
           .callees = TensorFrames("aten::stack"),
           .churn = [](int step) { return step > 0 ? 24 * kMiB : 0; },
           .tensors = true});
  run.Add({.function = "read",
           .file = "/usr/lib/python3.11/codecs.py",
           .line = 322,
           .phase = "data",
           .category = "other",
           .evidence = "lives at most 1 step",
           .churn = [](int step) { return step > 0 ? 3 * kMiB : 0; },
           .object_bytes = 4096});
}

void AddEpochs(ReportModel& model, double steps_per_epoch) {
  model.steps.steps_per_epoch = steps_per_epoch;
  const double last = static_cast<double>(model.steps.count);
  const double seconds = model.recording.duration_seconds / std::max(1.0, last);
  int number = 1;
  for (double from = 0; from < last; from += steps_per_epoch, ++number) {
    const double to = std::min(last, from + steps_per_epoch);
    model.phases.push_back({"epoch", absl::StrCat("epoch ", number), from, to, from * seconds, to * seconds});
    if (from + steps_per_epoch <= last) model.steps.epoch_ends.push_back(to);
  }
}

void AddPhase(ReportModel& model, const std::string& kind, const std::string& label, double from, double to) {
  const double seconds = model.recording.duration_seconds / std::max<double>(1, model.steps.count);
  model.phases.push_back({kind, label, from, to, from * seconds, to * seconds});
}

void AddUsualSuspects(ReportModel& model, const std::vector<std::string>& not_ruled_out) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"dataset loading", "data sites hold 0 B older than 2 steps"},
      {"gradient accumulation", "gradients born in step 1 only, 346 MiB since"},
      {"optimizer state", "692 MiB since step 1, twice the parameters, no growth"},
      {"evaluation", "no evaluation in this run retained anything"},
      {"DataLoader workers", "no worker processes"},
      {"caches", "no site fills once per example"},
      {"GC delay", "live bytes do not fall at collections"},
      {"fragmentation", "allocator gap 60 MiB, flat"},
      {"page cache", "mapped files 200 MiB, flat"},
      {"pinned memory", "none allocated"},
      {"compile caches", "no compiler in the process"},
      {"log and metric lists", "no small object kept once per step"}};
  for (const auto& [name, evidence] : all) {
    const bool open = std::find(not_ruled_out.begin(), not_ruled_out.end(), name) != not_ruled_out.end();
    if (!open) model.hypotheses.push_back({name, "ruled out", evidence});
  }
}

void AddPool(ReportModel& model) {
  model.pools.push_back({"host", model.verdict.name, model.verdict.sentence, model.totals.retained_bytes,
                         model.totals.peak_bytes,
                         model.totals.retained_bytes + model.ledger.back().allocator_gap_bytes,
                         model.sites.empty() ? 0 : model.sites[0].growth_bytes_per_step});
  model.pools.push_back({"files", "steady", "mapped files are flat", model.ledger.back().rss_file_bytes,
                         model.ledger.back().rss_file_bytes, 0, 0});
  model.processes[0].verdict = model.verdict.name;
}

}  // namespace plateau::report
