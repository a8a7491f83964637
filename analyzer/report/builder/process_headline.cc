#include "analyzer/report/builder/process_headline.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/whole_number.h"
#include "analyzer/report/builder/device_facts.h"
#include "analyzer/report/builder/holder_facts.h"
#include "analyzer/report/builder/memory_facts.h"
#include "analyzer/report/builder/process_facts.h"
#include "analyzer/report/builder/tensor_curves.h"
#include "analyzer/report/builder/verdict_words.h"
#include "analyzer/verdict/honesty.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::report {
ProcessHeadline HeadlineOf(const process::ProcessAnalysis& process) {
  ProcessHeadline h;
  h.verdict = process.verdicts.process;
  const std::optional<size_t> site = process.verdicts.process.headline_site;
  h.words =
      ToReport(process.verdicts.process.headline, process.run.context, site ? process.SiteName(*site) : "");
  if (site) h.site = process.SiteName(*site);
  h.steps = StepsOf(process.clock.steps);
  h.peak_bytes = process.memory.heap.peak_bytes;
  h.is_worker = process.clock.is_of_parent;
  h.ended_before_parent = process.clock.ended_before_parent;
  h.ledger = LedgerOf(process);
  for (const verdict::PoolAnalysis& pool : process.verdicts.pools) {
    h.pools.push_back({pool.name, std::string(verdict::VerdictName(pool.verdict.kind)), pool.verdict.sentence,
                       Round(pool.live_bytes), Round(pool.peak_bytes), Round(pool.reserved_bytes),
                       pool.growth_bytes_per_step.value});
  }
  h.hypotheses = ToReport(process.verdicts.hypotheses);
  h.patterns = ToReport(process.verdicts.patterns);
  // The fix of a pattern that explains the verdict is better advice than the general one.
  std::vector<std::string> advice;
  for (const verdict::PatternMatch& match : process.verdicts.patterns) {
    if (match.explains_headline)
      advice.push_back(
          absl::StrCat(match.pattern->title, " (", match.pattern->id, "): ", match.pattern->fix));
  }
  if (!advice.empty() && h.verdict.headline.kind != verdict::VerdictKind::kInconclusive) {
    h.words.next_steps = std::move(advice);
  }
  h.allocators = AllocatorsOf(process);
  h.heap_holes = HolesOf(process);
  h.holders = LooksOf(process);
  h.attached = AttachedOf(process);
  h.words.held_by = HeldByHeadline(process);
  ExplainByMemory(process, h.allocators, h.heap_holes, &h.words);
  h.phases = PhasesOf(process);
  h.tensors = TensorCurvesOf(process);
  h.devices = DevicesOf(*process.memory.device_summary);
  const int64_t width = process.memory.series->bucket_steps();
  for (int64_t bucket = 0; bucket <= process.memory.series->buckets(); ++bucket) {
    const int64_t step = bucket == 0 ? 0 : (bucket - 1) * width + 1;
    h.axis_steps.push_back(static_cast<double>(step));
    h.axis_seconds.push_back(
        process.trace.Seconds(process.clock.steps.BucketBegin(static_cast<uint32_t>(step))));
  }
  h.peak_step = std::min(process.memory.heap.peak_bucket, process.clock.steps.last_bucket());
  h.command = CommandOf(process.trace.definitions);
  h.ending = EndingOf(process);
  h.header = process.trace.reader->header();
  for (const char* key : {"host", "kernel", "glibc", "python", "torch", "cuda", "device", "version"}) {
    if (const std::string& value = process.trace.definitions.Info(key); !value.empty())
      h.environment.emplace_back(key, value);
  }
  h.clock_sentence = process.clock.steps.sentence();
  h.levels = LevelsOf(process);
  return h;
}

namespace {

verdict::ProcessWeight WeightOf(const ProcessHeadline& headline) {
  const double steps = headline.ended_before_parent ? 0 : static_cast<double>(headline.steps.count);
  return {&headline.verdict, steps, headline.peak_bytes, headline.is_worker};
}

// What the workers of the same process that ended before `worker` began had kept, the one that had most.
double KeptByPredecessor(const std::vector<ProcessHeadline>& headlines, const ProcessHeadline& worker) {
  double most = 0;
  for (const ProcessHeadline& other : headlines) {
    const bool came_before = other.is_worker && worker.is_worker &&
                             other.header.parent_pid == worker.header.parent_pid &&
                             other.end_seconds < worker.begin_seconds;
    if (came_before) most = std::max(most, verdict::KeptBytes(other.verdict));
  }
  return most;
}

}  // namespace

size_t ChooseHeadline(const std::vector<ProcessHeadline>& headlines) {
  std::vector<verdict::ProcessWeight> processes;
  for (const ProcessHeadline& candidate : headlines) {
    verdict::ProcessWeight weight = WeightOf(candidate);
    weight.begin_seconds = candidate.begin_seconds;
    weight.end_seconds = candidate.end_seconds;
    weight.predecessor_kept_bytes = KeptByPredecessor(headlines, candidate);
    weight.was_replaced = absl::c_any_of(headlines, [&candidate](const ProcessHeadline& other) {
      return other.header.pid == candidate.header.pid && other.begin_seconds > candidate.begin_seconds;
    });
    processes.push_back(weight);
  }
  return verdict::HeadlineProcess(processes);
}

void SayInAWorker(ProcessHeadline* speaker) {
  std::string& summary = speaker->words.summary;
  if (summary.empty()) return;
  if (speaker->site.empty() || !absl::StartsWith(summary, speaker->site))
    summary[0] = absl::ascii_tolower(static_cast<unsigned char>(summary[0]));
  summary.insert(0, "In a worker, ");
}

std::string WhichWorker(const std::vector<ProcessHeadline>& headlines, size_t chosen) {
  const ProcessHeadline& speaker = headlines[chosen];
  const auto workers = absl::c_count_if(headlines, [](const ProcessHeadline& p) { return p.is_worker; });
  const auto alike = absl::c_count_if(headlines, [&speaker](const ProcessHeadline& p) {
    return p.is_worker && p.verdict.headline.kind == speaker.verdict.headline.kind;
  });
  std::string text =
      absl::StrCat("This is process ", speaker.header.pid, ", ",
                   workers == 1 ? "the only worker" : absl::StrCat("one of ", workers, " workers"));
  const bool has_copies = speaker.verdict.headline.kind == verdict::VerdictKind::kCacheFill ||
                          speaker.verdict.headline.kind == verdict::VerdictKind::kWarmupComplete ||
                          speaker.verdict.headline.kind == verdict::VerdictKind::kWarmupInProgress;
  if (has_copies && alike > 1) absl::StrAppend(&text, ", of which ", alike, " keep a copy of their own");
  return absl::StrCat(text, "; the sites below are those of all processes.");
}

void NameWhatWorkersKeep(const std::vector<ProcessHeadline>& headlines, ProcessHeadline* chosen) {
  if (chosen->is_worker || !verdict::IsAllClear(chosen->verdict.headline.kind)) return;
  double kept = 0, most = 0, taken = 0;
  int workers = 0;
  const ProcessHeadline* largest = nullptr;
  for (const ProcessHeadline& headline : headlines) {
    const double bytes = verdict::KeptByWorker(WeightOf(headline));
    if (bytes <= 0) continue;
    kept += bytes;
    taken = std::max(taken, KeptByPredecessor(headlines, headline));
    ++workers;
    if (bytes > most) {
      most = bytes;
      largest = &headline;
    }
  }
  if (!verdict::IsWorthNaming(kept)) return;
  std::string text = workers == 1 ? "A worker keeps " : absl::StrCat("Its ", workers, " workers keep ");
  absl::StrAppend(&text, verdict::BytesText(kept));
  const verdict::Evidence& evidence = largest->verdict.headline.evidence;
  if (verdict::IsAllClear(largest->verdict.headline.kind)) {
    if (!evidence.largest_kept.empty()) absl::StrAppend(&text, ", most of it at ", evidence.largest_kept);
  } else if (!largest->site.empty()) {
    std::string kind(verdict::VerdictName(largest->verdict.headline.kind));
    std::replace(kind.begin(), kind.end(), '_', ' ');
    absl::StrAppend(&text, ", most of it at ", largest->site, " (", kind, ")");
  }
  absl::StrAppend(&text, ".");
  if (taken > 0) {
    absl::StrAppend(&text, " A worker before ", workers == 1 ? "it" : "them", " kept up to ",
                    verdict::BytesText(taken), " and gave it back when it ended.");
  }
  AddSentence(text, &chosen->words);
}

void AddSentence(absl::string_view text, Verdict* words) {
  if (!text.empty()) absl::StrAppend(&words->sentence, words->sentence.empty() ? "" : " ", text);
}

std::string WhoElseGrows(const std::vector<ProcessHeadline>& headlines, size_t chosen) {
  const ProcessHeadline& speaker = headlines[chosen];
  if (speaker.site.empty() || !verdict::GrowsWithoutEnd(speaker.verdict.headline.kind)) return "";
  const auto growth_of = [](const ProcessHeadline& p) {
    const auto& rate = p.verdict.headline.rate_bytes_per_step;
    return rate ? rate->value * static_cast<double>(p.steps.count) : 0;
  };
  int alike = 0;
  double together = 0;
  for (const ProcessHeadline& p : headlines) {
    if (p.site != speaker.site || !verdict::GrowsWithoutEnd(p.verdict.headline.kind)) continue;
    ++alike;
    together += growth_of(p);
  }
  if (alike < 2) return "";
  const double times = growth_of(speaker) > 0 ? together / growth_of(speaker) : 0;
  const std::string all = times >= 1.1 ? absl::StrFormat(", together %.1f times as much", times) : "";
  return absl::StrCat(alike, " of ", headlines.size(), " processes grow at this line", all,
                      "; the rate and the forecast are those of process ", speaker.header.pid, " alone.");
}

size_t TitleProcess(const std::vector<ProcessHeadline>& headlines, size_t chosen) {
  if (!headlines[chosen].is_worker) return chosen;
  size_t served = 0;
  for (size_t i = 0; i < headlines.size(); ++i) {
    if (!headlines[i].is_worker && headlines[i].steps.count > headlines[served].steps.count) served = i;
  }
  return served;
}

void RefuseAllClear(size_t unread, ProcessHeadline* headline) {
  if (unread == 0 || !verdict::IsAllClear(headline->verdict.headline.kind)) return;
  const std::string what =
      absl::StrCat("nothing grew in what was recorded, but ", unread, unread == 1 ? " trace" : " traces",
                   " of the recording could not be read");
  Verdict& words = headline->words;
  words.name = std::string(verdict::VerdictName(verdict::VerdictKind::kInconclusive));
  words.reason = std::string(verdict::ReasonName(verdict::Reason::kNotCovered));
  words.summary = absl::StrCat("It cannot be told yet: ", what);
  words.sentence.clear();
  words.why = {what};
  words.detectable_bytes_per_step.reset();
  words.next_steps = {"Record again, so that nothing is left out."};
}

void MoveIntoModel(ProcessHeadline* chosen, ReportModel* model) {
  model->verdict = std::move(chosen->words);
  model->steps = std::move(chosen->steps);
  model->ledger = std::move(chosen->ledger);
  model->pools = std::move(chosen->pools);
  model->hypotheses = std::move(chosen->hypotheses);
  model->patterns = std::move(chosen->patterns);
  model->allocators = std::move(chosen->allocators);
  model->heap_holes = std::move(chosen->heap_holes);
  model->holders = std::move(chosen->holders);
  model->attached = std::move(chosen->attached);
  model->phases = std::move(chosen->phases);
  model->tensors = std::move(chosen->tensors);
  model->devices = std::move(chosen->devices);
  model->axis_steps = std::move(chosen->axis_steps);
  model->axis_seconds = std::move(chosen->axis_seconds);
  model->totals.peak_step = chosen->peak_step;
}

}  // namespace plateau::report
