#include "analyzer/verdict/hypotheses.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

using series::BirthPhase;

Hypothesis Supported(const char* name, double bytes, std::string evidence) {
  return {name, HypothesisResult::kSupported, bytes, std::move(evidence)};
}
Hypothesis RuledOut(const char* name, double bytes, std::string evidence) {
  return {name, HypothesisResult::kRuledOut, bytes, std::move(evidence)};
}
Hypothesis NotTestable(const char* name, std::string evidence) {
  return {name, HypothesisResult::kNotTestable, 0, std::move(evidence)};
}

bool AnyFrames(const EvidenceBundle& e) {
  return std::any_of(e.sites.begin(), e.sites.end(),
                     [](const SiteEvidence& s) { return !s.info.frames.empty() || !s.info.name.empty(); });
}

bool AnyPhases(const EvidenceBundle& e) {
  return std::any_of(e.sites.begin(), e.sites.end(), [](const SiteEvidence& s) {
    return std::any_of(s.traits.retained_by_phase.begin(), s.traits.retained_by_phase.end(),
                       [](double bytes) { return bytes > 0; });
  });
}

std::string Percent(double share) { return NumberText(std::round(share * 100)) + " %"; }

std::string SiteText(const SiteEvidence& site) {
  if (!site.info.name.empty()) return site.info.name;
  return site.info.frames.empty() ? "a site without a name" : site.info.frames.front();
}

// The headline is undecided: nothing that could explain it may be ruled out.
bool IsOpen(const EvidenceBundle& e) { return e.process.headline.kind == VerdictKind::kInconclusive; }

// The site that the headline is about, when it grows without an end in sight: its cause is never ruled out, however
// little it is by now.
const SiteEvidence* GrowingHeadlineSite(const EvidenceBundle& e) {
  const std::optional<size_t> site = e.process.headline_site;
  return site && *site < e.sites.size() && GrowsWithoutEnd(e.process.headline.kind) ? &e.sites[*site]
                                                                                    : nullptr;
}

// Do the sites that `belongs` selects keep anything material? `who` names them in the sentence.
Hypothesis AboutSites(const EvidenceBundle& e, const char* name, const char* who,
                      const std::function<bool(const SiteEvidence&)>& belongs) {
  if (e.sites.empty()) return NotTestable(name, "no call sites were recorded");
  if (!e.run.CountsSteps()) return NotTestable(name, "no training step was seen");
  if (!AnyFrames(e) && !AnyPhases(e)) return NotTestable(name, "the sites have neither names nor phases");
  if (IsOpen(e) && !e.process.headline_site) {
    return NotTestable(
        name, "the verdict is open, and no call site explains what grows: " + e.process.headline.why);
  }
  double kept = 0, undecided = 0;
  bool is_named = false;
  const SiteEvidence* largest = nullptr;
  for (const SiteEvidence& site : e.sites) {
    if (!site.Keeps() || !belongs(site)) continue;  // in this order: names take long to look through
    kept += site.retained_bytes;
    is_named = is_named || e.IsNamedByHeadline(site);
    if (site.verdict.kind == VerdictKind::kInconclusive) undecided += site.retained_bytes;
    if (largest == nullptr || site.retained_bytes > largest->retained_bytes) largest = &site;
  }
  const double all = e.RetainedInSteps();
  if (largest != nullptr && (kept >= e.Material() || is_named)) {
    std::string text = std::string(who) + " keep " + BytesText(kept);
    if (all > 0) text += ", " + Percent(kept / all) + " of what the steps left behind";
    text += "; most of it at " + SiteText(*largest) + " (" + std::string(VerdictName(largest->verdict.kind)) +
            ")";
    if (kept < e.Material()) text += "; that is little, but the headline is about it";
    return Supported(name, kept, text);
  }
  if (IsOpen(e) && undecided > 0) {
    return NotTestable(name, std::string(who) + " keep " + BytesText(undecided) +
                                 " so far, and it is not decided yet whether they stay");
  }
  const std::string less = kept > 0 ? " keep " + BytesText(kept) + " of what the steps made, less than the " +
                                          BytesText(e.Material()) + " that would matter"
                                    : " keep nothing of what the steps made";
  return RuledOut(name, kept, who + less);
}

// A clock that counts no steps has no rate a step.
std::string RiseText(const EvidenceBundle& e, const char* who, const CurveTrend& trend) {
  std::string text = std::string(who) + " rose by " + BytesText(trend.rise_bytes);
  if (e.run.CountsSteps()) text += ", lately " + RateText(trend.rate_bytes_per_step);
  return text;
}

Hypothesis AboutTrend(const EvidenceBundle& e, const char* name, const char* who, const CurveTrend& trend) {
  if (!trend.known) return NotTestable(name, "the ledger has too few samples");
  const std::string text = RiseText(e, who, trend);
  return trend.rise_bytes >= 5 * e.Material() ? Supported(name, trend.rise_bytes, text)
                                              : RuledOut(name, trend.rise_bytes, text);
}

Hypothesis Evaluation(const EvidenceBundle& e) {
  constexpr const char* kName = "evaluation";
  const series::EventTrack* track = e.run.FindEvents("eval");
  if (track == nullptr || track->steps.empty()) return NotTestable(kName, "the run had no evaluation");
  double kept = 0, spike = 0;
  for (const SiteEvidence& site : e.sites) {
    if (site.verdict.evidence.event == "eval" && site.Keeps()) kept += site.retained_bytes;
    if (site.traits.PhaseShare(BirthPhase::kEvaluation) > 0.5 && site.Keeps() &&
        site.verdict.evidence.event != "eval") {
      kept += site.retained_bytes;
    }
    spike = std::max(spike, site.verdict.evidence.spike_bytes.value_or(0));
  }
  const SiteEvidence* headline = GrowingHeadlineSite(e);
  const bool is_headline = headline != nullptr && headline->verdict.evidence.event == "eval";
  if (kept >= e.Material() || is_headline) {
    return Supported(
        kName, kept,
        NumberText(static_cast<double>(track->steps.size())) + " evaluations left " + BytesText(kept));
  }
  if (kept > 0 && IsOpen(e)) {
    return NotTestable(kName, "evaluations left " + BytesText(kept) +
                                  " so far, and it is not decided yet whether that goes on");
  }
  std::string text =
      kept > 0 ? "evaluations left " + BytesText(kept) + ", and " + BytesText(e.Material()) + " would matter"
               : "what evaluations allocated was freed";
  if (spike > 0) text += " (a peak of " + BytesText(spike) + " each)";
  return RuledOut(kName, kept, text);
}

Hypothesis Checkpoints(const EvidenceBundle& e) {
  constexpr const char* kName = "checkpoints";
  const series::EventTrack* track = e.run.FindEvents("checkpoint");
  if (track == nullptr || track->steps.empty())
    return NotTestable(kName, "no checkpoint was saved during the run");
  double kept = 0;
  for (const SiteEvidence& site : e.sites) {
    const bool belongs =
        site.verdict.evidence.event == "checkpoint" || site.traits.PhaseShare(BirthPhase::kCheckpoint) > 0.5;
    if (belongs && site.Keeps()) kept += site.retained_bytes;
  }
  const std::string text =
      NumberText(static_cast<double>(track->steps.size())) + " checkpoints left " + BytesText(kept);
  const SiteEvidence* headline = GrowingHeadlineSite(e);
  const bool is_headline = headline != nullptr && headline->verdict.evidence.event == "checkpoint";
  return kept >= e.Material() || is_headline ? Supported(kName, kept, text) : RuledOut(kName, kept, text);
}

Hypothesis Workers(const EvidenceBundle& e) {
  constexpr const char* kName = "DataLoader workers (copy-on-write)";
  if (e.workers.empty()) return NotTestable(kName, "the process forked no workers");
  for (const Component& component : e.process.components) {
    if (component.kind != VerdictKind::kWorkerDuplication) continue;
    std::string text = NumberText(static_cast<double>(e.workers.size())) + " workers copied " +
                       BytesText(component.bytes) + " of the parent's pages";
    if (!e.copied.empty()) text += "; most belong to " + SiteText(e.sites[e.copied.front().site]);
    return Supported(kName, component.bytes, text);
  }
  double growth = 0;
  for (const series::WorkerSeries& worker : e.workers) {
    if (worker.private_bytes.size() > 1) growth += worker.private_bytes.back() - worker.private_bytes.front();
  }
  return RuledOut(kName, growth,
                  "private memory of " + NumberText(static_cast<double>(e.workers.size())) +
                      " workers changed by " + BytesText(growth));
}

Hypothesis GarbageCollection(const EvidenceBundle& e) {
  constexpr const char* kName = "garbage collection delay";
  if (!e.has_python) return NotTestable(kName, "no Python interpreter was seen");
  if (!e.run.CountsSteps()) return NotTestable(kName, "no training step was seen");
  double waiting = 0;
  for (const SiteEvidence& site : e.sites) {
    const bool bursts = site.traits.burst_free_share > 0.8 && site.verdict.kind == VerdictKind::kSteady &&
                        site.verdict.evidence.maturity_steps.value_or(0) >= 3;
    if (bursts) waiting += site.peak_bytes;
  }
  const std::string text =
      "objects freed in bursts held up to " + BytesText(waiting) + " between two collections";
  if (IsOpen(e) && waiting < e.Material()) {
    return NotTestable(kName, "the verdict is open, and what waits for a collection may be what grows");
  }
  return waiting >= e.Material() ? Supported(kName, waiting, text) : RuledOut(kName, waiting, text);
}

Hypothesis Fragmentation(const EvidenceBundle& e) {
  constexpr const char* kName = "allocator fragmentation";
  if (!e.gap.known) return NotTestable(kName, "the ledger has too few samples");
  const std::string text = RiseText(e, "the allocator's gap", e.gap);
  for (const Component& component : e.process.components) {
    if (component.pool != "host") continue;
    if (component.kind == VerdictKind::kFragmentation || component.kind == VerdictKind::kAllocatorRetention) {
      return Supported(kName, component.bytes, text);
    }
  }
  return RuledOut(kName, e.gap.rise_bytes, text);
}

Hypothesis PinnedMemory(const EvidenceBundle& e) {
  constexpr const char* kName = "pinned memory";
  for (const PoolCurve& pool : e.pools) {
    if (!ContainsWord(pool.name, "pinned") || pool.reserved.size() < 2) continue;
    const double rise = pool.reserved.back() - pool.reserved.front();
    const std::string text =
        "pinned memory rose by " + BytesText(rise) + " to " + BytesText(pool.reserved.back());
    return rise >= e.Material() ? Supported(kName, rise, text) : RuledOut(kName, rise, text);
  }
  return NotTestable(kName, "no pinned memory was recorded");
}

Hypothesis Observer(const EvidenceBundle& e) {
  constexpr const char* kName = "the observer itself";
  if (!e.own.known) return NotTestable(kName, "the ledger has too few samples");
  const double own = e.ledger.empty() ? 0 : e.ledger.back().own;
  const std::string text =
      "Plateau's own buffers hold " + BytesText(own) + " and rose by " + BytesText(e.own.rise_bytes);
  return e.own.rise_bytes >= e.Material() ? Supported(kName, e.own.rise_bytes, text)
                                          : RuledOut(kName, e.own.rise_bytes, text);
}

// What a process counts beside its bytes.
Hypothesis PilingCounts(const EvidenceBundle& e) {
  constexpr const char* kName = "threads, files and mappings";
  const std::pair<const char*, const CountTrend*> counts[] = {
      {"threads", &e.threads}, {"open files", &e.open_files}, {"mappings", &e.mappings}};
  std::string piling, all;
  for (const auto& [what, count] : counts) {
    if (!count->known) continue;
    std::string& text = count->is_piling_up ? piling : all;
    if (!text.empty()) text += "; ";
    text += PileText(what, *count, e.run.CountsSteps());
  }
  if (!piling.empty()) return Supported(kName, 0, piling);
  if (all.empty()) return NotTestable(kName, "they were counted too seldom");
  return RuledOut(kName, 0, "none of them piles up: " + all);
}

bool IsDataLoading(const SiteEvidence& s) {
  return s.traits.PhaseShare(BirthPhase::kFetch) > 0.5 ||
         s.Mentions({"dataset", "getitem", "dataloader", "imread", "decode", "load_image", "image.open",
                     "imagefile"});
}

double KeptBatchBytes(const EvidenceBundle& e) {
  double bytes = 0;
  for (const SiteEvidence& site : e.sites) {
    if (site.IsKeptBatch()) bytes += site.retained_bytes;
  }
  return bytes;
}

// Examples that stay are the data set's doing. Batches made of them are handed to the training loop, and what
// keeps those is not known from who made them.
Hypothesis DatasetLoading(const EvidenceBundle& e) {
  Hypothesis result = AboutSites(e, "dataset loading", "sites of data loading",
                                 [](const SiteEvidence& s) { return IsDataLoading(s) && !s.IsKeptBatch(); });
  if (const double batches = KeptBatchBytes(e); result.result == HypothesisResult::kRuledOut && batches > 0) {
    result.evidence +=
        "; " + BytesText(batches) + " are batches that stay after they were handed to the loop";
  }
  return result;
}

Hypothesis Collator(const EvidenceBundle& e) {
  constexpr const char* kName = "collator";
  const SiteEvidence* headline = GrowingHeadlineSite(e);
  const bool is_headline = headline != nullptr && headline->IsKeptBatch();
  if (const double batches = KeptBatchBytes(e); batches >= e.Material() || is_headline) {
    return NotTestable(kName,
                       "it made the " + BytesText(batches) +
                           " of batches that stay, and hands them on; a trace shows who made them, not who "
                           "keeps them");
  }
  return AboutSites(e, kName, "sites of the collator",
                    [](const SiteEvidence& s) { return s.Mentions({"collat"}); });
}

Hypothesis KeptGraph(const EvidenceBundle& e) {
  Hypothesis result = AboutSites(e, "autograd graph kept", "results of forward passes",
                                 [](const SiteEvidence& s) { return s.IsKeptGraph(); });
  if (result.result != HypothesisResult::kSupported) return result;
  for (const SiteEvidence& s : e.sites) {
    if (!s.IsKeptGraph() || s.info.operators.empty()) continue;
    result.evidence += "; made by " + s.info.operators.front();
    for (size_t i = 1; i < s.info.operators.size() && i < 4; ++i)
      result.evidence += ", " + s.info.operators[i];
    break;
  }
  return result;
}

// A list keeps what others allocate, so a leak elsewhere does not clear the lists.
Hypothesis LogLists(const EvidenceBundle& e) {
  constexpr const char* kName = "log and metric lists";
  Hypothesis result = AboutSites(e, kName, "sites of logging and metrics", [](const SiteEvidence& s) {
    return s.Mentions(
        {"log_history", "metric", "logger", "tensorboard", "history.append", "training_step_outputs"});
  });
  if (result.result == HypothesisResult::kRuledOut && e.process.headline_site &&
      (GrowsWithoutEnd(e.process.headline.kind) || IsOpen(e))) {
    return NotTestable(kName, "logging itself keeps nothing; whether a list of it keeps what " +
                                  SiteText(e.sites[*e.process.headline_site]) + " made is not in a trace");
  }
  return result;
}

}  // namespace

std::string_view HypothesisResultName(HypothesisResult result) {
  switch (result) {
    case HypothesisResult::kRuledOut:
      return "ruled_out";
    case HypothesisResult::kSupported:
      return "supported";
    case HypothesisResult::kNotTestable:
      return "not_testable";
  }
  return "";
}

std::vector<Hypothesis> TestHypotheses(const EvidenceBundle& e) {
  std::vector<Hypothesis> all;
  all.push_back(DatasetLoading(e));
  all.push_back(AboutSites(e, "gradient accumulation", "gradient buffers", [](const SiteEvidence& s) {
    return s.traits.PhaseShare(BirthPhase::kBackward) > 0.5 ||
           s.Mentions({"accumulategrad", "accumulate_grad"});
  }));
  all.push_back(KeptGraph(e));
  all.push_back(AboutSites(e, "optimizer state", "sites of the optimizer", [](const SiteEvidence& s) {
    return s.traits.PhaseShare(BirthPhase::kOptimizer) > 0.5 ||
           s.Mentions({"exp_avg", "optimizer", "adam", "adagrad", "momentum_buffer"});
  }));
  all.push_back(Evaluation(e));
  all.push_back(LogLists(e));
  all.push_back(AboutSites(e, "processor and tokenizer caches", "sites of processors and tokenizers",
                           [](const SiteEvidence& s) {
                             return s.Mentions({"tokeniz", "processor", "lru_cache", "mm_cache"});
                           }));
  all.push_back(Collator(e));
  all.push_back(Workers(e));
  all.push_back(GarbageCollection(e));
  all.push_back(Fragmentation(e));
  all.push_back(AboutTrend(e, "page cache", "file-backed pages", e.file));
  all.push_back(PinnedMemory(e));
  all.push_back(AboutSites(e, "compile and shape caches", "sites of compilers and kernel caches",
                           [](const SiteEvidence& s) {
                             return s.Mentions({"dnnl", "mkldnn", "onednn", "ideep", "cudnn", "inductor",
                                                "dynamo", "triton", "torchscript", "jit::"});
                           }));
  all.push_back(Checkpoints(e));
  all.push_back(PilingCounts(e));
  all.push_back(Observer(e));
  return all;
}

}  // namespace plateau::verdict
