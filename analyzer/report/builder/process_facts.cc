#include "analyzer/report/builder/process_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/whole_number.h"
#include "analyzer/process/attached_run.h"
#include "analyzer/verdict/vocabulary/verdict.h"

namespace plateau::report {
namespace {

constexpr char kNoEnding[] = "killed or still running";

// What its sites keep more with every step, as the sites say it: live memory itself goes up and down within a
// step, and a line through few such readings says nothing.
double GrowthOnHost(const process::ProcessAnalysis& process) {
  double sum = 0;
  for (size_t site = 0; site < process.verdicts.sites.size(); ++site) {
    if (!process.sites.IsOfDevice(site)) sum += process.verdicts.sites[site].growth_bytes_per_step.value;
  }
  return sum;
}

}  // namespace

reader::TraceIdentity IdentityOf(const replay::Definitions& definitions) {
  return reader::IdentityFrom([&definitions](const std::string& key) { return definitions.Info(key); });
}

std::string CommandOf(const replay::Definitions& definitions) {
  std::string command = definitions.Info("cmdline");
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command.empty() ? definitions.Info("exe") : command;
}

std::string EndingOf(const process::ProcessAnalysis& process) {
  const std::string& said = process.trace.definitions.Info("ending");
  if (!said.empty()) return said;
  return process.trace.definitions.summary.clean_exit ? "ended in order" : kNoEnding;
}

bool HasNoEnding(const Process& process) { return process.ending == kNoEnding; }

std::string EndingWith(const reader::ChildSignals& signals, const std::string& machine,
                       const Process& process) {
  const auto signal = signals.find({machine, process.parent_pid, process.pid});
  if (!HasNoEnding(process) || signal == signals.end()) return process.ending;
  return reader::EndingBySignal(signal->second);
}

Process FactsOf(const process::ProcessAnalysis& process, double recording_start_seconds) {
  const trace::FileHeader& header = process.trace.reader->header();
  Process out;
  out.pid = header.pid;
  out.parent_pid = header.parent_pid;
  out.role = process.trace.definitions.Info("role");
  if (out.role.empty()) out.role = "main";
  out.rank = IdentityOf(process.trace.definitions).rank;
  out.exe = process.trace.definitions.Info("exe");
  out.command = CommandOf(process.trace.definitions);
  out.ending = EndingOf(process);
  out.start_seconds = static_cast<double>(header.start_realtime_ns) * 1e-9 - recording_start_seconds;
  out.end_seconds = out.start_seconds + process.trace.Seconds(process.trace.definitions.last_tsc);
  out.verdict = std::string(verdict::VerdictName(process.verdicts.process.headline.kind));
  out.retained_bytes = process.rows.retained_bytes;
  out.peak_bytes = Round(process.memory.heap.peak_bytes);
  for (const series::LedgerSample& sample : process.run.ledger)
    out.peak_rss_bytes = std::max(out.peak_rss_bytes, Round(sample.rss()));
  out.growth_bytes_per_step = GrowthOnHost(process);
  out.dropped_events = process.trace.definitions.summary.TotalDroppedEvents();
  return out;
}

std::vector<std::string> SourcesOf(const process::ProcessAnalysis& process) {
  const auto& has_pool = process.rows.has_pool;
  std::vector<std::string> sources;
  const auto add = [&sources](bool is_there, const char* name) {
    if (is_there) sources.push_back(name);
  };
  add(has_pool[static_cast<size_t>(replay::Pool::kHeap)], "malloc");
  add(has_pool[static_cast<size_t>(replay::Pool::kMmap)] ||
          has_pool[static_cast<size_t>(replay::Pool::kShared)],
      "mmap");
  add(has_pool[static_cast<size_t>(replay::Pool::kPython)], "pymalloc");
  add(!process.trace.definitions.Info("torch").empty(), "torch");
  add(!process.memory.device->rows().empty(), "cuda");
  return sources;
}

namespace {

// "attached after 10 h 12 min; recorded from step ? on, 14:02 to 14:40; 3.1 GiB were live before and have no line".
std::string AttachedText(const Attached& attached, bool misses_frees) {
  std::string text = attached.age_seconds > 0 ? "attached after " + FormatDuration(attached.age_seconds)
                                              : std::string("attached to while it ran");
  absl::StrAppend(&text, "; recorded from step ? on, ", attached.from_time, " to ", attached.to_time);
  if (attached.before_bytes > 0)
    absl::StrAppend(&text, "; ", FormatBytes(static_cast<double>(attached.before_bytes)),
                    " were live before and have no line");
  if (attached.modules_not_hooked > 0)
    absl::StrAppend(&text, "; calls of ", attached.modules_not_hooked, " of ", attached.modules,
                    " modules are not seen");
  if (!attached.program_imports) absl::StrAppend(&text, "; the program's own calls are not seen");
  if (misses_frees)
    absl::StrAppend(&text, "; ", attached.implied_frees, " blocks were freed in a way that is not seen");
  return text;
}

}  // namespace

std::optional<Attached> AttachedOf(const process::ProcessAnalysis& process) {
  if (!process::IsAttached(process.trace)) return std::nullopt;
  const replay::Definitions& definitions = process.trace.definitions;
  const process::BeforeAttach before = process::WhatWasBefore(process.trace);
  const auto clock_time = [&](uint64_t tsc) {
    return absl::FormatTime(
        "%H:%M",
        absl::FromUnixNanos(static_cast<int64_t>(process.trace.reader->header().start_realtime_ns)) +
            absl::Seconds(process.trace.Seconds(tsc)),
        absl::LocalTimeZone());
  };
  Attached attached;
  attached.age_seconds = before.age_seconds;
  attached.from_time = clock_time(definitions.first_tsc);
  attached.to_time = clock_time(definitions.last_tsc);
  attached.resident_bytes = Round(before.resident_bytes);
  attached.before_bytes = Round(before.heap_bytes + before.beside_heap_bytes);
  attached.unknown_frees = process.memory.heap.unknown_frees;
  attached.implied_frees = process.memory.heap.implied_frees;
  if (definitions.attach) {
    attached.modules = definitions.attach->attach.modules;
    attached.modules_not_hooked = definitions.attach->attach.modules_left_out;
    attached.program_imports = definitions.attach->attach.program_imports;
  }
  attached.sentence = AttachedText(attached, process::MissesFrees(process.memory.heap));
  return attached;
}

std::vector<std::pair<std::string, std::string>> LevelsOf(const process::ProcessAnalysis& process) {
  const auto status = [&process](const char* key, const char* otherwise) {
    const std::string& text = process.trace.definitions.Info(key);
    return text.empty() ? std::string(otherwise) : text;
  };
  const bool has_device = !process.memory.device->rows().empty();
  const char* without_python = process.trace.definitions.codes.empty()
                                   ? "not traced: no Python interpreter was found in the process"
                                   : "frames were recorded";
  std::vector<std::pair<std::string, std::string>> levels = {
      {"python", status("python", without_python)},
      {"torch", status("torch", "not traced: no torch library was found in the process")},
      {"cuda", has_device ? status("cuda", "device memory was recorded")
                          : status("cuda", "not traced: the program obtained no device memory")}};
  if (const auto attached = AttachedOf(process)) levels.emplace_back("attached", attached->sentence);
  if (const process::UnreadMemory& unread = process.trace.unread_memory; unread.readings > 0) {
    levels.emplace_back("memory",
                        absl::StrCat("resident memory could not be read ", unread.readings, " of ",
                                     unread.readings + process.run.ledger.size(), " times, first after ",
                                     FormatDuration(process.trace.Seconds(unread.first_tsc)),
                                     "; the curves leave these moments out"));
  }
  // Only when another malloc stands before ours, when large regions were left out, when libraries are not looked at, and
  // when the program locked itself in.
  for (const char* key : {"malloc", "residency", "modules", "sandbox"}) {
    if (const std::string& text = process.trace.definitions.Info(key); !text.empty())
      levels.emplace_back(key, text);
  }
  return levels;
}

std::vector<LedgerReading> LedgerOf(const process::ProcessAnalysis& process) {
  std::vector<LedgerReading> out;
  // The interpreter's tidying up behind the last step is no part of the run's curve.
  const uint64_t end = process.clock.steps.BucketEnd(process.clock.steps.last_bucket());
  const bool has_teardown = process.clock.steps.step_count() > 0 || end < process.trace.definitions.last_tsc;
  for (size_t i = 0; i < process.run.ledger.size(); ++i) {
    const series::LedgerSample& s = process.run.ledger[i];
    if (has_teardown && s.time_seconds > process.trace.Seconds(end)) continue;
    LedgerReading o;
    o.time_seconds = s.time_seconds;
    o.step = s.step;
    o.rss_anon_bytes = Round(s.rss_anon);
    o.rss_file_bytes = Round(s.rss_file);
    o.rss_shmem_bytes = Round(s.rss_shmem);
    o.rss_bytes = o.rss_anon_bytes + o.rss_file_bytes + o.rss_shmem_bytes;
    o.pinned_bytes = Round(s.pinned);
    o.device_live_bytes = Round(s.device_live);
    o.device_reserved_bytes = Round(s.device_reserved);
    o.cgroup_bytes = Round(s.cgroup);
    const series::LedgerParts& parts = process.verdicts.ledger[i];
    o.live_bytes = Round(parts.live);
    o.allocator_gap_bytes = Round(parts.allocator_gap);
    o.allocator_gap_is_estimated = s.allocator_held <= 0;
    o.own_bytes = Round(parts.own);
    o.tensor_bytes = Round(process.memory.heap.ledger[i].tensor_bytes);
    o.tensor_count = Round(process.memory.heap.ledger[i].tensor_count);
    // The remainder takes the rounding, so that every line adds up to the byte.
    o.unexplained_bytes = o.rss_bytes - o.live_bytes - o.allocator_gap_bytes - o.rss_file_bytes -
                          o.rss_shmem_bytes - o.own_bytes;
    out.push_back(o);
  }
  return out;
}

Steps StepsOf(const series::StepClock& clock) {
  Steps steps;
  steps.count = clock.step_count();
  steps.source = std::string(series::StepSourceName(clock.source()));
  if (!clock.loop().empty()) {
    steps.loop = absl::StrCat(clock.loop(), clock.are_rounds_seen() ? ", seen in stacks" : ", counted");
  }
  steps.confidence = clock.confidence() == series::Confidence::kHigh     ? 0.95
                     : clock.confidence() == series::Confidence::kMedium ? 0.7
                                                                         : 0.4;
  if (clock.steps_per_epoch() > 0) steps.steps_per_epoch = clock.steps_per_epoch();
  for (const series::Epoch& epoch : clock.epochs()) {
    if (epoch.is_complete) steps.epoch_ends.push_back(epoch.last_step);
  }
  for (const series::Interlude& evaluation : clock.evaluations())
    steps.evaluations.push_back(evaluation.after_step);
  for (const series::Interlude& checkpoint : clock.checkpoints())
    steps.checkpoints.push_back(checkpoint.after_step);
  return steps;
}

std::vector<Phase> PhasesOf(const process::ProcessAnalysis& process) {
  std::vector<Phase> phases;
  int number = 0;
  for (const series::Epoch& epoch : process.clock.steps.epochs()) {
    phases.push_back({.kind = "epoch",
                      .label = absl::StrCat("epoch ", ++number),
                      .from_step = static_cast<double>(epoch.first_step),
                      .to_step = static_cast<double>(epoch.last_step),
                      .from_seconds = process.trace.Seconds(epoch.begin_time),
                      .to_seconds = process.trace.Seconds(epoch.end_time)});
  }
  const auto add = [&](const char* kind, const std::vector<series::Interlude>& interludes) {
    int count = 0;
    for (const series::Interlude& i : interludes) {
      phases.push_back({.kind = kind,
                        .label = i.name.empty() ? absl::StrCat(kind, " ", ++count) : i.name,
                        .from_step = static_cast<double>(i.after_step),
                        .to_step = static_cast<double>(i.after_step + 1),
                        .from_seconds = process.trace.Seconds(i.begin_time),
                        .to_seconds = process.trace.Seconds(i.end_time)});
    }
  };
  add("evaluation", process.clock.steps.evaluations());
  add("checkpoint", process.clock.steps.checkpoints());
  return phases;
}

}  // namespace plateau::report
