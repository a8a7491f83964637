#include "analyzer/process/process_headline.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "analyzer/process/device_rows.h"
#include "analyzer/process/process_facts.h"
#include "analyzer/process/tensor_curves.h"
#include "analyzer/process/verdict_words.h"
#include "analyzer/report/whole_number.h"

namespace plateau::report {
ProcessHeadline HeadlineOf(const ProcessPass& pass) {
  ProcessHeadline h;
  h.verdict = pass.analysis.process;
  h.words = ToReport(pass.analysis.process.headline, pass.input.run);
  h.steps = StepsOf(pass.clock);
  h.peak_bytes = pass.replay.peak_bytes;
  h.is_worker = pass.is_worker;
  h.ended_before_parent = pass.ended_before_parent;
  h.ledger = LedgerOf(pass);
  for (const verdict::PoolAnalysis& pool : pass.analysis.pools) {
    h.pools.push_back({pool.name, std::string(verdict::VerdictName(pool.verdict.kind)), pool.verdict.sentence,
                       Round(pool.live_bytes), Round(pool.peak_bytes), Round(pool.reserved_bytes),
                       pool.growth_bytes_per_step.value});
  }
  h.hypotheses = ToReport(pass.analysis.hypotheses);
  h.patterns = ToReport(pass.analysis.patterns);
  // The fix of a pattern that explains the verdict is better advice than the general one.
  std::vector<std::string> advice;
  for (const verdict::PatternMatch& match : pass.analysis.patterns) {
    if (match.explains_headline)
      advice.push_back(
          absl::StrCat(match.pattern->title, " (", match.pattern->id, "): ", match.pattern->fix));
  }
  if (!advice.empty() && h.verdict.headline.kind != verdict::VerdictKind::kInconclusive) {
    h.words.next_steps = std::move(advice);
  }
  h.phases = PhasesOf(pass);
  h.tensors = TensorCurvesOf(pass);
  h.devices = DevicesOf(pass);
  const int64_t width = pass.series->bucket_steps();
  for (int64_t bucket = 0; bucket <= pass.series->buckets(); ++bucket) {
    const int64_t step = bucket == 0 ? 0 : (bucket - 1) * width + 1;
    h.axis_steps.push_back(static_cast<double>(step));
    h.axis_seconds.push_back(pass.Seconds(pass.clock.BucketBegin(static_cast<uint32_t>(step))));
  }
  h.peak_step = std::min(pass.replay.peak_bucket, pass.clock.last_bucket());
  h.command = CommandOf(pass.definitions);
  h.ending = EndingOf(pass);
  h.header = pass.reader->header();
  for (const char* key : {"host", "kernel", "glibc", "python", "torch", "cuda", "device", "version"}) {
    if (const std::string& value = pass.definitions.Info(key); !value.empty())
      h.environment.emplace_back(key, value);
  }
  h.clock_sentence = pass.clock.sentence();
  h.levels = LevelsOf(pass);
  return h;
}

size_t ChooseHeadline(const std::vector<ProcessHeadline>& headlines) {
  std::vector<verdict::ProcessWeight> processes;
  for (const ProcessHeadline& candidate : headlines) {
    const double steps = candidate.ended_before_parent ? 0 : static_cast<double>(candidate.steps.count);
    processes.push_back({&candidate.verdict, steps, candidate.peak_bytes, candidate.is_worker});
  }
  return verdict::HeadlineProcess(processes);
}

std::string WhichWorker(const std::vector<ProcessHeadline>& headlines, size_t chosen) {
  const auto workers = absl::c_count_if(headlines, [](const ProcessHeadline& p) { return p.is_worker; });
  return absl::StrCat(
      " This is process ", headlines[chosen].header.pid, ", ",
      workers == 1 ? "the only forked worker" : absl::StrCat("one of ", workers, " forked workers"),
      "; the sites below are those of all processes.");
}

void MoveIntoModel(ProcessHeadline* chosen, ReportModel* model) {
  model->verdict = std::move(chosen->words);
  model->steps = std::move(chosen->steps);
  model->ledger = std::move(chosen->ledger);
  model->pools = std::move(chosen->pools);
  model->hypotheses = std::move(chosen->hypotheses);
  model->patterns = std::move(chosen->patterns);
  model->phases = std::move(chosen->phases);
  model->tensors = std::move(chosen->tensors);
  model->devices = std::move(chosen->devices);
  model->axis_steps = std::move(chosen->axis_steps);
  model->axis_seconds = std::move(chosen->axis_seconds);
  model->totals.peak_step = chosen->peak_step;
}

}  // namespace plateau::report
