#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/support/fixture_parts.h"
#include "tests/support/report_fixtures.h"
#include "tests/support/run_simulator.h"

namespace plateau::report {

ReportModel BigModel(int steps, int stacks) {
  RunSimulator run(steps);
  AddNetwork(run);
  run.Add({.function = "train_step",
           .file = "train.py",
           .line = 57,
           .category = "caches",
           .source_line = "        history.append(loss)",
           .verdict = "leak",
           .keep = [](int step) { return step >= 1 ? 262144.0 : 0.0; },
           .object_bytes = 49152});
  ReportModel model = run.Finish();
  AddEpochs(model, steps / 5.0);
  model.verdict.name = "leak";
  model.verdict.sentence = "Leaks 256 KiB/step.";
  // A wide and deep tree: each stack a path of 18 frames whose early ones are shared.
  uint64_t seed = 88172645463325252ull;
  auto random = [&seed](uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
  };
  const uint32_t first_frame = static_cast<uint32_t>(model.frames.size());
  for (int i = 0; i < 20000; ++i) {
    model.frames.push_back({absl::StrCat("at::native::kernel_", i % 4000, "<float, ", i, ">"),
                            absl::StrCat("aten/src/ATen/native/cpu/Kernel", i % 700, ".cpp"), i % 900,
                            "libtorch_cpu.so", "native"});
  }
  std::vector<std::vector<int32_t>> levels(19);
  levels[0].push_back(static_cast<int32_t>(model.stacks.size()));
  model.stacks.push_back({.parent = -1, .frame = 0});
  const size_t before = model.sites.size();
  for (int i = 0; i < 3000; ++i) {
    Site site;
    site.function = absl::StrCat("op_", i);
    site.file = absl::StrCat("pkg/module_", i % 211, ".py");
    site.line = i % 977 + 1;
    site.site = absl::StrCat(site.file, ":", site.line, " in ", site.function);
    site.module = "python3";
    site.category = "other";
    site.verdict = "steady";
    site.live_bytes.assign(model.axis_steps.size(), 0);
    site.survivor_bytes.assign(model.axis_steps.size(), 0);
    model.sites.push_back(std::move(site));
  }
  for (int made = 0; made < stacks;) {
    int32_t node = levels[0][0];
    for (int depth = 1; depth < 19; ++depth) {
      auto& level = levels[depth];
      // The first levels have few different nodes, the later ones nearly always a new one.
      const size_t width = std::min<size_t>(size_t{1} << std::min(depth, 16), 60000);
      if (level.size() < width || depth >= 14) {
        model.stacks.push_back({.parent = node, .frame = first_frame + static_cast<uint32_t>(random(20000))});
        node = static_cast<int32_t>(model.stacks.size()) - 1;
        if (depth < 14) level.push_back(node);
      } else {
        node = level[random(level.size())];
      }
    }
    StackTreeNode& leaf = model.stacks[node];
    const auto size = static_cast<int64_t>(1024 << random(10));
    leaf.site = static_cast<int32_t>(before + random(3000));
    leaf.retained_bytes = size;
    leaf.retained_count = 1;
    leaf.peak_bytes = size * 2;
    leaf.temporary_bytes = size * 3;
    leaf.alloc_bytes = size * 4;
    leaf.alloc_count = 4;
    Site& site = model.sites[leaf.site];
    const size_t born = random(model.axis_steps.size());
    site.survivor_bytes[born] += size;
    site.retained_bytes += size;
    site.retained_count += 1;
    site.peak_bytes += leaf.peak_bytes;
    site.temporary_bytes += leaf.temporary_bytes;
    site.alloc_bytes += leaf.alloc_bytes;
    site.alloc_count += leaf.alloc_count;
    model.totals.retained_bytes += size;
    model.totals.retained_count += 1;
    model.totals.peak_bytes += leaf.peak_bytes;
    model.totals.temporary_bytes += leaf.temporary_bytes;
    model.totals.alloc_bytes += leaf.alloc_bytes;
    model.totals.alloc_count += leaf.alloc_count;
    ++made;
  }
  int64_t added = 0;
  for (size_t i = before; i < model.sites.size(); ++i) {
    Site& site = model.sites[i];
    int64_t held = 0;
    for (size_t b = 0; b < site.live_bytes.size(); ++b) site.live_bytes[b] = held += site.survivor_bytes[b];
    added += site.retained_bytes;
  }
  model.breakdown.push_back({"temporary caches", added, stacks, "by the phase its bytes are born in"});
  SortSites(model);
  return model;
}

}  // namespace plateau::report
