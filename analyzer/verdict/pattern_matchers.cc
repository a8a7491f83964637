#include "analyzer/verdict/pattern_matchers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/verdict/holder_patterns.h"
#include "analyzer/verdict/method/statistics.h"
#include "analyzer/verdict/pattern_thresholds.h"
#include "analyzer/verdict/piling_files.h"
#include "analyzer/verdict/vocabulary/number_text.h"

namespace plateau::verdict {
namespace {

using series::BirthPhase;
using series::HolderPath;
using Match = std::optional<PatternMatch>;
using SiteTest = std::function<bool(const SiteEvidence&)>;

bool IsWarmup(const SiteEvidence& s) {
  return s.verdict.kind == VerdictKind::kWarmupComplete || s.verdict.kind == VerdictKind::kWarmupInProgress;
}

bool InPool(const SiteEvidence& s, std::string_view pool) { return s.info.pool.starts_with(pool); }

std::string SiteText(const SiteEvidence& s) {
  if (!s.info.name.empty()) return s.info.name;
  return s.info.frames.empty() ? "a site" : s.info.frames.front();
}

Match Of(double bytes, std::string evidence, std::optional<size_t> site = std::nullopt) {
  return PatternMatch{nullptr, site, bytes, std::move(evidence)};
}

// The site with the most bytes among those that pass; bytes are what it retains, or its peak when nothing
// stays. The line that the headline names needs no `at_least`.
Match LargestSite(const EvidenceBundle& e, double at_least, const SiteTest& test) {
  std::optional<size_t> best;
  double best_bytes = 0;
  for (size_t i = 0; i < e.sites.size(); ++i) {
    const SiteEvidence& s = e.sites[i];
    const double bytes =
        s.Keeps() ? s.retained_bytes : std::max(s.peak_bytes, s.verdict.evidence.spike_bytes.value_or(0));
    // What importing a module keeps says nothing about what the program does with it.
    const bool matters = bytes >= at_least || e.IsNamedByHeadline(s);
    if (!matters || bytes <= best_bytes || s.info.is_import || !test(s)) continue;
    best = i;
    best_bytes = bytes;
  }
  if (!best) return std::nullopt;
  const SiteEvidence& s = e.sites[*best];
  std::string text = SiteText(s) + (s.Keeps() ? " keeps " : " holds up to ") + BytesText(best_bytes) + " (" +
                     std::string(VerdictName(s.verdict.kind)) + ")";
  if (s.verdict.rate_bytes_per_step) text += ", " + RateText(s.verdict.rate_bytes_per_step->value);
  return Of(best_bytes, text, best);
}

const Component* FindComponent(const EvidenceBundle& e, VerdictKind kind) {
  for (const Component& component : e.process.components) {
    if (component.kind == kind && component.pool == "host") return &component;
  }
  return nullptr;
}

const PoolCurve* FindPool(const EvidenceBundle& e, std::string_view prefix) {
  for (const PoolCurve& pool : e.pools) {
    if (pool.name.starts_with(prefix) && pool.live.size() >= kLeastPoolReadings &&
        pool.reserved.size() == pool.live.size())
      return &pool;
  }
  return nullptr;
}

double Rise(const std::vector<double>& x) {
  const size_t edge = std::max<size_t>(1, x.size() / kEdgeParts);
  return Median(Values(x).last(edge)) - Median(Values(x).first(edge));
}

Match CopiedPages(const EvidenceBundle& e) {
  const Component* component = FindComponent(e, VerdictKind::kWorkerDuplication);
  if (component == nullptr) return std::nullopt;
  std::string text =
      "workers copied " + BytesText(component->bytes) + " of pages they shared with the parent";
  if (e.copied.empty()) return Of(component->bytes, text);
  text += ", most of it allocated at " + SiteText(e.sites[e.copied.front().site]);
  return Of(component->bytes, text, e.copied.front().site);
}

Match GrowingWorkers(const EvidenceBundle& e) {
  double growth = 0;
  int workers = 0;
  for (const ProcessEvidence& process : e.processes) {
    if (!ContainsWord(process.role, "worker") || !process.grows_at_epochs) continue;
    growth += process.heap_growth_bytes;
    ++workers;
  }
  if (growth < e.Material()) return std::nullopt;
  return Of(growth, NumberText(workers) + " workers grew by " + BytesText(growth) + " in all, at epoch ends");
}

Match PinnedRounding(const EvidenceBundle& e) {
  const PoolCurve* pool = FindPool(e, "pinned");
  if (pool == nullptr) return std::nullopt;
  const double waste = pool->reserved.back() - pool->live.back();
  if (waste < kPoolShare * pool->reserved.back() || waste < e.Material()) return std::nullopt;
  for (const SiteEvidence& s : e.sites) {
    if (InPool(s, "pinned") && s.traits.alloc_count > 0 && s.traits.power_of_two_share < kRoundedToPowers)
      return std::nullopt;
  }
  return Of(waste,
            BytesText(pool->reserved.back()) + " pinned for " + BytesText(pool->live.back()) + " asked for");
}

Match PinnedCache(const EvidenceBundle& e) {
  const PoolCurve* pool = FindPool(e, "pinned");
  if (pool == nullptr) return std::nullopt;
  const double rise = Rise(pool->reserved);
  const size_t half = pool->reserved.size() / 2;
  const bool never_fell = std::is_sorted(pool->reserved.begin(), pool->reserved.end());
  const double late_rise = pool->reserved.back() - pool->reserved[half];
  if (rise < e.Material() || !never_fell || late_rise > kLevelledOff * rise) return std::nullopt;
  return Of(rise, "pinned memory rose by " + BytesText(rise) + " in the first half and was never returned");
}

Match KeptFree(const EvidenceBundle& e) {
  for (VerdictKind kind : {VerdictKind::kFragmentation, VerdictKind::kAllocatorRetention}) {
    if (const Component* component = FindComponent(e, kind)) {
      return Of(component->bytes, BytesText(component->bytes) + " are held by the allocator and not live (" +
                                      std::string(VerdictName(kind)) + ")");
    }
  }
  return std::nullopt;
}

Match FilePages(const EvidenceBundle& e) {
  if (!e.file.known || e.file.rise_bytes < kFileRise * e.Material()) return std::nullopt;
  return Of(e.file.rise_bytes, "file-backed pages rose by " + BytesText(e.file.rise_bytes) +
                                   ", live memory by " + BytesText(e.live.rise_bytes));
}

Match DeviceFragmentation(const EvidenceBundle& e) {
  const PoolCurve* pool = FindPool(e, "device");
  if (pool == nullptr) return std::nullopt;
  const double reserved = Rise(pool->reserved);
  const double live = Rise(pool->live);
  if (reserved < kPoolShare * pool->reserved.back() || live > kDoesNotFollow * reserved) return std::nullopt;
  return Of(reserved, pool->name + ": reserved rose by " + BytesText(reserved) + ", live tensors by " +
                          BytesText(live));
}

Match SharedMemory(const EvidenceBundle& e) {
  double rise = e.shared.known ? e.shared.rise_bytes : 0;
  if (const PoolCurve* pool = FindPool(e, "shared")) rise = std::max(rise, Rise(pool->live));
  if (rise < kSharedRise * e.Material()) return std::nullopt;
  return Of(rise, "shared memory rose by " + BytesText(rise));
}

Match Observer(const EvidenceBundle& e) {
  Match site = LargestSite(e, e.Material(), [](const SiteEvidence& s) {
    return s.Keeps() && s.IsAllocatedIn({"kineto", "torch/profiler", "record_memory_history", "wandb",
                                         "tracemalloc", "memory_viz"});
  });
  if (site) return site;
  if (e.own.known && e.own.rise_bytes >= e.Material()) {
    return Of(e.own.rise_bytes, "Plateau's own buffers rose by " + BytesText(e.own.rise_bytes));
  }
  return std::nullopt;
}

// Peaks within the steps rise, what stays after them does not.
Match LongerInputs(const EvidenceBundle& e) {
  std::vector<double> live, peak;
  for (const series::LedgerSample& sample : e.ledger) {
    if (sample.step < 1) continue;
    live.push_back(sample.live + sample.mapped_live);
    peak.push_back(sample.live_peak);
  }
  if (live.size() < kLeastLedgerReadings) return std::nullopt;
  const double peak_rise = Rise(peak);
  const double live_rise = Rise(live);
  if (peak_rise < kPeakRise * e.Material() || std::abs(live_rise) > kDoesNotFollow * peak_rise)
    return std::nullopt;
  return Of(peak_rise, "the peak within a step rose by " + BytesText(peak_rise) + ", what stays by " +
                           BytesText(live_rise));
}

Match HighWaterMark(const EvidenceBundle& e) {
  double peak = 0;
  for (const series::LedgerSample& sample : e.ledger) peak = std::max(peak, sample.rss());
  if (e.ledger.size() < kLeastLedgerReadings) return std::nullopt;
  const double now = e.ledger.back().rss();
  if (peak < kFellFromPeak * now || IsLeak(e.process.headline.kind)) return std::nullopt;
  return Of(peak - now, "the highest RSS was " + BytesText(peak) + ", it is " + BytesText(now) + " now");
}

Match KeptGraph(const EvidenceBundle& e) {
  return LargestSite(e, kSmallKeeper * e.Material(), [&e](const SiteEvidence& s) {
    // How many objects a step leaves is not known of an undecided site, which the headline may name all the same.
    const bool in_each_step = s.verdict.evidence.objects_per_step.value_or(0) >= kOneInEachStep;
    return s.IsKeptGraph() && (in_each_step || e.IsNamedByHeadline(s));
  });
}

// What a walk over the living objects did not reach but the collector knows.
Match SeenGarbage(const EvidenceBundle& e) {
  const auto garbage = [](const SiteEvidence& s) {
    return s.holding != nullptr && s.holding->garbage_share > kMostly
               ? s.holding->garbage_share * s.held_bytes
               : 0;
  };
  std::optional<size_t> most;
  for (size_t i = 0; i < e.sites.size(); ++i) {
    if (garbage(e.sites[i]) < e.Material()) continue;
    if (!most || garbage(e.sites[i]) > garbage(e.sites[*most])) most = i;
  }
  if (!most) return std::nullopt;
  const SiteEvidence& site = e.sites[*most];
  const HolderPath* cycle = site.holding->main();
  std::string text =
      "gc.collect() would free about " + BytesText(garbage(site)) + " of what " + SiteText(site) + " made";
  if (cycle != nullptr && cycle->end == series::HeldBy::kGarbage) text += "; " + cycle->text;
  return Of(garbage(site), text, most);
}

Match WaitingGarbage(const EvidenceBundle& e) {
  if (!e.has_python) return std::nullopt;
  if (Match seen = SeenGarbage(e)) return seen;
  return LargestSite(e, e.Material(), [](const SiteEvidence& s) {
    return s.verdict.kind == VerdictKind::kSteady && s.traits.burst_free_share > kCollectorFrees &&
           s.verdict.evidence.maturity_steps.value_or(0) >= kGarbageSteps &&
           !s.verdict.evidence.cycle_amplitude_bytes &&
           s.traits.temporary_bytes < kOutlivesSteps * s.traits.alloc_bytes;
  });
}

Match Communicator(const EvidenceBundle& e) {
  return LargestSite(e, e.Material(), [](const SiteEvidence& s) {
    return s.Mentions({"nccl"}) && InPool(s, "device") && !IsLeak(s.verdict.kind);
  });
}

Match Checkpoints(const EvidenceBundle& e) {
  return LargestSite(e, e.Material(), [](const SiteEvidence& s) {
    const bool saving = s.verdict.evidence.event == "checkpoint" ||
                        s.traits.PhaseShare(BirthPhase::kCheckpoint) > kMostly ||
                        s.Mentions({"torch.save", "save_checkpoint", "state_dict", "save_pretrained"});
    const bool spiky = s.verdict.kind == VerdictKind::kSpikeRecovered ||
                       s.verdict.kind == VerdictKind::kSpikeRetained ||
                       s.verdict.kind == VerdictKind::kStaircase;
    return saving && spiky;
  });
}

Match PilingThreads(const EvidenceBundle& e) {
  if (!e.threads.is_piling_up) return std::nullopt;
  std::string text = PileText("threads", e.threads, e.run.CountsSteps());
  if (e.started_threads.empty()) return Of(0, text);
  const StartedThreads& most = e.started_threads.front();
  text += "; " + NumberText(most.threads) + " of those at the end were started at " + most.starter;
  // The headline's own site first: one line may hold memory of several kinds.
  std::optional<size_t> site;
  for (size_t i = 0; i < e.sites.size(); ++i) {
    if (e.sites[i].info.name == most.starter && (!site || e.process.headline_site == i)) site = i;
  }
  return Of(site ? e.sites[*site].retained_bytes : 0, text, site);
}

// The count says that they pile up. The buffers that stay say where they are opened: an open file of Python's has one
// of 8 KiB, one of C's 4 KiB. A line that leaks those is told without the count too.
Match PilingFiles(const EvidenceBundle& e) {
  const bool piles_up = e.open_files.is_piling_up;
  Match opener = LargestSite(e, 1, [&](const SiteEvidence& s) {
    return (IsLeak(s.verdict.kind) || (piles_up && s.Keeps())) && OpensFiles(s);
  });
  if (!piles_up) return opener;
  const std::string text = PileText("open files", e.open_files, e.run.CountsSteps());
  if (!opener) return Of(0, text);
  opener->evidence = text + "; " + opener->evidence;
  return opener;
}

Match PilingMappings(const EvidenceBundle& e) {
  if (!e.mappings.is_piling_up) return std::nullopt;
  return Of(0, PileText("mappings", e.mappings, e.run.CountsSteps()));
}

Match OpenFigures(const EvidenceBundle& e) {
  return LargestSite(e, kSmallKeeper * e.Material(), [](const SiteEvidence& s) {
    return IsLeak(s.verdict.kind) &&
           s.Mentions({"matplotlib/pyplot", "matplotlib/figure", "matplotlib/backends"});
  });
}

Match OpenWriters(const EvidenceBundle& e) {
  const bool piles_up = e.threads.is_piling_up;
  return LargestSite(e, piles_up ? 1 : kSmallKeeper * e.Material(), [&](const SiteEvidence& s) {
    return (IsLeak(s.verdict.kind) || (piles_up && s.Keeps())) &&
           s.Mentions({"event_file_writer", "summarywriter", "tensorboardx"});
  });
}

Match KeptExceptions(const EvidenceBundle& e) {
  return LargestSite(e, 1, [](const SiteEvidence& s) {
    return IsLeak(s.verdict.kind) && s.IsAllocatedIn({"pytraceback_here", "tb_create_raw"});
  });
}

Match AnySite(const EvidenceBundle& e, double share, const SiteTest& test) {
  return LargestSite(e, share * e.Material(), test);
}

const std::map<std::string_view, std::function<Match(const EvidenceBundle&)>>& Matchers() {
  static const std::map<std::string_view, std::function<Match(const EvidenceBundle&)>> matchers = {
      {"K01", CopiedPages},
      {"K02", GrowingWorkers},
      {"K03", PinnedRounding},
      {"K04", PinnedCache},
      {"K05",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           const bool evaluating = s.Mentions({"nested_concat", "nested_numpify", "evaluation_loop",
                                               "prediction_loop", "evaluate", "predict"}) ||
                                   s.traits.PhaseShare(BirthPhase::kEvaluation) > kMostly;
           return evaluating && (s.verdict.kind == VerdictKind::kSpikeRecovered ||
                                 s.verdict.kind == VerdictKind::kSpikeRetained);
         });
       }},
      {"K06", KeptGraph},
      {"K07",
       [](const EvidenceBundle& e) {
         return AnySite(e, kSmallKeeper, [](const SiteEvidence& s) {
           const bool list = s.Mentions({"metric", "log_history", "logger", "step_outputs", "epoch_end",
                                         "history", "losses.append", "outputs.append"});
           return list && (s.Keeps() || s.verdict.evidence.cycle_amplitude_bytes.has_value());
         });
       }},
      {"K08", WaitingGarbage},
      {"K09", KeptFree},
      {"K10", FilePages},
      {"K11",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           const bool examples =
               s.Mentions({"decode", "image", "pil", "imread", "jpeg", "getitem", "dataset"}) ||
               s.traits.PhaseShare(BirthPhase::kFetch) > kMostly;
           return examples && (s.verdict.kind == VerdictKind::kCacheFill ||
                               (s.verdict.kind == VerdictKind::kWarmupComplete &&
                                s.verdict.evidence.fill_like.value_or(false)));
         });
       }},
      {"K12",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           return s.traits.eviction_share > kEvicted &&
                  s.traits.temporary_bytes < kOutlivesSteps * s.traits.alloc_bytes &&
                  s.verdict.evidence.maturity_steps.value_or(kEvictionSteps) >= kEvictionSteps &&
                  !IsLeak(s.verdict.kind) && s.Mentions({"cache", "lru", "processor", "multimodal", "mm_"});
         });
       }},
      {"K13",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           return s.Mentions({"tokeniz", "bpe", "sentencepiece"}) && s.Keeps();
         });
       }},
      {"K14",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           return s.Mentions({"dnnl", "mkldnn", "onednn", "ideep", "cudnn"}) && IsWarmup(s) &&
                  (s.traits.new_size_share > kMostly || s.traits.distinct_sizes >= kManySizes) &&
                  s.verdict.by_step.value_or(kTuningSteps + 1) > kTuningSteps;
         });
       }},
      {"K15",
       [](const EvidenceBundle& e) {
         return AnySite(e, kSmallKeeper, [](const SiteEvidence& s) {
           // The compilers at work, not code that they made or modules of theirs that others call.
           return s.Keeps() && s.Mentions({"convert_frame", "compile_fx", "codecache", "async_compile",
                                           "triton/compiler", "llvm::"});
         });
       }},
      {"K16",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           return s.Mentions(
                      {"cudnn", "cublas", "workspace", "benchmark", "find_algorithm", "mkldnn", "dnnl"}) &&
                  s.verdict.kind == VerdictKind::kWarmupComplete && s.verdict.by_step &&
                  *s.verdict.by_step <= kTuningSteps;
         });
       }},
      {"K17", DeviceFragmentation},
      {"K18", Communicator},
      {"K19",
       [](const EvidenceBundle& e) {
         return AnySite(e, kTinyKeeper, [](const SiteEvidence& s) {
           return s.Mentions({"nccl", "gloo", "all_reduce", "allreduce"}) && InPool(s, "host") &&
                  IsLeak(s.verdict.kind);
         });
       }},
      {"K20", Checkpoints},
      {"K21", SharedMemory},
      {"K22", Observer},
      {"K23",
       [](const EvidenceBundle& e) {
         return AnySite(e, kSmallKeeper, [](const SiteEvidence& s) {
           return s.Mentions({"libav", "avcodec", "decord", "ffmpeg", "torchcodec", "videoreader"}) &&
                  IsLeak(s.verdict.kind);
         });
       }},
      {"K24",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           // Buffers that the reader of shards itself allocates, that outlive some steps, and that end together.
           return s.IsAllocatedIn(
                      {"arrow::", "parquet::", "libarrow", "libparquet", "pyarrow", "webdataset"}) &&
                  s.traits.burst_free_share > kFreedTogether && !IsLeak(s.verdict.kind) &&
                  s.traits.temporary_bytes < kOutlivesSteps * s.traits.alloc_bytes;
         });
       }},
      {"K25", LongerInputs},
      {"K26", HighWaterMark},
      {"K27",
       [](const EvidenceBundle& e) {
         return AnySite(e, 1, [](const SiteEvidence& s) {
           return s.Mentions({"pixel_values", "image", "vision", "pil"}) &&
                  s.verdict.kind == VerdictKind::kInconclusive &&
                  (s.verdict.reason == Reason::kFirstPass || s.verdict.reason == Reason::kEpochUnknown);
         });
       }},
      {"K28", PilingThreads},
      {"K29", PilingFiles},
      {"K42", PilingMappings},
      {"K30", OpenFigures},
      {"K31", OpenWriters},
      {"K32", KeptExceptions},
  };
  return matchers;
}

}  // namespace

std::optional<PatternMatch> MatchPattern(const Pattern& pattern, const EvidenceBundle& evidence) {
  if (IsHolderPattern(pattern.id)) {
    Match held = MatchHolderPattern(pattern.id, evidence);
    if (held) held->pattern = &pattern;
    return held;
  }
  const auto matcher = Matchers().find(pattern.id);
  if (matcher == Matchers().end()) return std::nullopt;
  Match match = matcher->second(evidence);
  if (match) match->pattern = &pattern;
  return match;
}

}  // namespace plateau::verdict
