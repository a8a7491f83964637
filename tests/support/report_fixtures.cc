#include "tests/support/report_fixtures.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/fixture_parts.h"
#include "tests/support/run_simulator.h"

namespace plateau::report {
namespace {

constexpr double kMiB = 1 << 20;

void AddImageCache(RunSimulator& run) {
  run.Add({.function = "__getitem__",
           .file = "data.py",
           .line = 27,
           .phase = "data",
           .category = "caches",
           .source_line = "        self.images[index] = Image.open(path).convert(\"RGB\")",
           .verdict = "cache_fill",
           .evidence = "each example is kept once: 21.3 MB x 663, ended with the first epoch",
           .callees = {{"ImagingNewDense", "", 0, "_imaging.so", "native"}},
           .keep = [](int step) { return step >= 1 && step <= 82 ? 170.4e6
                                         : step == 83            ? 149.1e6
                                                                 : 0.0; },
           .object_bytes = 21.3e6});
}

// The site that made the verdict of the run.
Site& Guilty(ReportModel& model, const std::string& verdict) {
  for (Site& site : model.sites) {
    if (site.verdict == verdict) return site;
  }
  return model.sites[0];
}

}  // namespace

ReportModel LeakModel() {
  RunSimulator run(400);
  AddNetwork(run);
  run.Add({.function = "train_step",
           .file = "train.py",
           .line = 57,
           .category = "caches",
           .source_line = "        history.append(loss)",
           .verdict = "leak",
           .evidence = "1.20 MiB born in every step is still alive; none older than 3 steps was ever freed",
           .callees = TensorFrames("aten::nll_loss_forward"),
           .keep = [](int step) { return step >= 1 ? 1.2 * kMiB + (step % 7 - 3) * 9000 : 0.0; },
           .object_bytes = 49152,
           .tensors = true});
  run.Add({.function = "log",
           .file = "/usr/lib/python3.11/logging/__init__.py",
           .line = 1734,
           .category = "other",
           .verdict = "steady",
           .evidence = "below the materiality floor",
           .keep = [](int step) { return step >= 1 ? 640.0 : 0.0; },
           .object_bytes = 640});
  ReportModel model = run.Finish();
  AddEpochs(model, 120);
  Verdict& v = model.verdict;
  v.name = "leak";
  Site& guilty = Guilty(model, "leak");
  v.site = guilty.site;
  v.summary = absl::StrCat(guilty.site,
                           " keeps 1.20 MiB every step; the memory limit of 8.00 GiB is reached at step ",
                           "5,330 (5,150-5,520)");
  guilty.excerpt = {"for batch in loader:  # each \"batch\" has 8", "    loss = model(batch).mean()",
                    "    history.append(loss)", "    loss.backward()", "    optimizer.step()"};
  guilty.excerpt_from = guilty.line - 2;
  v.sentence =
      "The rate is 1.16-1.24 MiB/step, or 25 objects a step; nothing older than 3 steps was freed. At this "
      "pace "
      "the limit is reached in about 27 min. A cache that is not full yet would look the same.";
  v.why = {"Survivors are spread over every birth step up to now: 397 of 397 mature steps kept memory.",
           "The rate after the first epoch (step 120) is 1.20 MiB/step, the same as before it.",
           "No object of the site older than 3 steps ever died."};
  v.numbers = {{"rate_bytes_per_step", 1.2 * kMiB}, {"onset_step", 1}, {"maturity_steps", 3}};
  v.detectable_bytes_per_step = 21000;
  v.limit_bytes = 8192 * kMiB;
  v.forecasts = {{.label = "leak",
                  .sentence = "Reaches the limit of 8.00 GiB at step 5,330 (5,150-5,520).",
                  .from_step = 400,
                  .from_bytes = static_cast<double>(model.ledger.back().live_bytes),
                  .rate_bytes_per_step = 1.2 * kMiB,
                  .rate_interval = Interval{1.16 * kMiB, 1.24 * kMiB},
                  .limit_step = 5330,
                  .limit_step_interval = Interval{5150, 5520}}};
  v.outcome = "oom_only_if_leak";
  for (Site& site : model.sites) {
    if (site.line != 57) continue;
    site.looked_at = 64;
    site.not_found_share = 0.03;
    site.held_by = {{.end = "path",
                     .root = "a local of main() (train.py:90)",
                     .root_owner = "user",
                     .text = "trainer.moonmeter[*]['loss']",
                     .container = "trainer.moonmeter",
                     .container_type = "list",
                     .share = 0.97,
                     .bytes = site.retained_bytes / 100 * 97,
                     .items = 256,
                     .items_per_step = 1,
                     .lengths = {{64, 64}, {128, 128}, {256, 256}},
                     .links = {{"local", "trainer"},
                               {"attribute", ".moonmeter"},
                               {"index", "[*]"},
                               {"key", "['loss']", true}},
                     .container_links = 2}};
  }
  v.held_by = {"trainer.moonmeter[*]['loss'] (list, 256 items, +1 a step), 97 % of the bytes"};
  model.holders = {
      .walks = 3, .objects = 186207, .seconds = 0.075, .last_step = 256, .sentence = "3 looks for holders."};
  v.next_steps = {"Loss kept with its graph (K06): append loss.item() or loss.detach() instead of loss."};
  AddUsualSuspects(model, {"log and metric lists"});
  model.hypotheses.insert(model.hypotheses.begin(), {"log and metric lists", "supported",
                                                     "25 tensors per step kept by train.py:57, never freed"});
  model.patterns = {{"K06", "Loss kept with its graph",
                     "A list holds loss tensors, and each loss holds the graph that made it.",
                     "append loss.item() or loss.detach() instead of loss.",
                     "constant count per step, born in forward, held by one line"}};
  AddPool(model);
  AddPhase(model, "evaluation", "evaluation 1", 119, 121);
  AddPhase(model, "evaluation", "evaluation 2", 239, 241);
  AddPhase(model, "evaluation", "evaluation 3", 359, 361);
  model.steps.evaluations = {119, 239, 359};
  model.processes.push_back(model.processes[0]);
  Process& worker = model.processes.back();
  worker.pid = 4251;
  worker.parent_pid = 4242;
  worker.role = "dataloader worker";
  worker.rank = 0;
  worker.verdict = "steady";
  worker.retained_bytes = 0;
  worker.peak_bytes = 31 << 20;
  worker.peak_rss_bytes = 220 << 20;
  return model;
}

ReportModel WarmupModel() {
  RunSimulator run(300);
  AddNetwork(run);
  run.Add({.function = "forward",
           .file = "model.py",
           .line = 61,
           .category = "caches",
           .source_line = "        x = self.conv(x)",
           .verdict = "warmup_complete",
           .evidence = "92 new shapes until step 41, nothing kept since",
           .callees = {{"ideep::convolution_forward::compute", "", 0, "libtorch_cpu.so", "native"}},
           .keep = [](int step) { return step >= 1 && step <= 41 ? 60 * kMiB * std::exp(-step / 9.0) : 0.0; },
           .object_bytes = 2 * kMiB});
  ReportModel model = run.Finish();
  AddEpochs(model, 120);
  AddPhase(model, "warm_up", "warm-up", 0, 41);
  AddPhase(model, "plateau", "plateau", 41, 300);
  Verdict& v = model.verdict;
  v.name = "warmup_complete";
  v.summary = "model.py:61 in forward grew by 1.50 GiB until step 41 and has been level since";
  v.sentence = "Nothing that matters was kept in the 259 steps since. This is a normal start.";
  v.why = {"Survivors were born in steps 0 to 41 only; 259 later steps kept nothing.",
           "The rate fell as new input shapes ran out, it did not stop at the epoch (step 120)."};
  v.detectable_bytes_per_step = 34000;
  v.forecasts = {{.label = "plateau",
                  .sentence = "Stays at 1.85 GiB (1.84-1.86).",
                  .from_step = 300,
                  .from_bytes = static_cast<double>(model.ledger.back().live_bytes),
                  .plateau_bytes = static_cast<double>(model.ledger.back().live_bytes),
                  .plateau_interval =
                      Interval{model.ledger.back().live_bytes * 0.99, model.ledger.back().live_bytes * 1.01},
                  .plateau_step = 41}};
  v.outcome = "safe_in_this_run";
  AddUsualSuspects(model, {"caches"});
  model.hypotheses.insert(
      model.hypotheses.begin(),
      {"caches", "supported", "model.py:61 keeps one entry per new shape, 92 shapes, none since step 41"});
  model.patterns = {
      {"K14", "Shape-keyed primitive cache", "Each new input shape compiles a primitive that is kept.",
       "nothing to fix; pad inputs to fewer shapes to make it smaller.", "92 distinct sizes, then none"}};
  AddPool(model);
  return model;
}

ReportModel CacheFillModel() {
  RunSimulator run(240);
  AddNetwork(run);
  AddImageCache(run);
  ReportModel model = run.Finish();
  AddEpochs(model, 82.875);
  AddPhase(model, "warm_up", "first pass", 0, 83);
  AddPhase(model, "plateau", "plateau", 83, 240);
  Verdict& v = model.verdict;
  v.name = "cache_fill";
  v.site = Guilty(model, v.name).site;
  v.summary = Guilty(model, v.name).site +
              " keeps each example once, 20.3 MiB each, 13.2 GiB in all; it ended with the first pass";
  v.sentence = "It is bounded by the data set. The memory limit of 32.0 GiB is full at about 1,380 examples.";
  v.why = {"Survivors were born in steps 1 to 83, evenly; the first epoch ended at step 82.9.",
           "157 steps after the first pass kept nothing.", "Smooth pool warm-up is rejected (delta BIC 68)."};
  v.numbers = {{"knee_step", 82.9}, {"steps_per_epoch", 82.875}, {"bytes_per_example", 21.3e6}};
  v.detectable_bytes_per_step = 6.1e6;
  v.limit_bytes = 32768 * kMiB;
  v.forecasts = {{.label = "plateau",
                  .sentence = "Stays at 14.6 GiB with this data set.",
                  .from_step = 240,
                  .from_bytes = static_cast<double>(model.ledger.back().live_bytes),
                  .plateau_bytes = static_cast<double>(model.ledger.back().live_bytes),
                  .plateau_interval = Interval{model.ledger.back().live_bytes * 0.995,
                                               model.ledger.back().live_bytes * 1.005},
                  .plateau_step = 82.9,
                  .plateau_step_interval = Interval{82.3, 83.8}}};
  v.outcome = "safe_in_this_run";
  AddUsualSuspects(model, {"caches", "dataset loading"});
  model.hypotheses.insert(model.hypotheses.begin(),
                          {{"caches", "supported", "663 objects, one per example, none evicted"},
                           {"dataset loading", "supported", "held by data.py:27, born in data loading"}});
  model.patterns = {{"K11", "First-epoch decode cache",
                     "The data set keeps every decoded image it has shown once.",
                     "keep encoded bytes and decode per access, or bound the cache with an LRU.",
                     "one object per example, born in __getitem__, none after the first pass"}};
  AddPool(model);
  return model;
}

ReportModel FragmentationModel() {
  RunSimulator run(320);
  AddNetwork(run);
  run.gap = [](int step) { return 60e6 + 6.5e6 * step + 4e6 * std::sin(step / 5.0); };
  run.Add({.function = "tokenize",
           .file = "text.py",
           .line = 19,
           .phase = "data",
           .category = "batch data",
           .source_line = "    ids = [vocab[w] for w in text.split()]",
           .evidence = "lives at most 2 steps",
           .churn = [](int step) { return step > 0 ? (40 + step % 23) * kMiB : 0; },
           .object_bytes = 900});
  ReportModel model = run.Finish();
  AddEpochs(model, 160);
  Verdict& v = model.verdict;
  v.name = "fragmentation";
  v.summary =
      "What the allocator holds and nobody uses grows by 6.20 MiB every step; the memory limit of 16.0 GiB "
      "is reached at "
      "step 2,240 (2,010-2,520)";
  v.sentence =
      "The allocator holds 1.98 GiB more than was ever live at once. No line of the program keeps it.";
  v.why = {"Live bytes are flat at 1.35 GiB; RSS rose by 2.04 GiB in the same steps.",
           "All of the rise is in the allocator gap: held by malloc, asked for by nobody.",
           "Sizes from 300 B to 60 KiB are mixed in one arena by 4 threads."};
  v.detectable_bytes_per_step = 28000;
  v.forecasts = {{.label = "gap",
                  .sentence = "RSS reaches the limit of 16.0 GiB at step 2,240 (2,010-2,520).",
                  .from_step = 320,
                  .from_bytes = static_cast<double>(model.ledger.back().rss_bytes),
                  .rate_bytes_per_step = 6.5e6,
                  .rate_interval = Interval{6.1e6, 6.9e6},
                  .limit_step = 2240,
                  .limit_step_interval = Interval{2010, 2520}}};
  v.limit_bytes = 16384 * kMiB;
  v.next_steps = {"Set MALLOC_ARENA_MAX=2, or call malloc_trim(0) every epoch, or preload jemalloc."};
  AddUsualSuspects(model, {"fragmentation"});
  model.hypotheses.insert(model.hypotheses.begin(),
                          {"fragmentation", "supported", "gap grows 6.20 MiB/step, live does not"});
  model.patterns = {{"K09", "glibc keeps freed memory",
                     "Freed chunks between live ones cannot be returned to the system.",
                     "MALLOC_ARENA_MAX=2, malloc_trim, or another allocator.",
                     "gap above the running maximum of live bytes"}};
  AddPool(model);
  Device device;
  device.device = 0;
  device.levels = {.tensor_bytes = 3 << 28,
                   .reserved_bytes = int64_t{7} << 28,
                   .torch_reserved_bytes = int64_t{7} << 28,
                   .free_in_segments_bytes = 1 << 30,
                   .largest_free_bytes = 1 << 28,
                   .limit_bytes = int64_t{2} << 30,
                   .driver_used_bytes = int64_t{15} << 27,
                   .fragmentation = 0.75};
  device.tensor_peak_bytes = int64_t{6} << 28;
  device.reserved_peak_bytes = int64_t{7} << 28;
  device.torch_check = TorchComparison{.compared = 41200, .mismatches = 2, .last_difference_bytes = 512};
  model.devices = {device};
  model.out_of_memory = {{.time_seconds = 91.5,
                          .step = 88,
                          .device = 0,
                          .level = "torch",
                          .call = "c10::CUDACachingAllocator",
                          .requested_bytes = 1 << 29,
                          .levels = device.levels,
                          .site = "model.py:88 in forward",
                          .file = "model.py",
                          .line = 88}};
  model.out_of_memory_count = 3;
  model.recording.levels = {
      {"torch", "ranges armed: steps, zero_grad and DataLoader fetches from RecordFunction"},
      {"cuda", "device memory was recorded"}};
  return model;
}

ReportModel InconclusiveModel() {
  RunSimulator run(70);
  AddNetwork(run);
  AddImageCache(run);
  ReportModel model = run.Finish();
  AddEpochs(model, 82.875);
  model.sites[0].verdict = "inconclusive";
  model.sites[0].evidence = "170 MB born in every step is still alive, but the first pass has not ended";
  Verdict& v = model.verdict;
  v.name = "inconclusive";
  v.site = Guilty(model, v.name).site;
  v.summary =
      Guilty(model, v.name).site +
      " has kept 162 MiB every step so far: a leak, or each example kept once; about 20 more steps decide it";
  v.reason = "first_pass";
  v.sentence =
      "It is undecided because the run stopped at step 70, before the end of the first pass over the data at "
      "step 82.9.";
  v.why = {"162 MiB/step is kept by data.py:27, evenly over steps 1 to 70.",
           "The first pass needs 82.9 steps; 13 were still to come."};
  v.needs_steps = 20;
  v.limit_bytes = 32768 * kMiB;
  const double live = static_cast<double>(model.ledger.back().live_bytes);
  v.forecasts = {{.label = "If it is a cache",
                  .sentence = "levels off at 14.6 GiB (14.5-14.7) at step 83.",
                  .from_step = 70,
                  .from_bytes = live,
                  .rate_bytes_per_step = 170.4e6,
                  .rate_interval = Interval{168e6, 173e6},
                  .plateau_bytes = live + 170.4e6 * 12.875,
                  .plateau_interval = Interval{live + 168e6 * 12.5, live + 173e6 * 13.5},
                  .plateau_step = 82.9,
                  .plateau_step_interval = Interval{82.3, 83.8}},
                 {.label = "If it is a leak",
                  .sentence = "reaches the limit of 32.0 GiB at step 192 (190-194).",
                  .from_step = 70,
                  .from_bytes = live,
                  .rate_bytes_per_step = 170.4e6,
                  .rate_interval = Interval{168e6, 173e6},
                  .limit_step = 192,
                  .limit_step_interval = Interval{190, 194}}};
  v.outcome = "oom_only_if_leak";
  v.next_steps = {"Run at least 20 more steps, or pass --limit to see what fits."};
  AddUsualSuspects(model, {"caches", "dataset loading"});
  model.hypotheses.insert(model.hypotheses.begin(), {"caches", "possible", "one object per example so far"});
  model.recording.ending = "signal 9";
  AddPool(model);
  return model;
}

ReportModel SteadyModel() {
  RunSimulator run(200);
  AddNetwork(run);
  ReportModel model = run.Finish();
  AddEpochs(model, 100);
  model.verdict.name = "steady";
  model.verdict.summary = "Nothing grows; a leak of 32.2 KiB a step would have been seen";
  model.verdict.sentence = "Objects live at most 2 steps. A smaller leak would not have been seen.";
  model.verdict.detectable_bytes_per_step = 33000;
  AddUsualSuspects(model, {});
  AddPool(model);
  return model;
}

ReportModel StaircaseModel() {
  constexpr int kSteps = 6000, kPeriod = 500;
  RunSimulator run(kSteps);
  AddNetwork(run);
  run.seconds_per_step = 0.21;
  run.Add({.function = "evaluate",
           .file = "/home/ada/src/evaluate.py",
           .line = 31,
           .phase = "evaluation",
           .category = "log and metric lists",
           .source_line = "        self.predictions.append(logits)",
           .verdict = "staircase",
           .evidence = "every evaluation keeps 57.0 MiB (11 of 11)",
           .callees = TensorFrames("aten::addmm"),
           .keep = [](int step) { return step > 0 && step % kPeriod == 0 ? 57 * kMiB : 0.0; },
           .object_bytes = 1 << 20,
           .tensors = true});
  ReportModel model = run.Finish();
  AddEpochs(model, 1000);
  for (int step = kPeriod; step < kSteps; step += kPeriod) {
    AddPhase(model, "evaluation", absl::StrCat("evaluation ", step / kPeriod), step, step + 1);
    model.steps.evaluations.push_back(step);
    if (step % 1000 == 0) {
      AddPhase(model, "checkpoint", absl::StrCat("checkpoint ", step / 1000), step, step + 1);
      model.steps.checkpoints.push_back(step);
    }
  }
  Verdict& v = model.verdict;
  v.name = "staircase";
  Site& guilty = Guilty(model, v.name);
  guilty.excerpt = {"    for batch in self.loader:", "        logits = self.model(batch)",
                    "        self.predictions.append(logits)",
                    "        self.metric.update(logits, batch.labels)", "    return self.metric.compute()"};
  guilty.excerpt_from = 29;
  v.site = guilty.site;
  v.summary =
      absl::StrCat(guilty.site, " keeps 57.0 MiB at every evaluation, about every 500 steps; the memory ",
                   "limit of 8.00 GiB is reached at step 57,480 (56,900-58,100)");
  v.sentence = "All 11 evaluations did so. At this pace the limit is reached in about 3.0 h.";
  v.why = {"11 of 11 evaluations left memory behind, and none of it was freed later."};
  v.limit_bytes = 8192 * kMiB;
  v.next_steps = {"Look at what an evaluation or checkpoint leaves behind at this call site."};
  AddUsualSuspects(model, {"evaluation"});
  AddPool(model);
  return model;
}

ReportModel KilledModel() {
  RunSimulator run(420);
  AddNetwork(run);
  run.Add({.function = "remember",
           .file = "/home/ada/src/serve.py",
           .line = 12,
           .category = "caches",
           .source_line = "    CACHE[key] = value",
           .verdict = "unbounded_growth",
           .evidence = "grows by 6.00 MiB every step",
           .keep = [](int step) { return step > 0 ? 6 * kMiB : 0.0; },
           .object_bytes = 4 << 20});
  ReportModel model = run.Finish();
  Verdict& v = model.verdict;
  v.name = "unbounded_growth";
  v.site = Guilty(model, v.name).site;
  v.summary =
      absl::StrCat(v.site, " grows by 6.00 MiB every round, and nothing has ended it; the cgroup's limit of ",
                   "4.00 GiB is reached at round 425 (421-430)");
  v.sentence = "No pass over data was seen, so a cache that is not full yet cannot be excluded.";
  v.why = {"it grew to the end"};
  v.limit_bytes = 4096 * kMiB;
  v.limit_source = "cgroup";
  v.next_steps = {"If it is a cache, give it a bound."};
  AddUsualSuspects(model, {"caches"});
  model.recording.ending = "signal 9; out of memory: the cgroup /job was at its limit of 4.00 GiB";
  AddPool(model);
  LastMinutes& last = model.last_minutes;
  last.from_seconds = 300;
  last.to_seconds = 420;
  last.from_step = 272;
  last.to_step = 420;
  last.rss_from_bytes = int64_t{3000} << 20;
  last.rss_to_bytes = int64_t{3888} << 20;
  last.is_out_of_memory = true;
  last.sentence = absl::StrCat("in the last 2 min 00 s resident memory went from 2.93 GiB to 3.80 GiB; ",
                               v.site, " asked for most of it (888 MiB)");
  last.asked = {{v.site, 888 << 20, int64_t{2520} << 20}};
  last.largest = {{v.site, 888 << 20, int64_t{2520} << 20},
                  {model.sites[1].site, 0, model.sites[1].retained_bytes}};
  return model;
}

ReportModel HostileModel() {
  ReportModel model = LeakModel();
  Site& site = model.sites[0];
  site.site = "<script>alert(1)</script>";
  site.function = "<script>alert(1)</script>";
  model.verdict.site = site.site;
  model.verdict.summary = "<script>alert(5)</script> keeps <b>1 MiB</b>";
  site.excerpt = {"</script><script>alert(6)</script>", "<!-- <script>"};
  site.source_line = "</script><script>alert(2)</script><!-- \x1b[31m ]]> & \" ' `${x}`";
  model.sites[1].file = "/data/it's \"quoted\"/\xf0\x9f\x94\xa5 emoji/\xe2\x80\xa8line.py";
  model.sites[1].site = model.sites[1].file + ":7 in f";
  for (uint32_t frame : site.stack) {
    if (model.frames[frame].file == site.file && model.frames[frame].line == site.line) {
      model.frames[frame].function = "<script>alert(1)</script>";
    }
  }
  model.sites[2].function = "bad utf8 \xff\xfe\xc3";
  model.sites[2].site = model.sites[2].function + "; DROP TABLE sites; --";
  model.recording.command = "python '</title><script>alert(3)</script>' \x1b]0;title\x07";
  model.verdict.why.push_back("<img src=x onerror=alert(4)>");
  HolderPath& path =
      model.sites[0].held_by.empty() ? model.sites[0].held_by.emplace_back() : model.sites[0].held_by[0];
  path.text = "d['</script><script>alert(5)</script>\x1b[31m'] \xff; DROP TABLE holders; --";
  path.end = "path";
  path.root_owner = "user";
  path.links = {{"<b>", "</script><script>alert(6)</script>", true}, {"key", "\xe2\x80\xa8 \x07", true}};
  path.root = path.container = path.container_type = "<img src=x onerror=alert(7)>";
  model.verdict.held_by = {path.text};
  model.ranks.resize(2);
  model.ranks[1].group = "<b>dp=1</b>";
  model.ranks[1].odd = {"<img src=x onerror=alert(8)> \xff"};
  return model;
}

std::vector<std::pair<std::string, ReportModel>> AllModels() {
  return {{"leak", LeakModel()},
          {"warmup", WarmupModel()},
          {"cache_fill", CacheFillModel()},
          {"fragmentation", FragmentationModel()},
          {"inconclusive", InconclusiveModel()},
          {"steady", SteadyModel()},
          {"staircase", StaircaseModel()},
          {"killed", KilledModel()},
          {"ranks", RanksModel()},
          {"hostile", HostileModel()}};
}

}  // namespace plateau::report
