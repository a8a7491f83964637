#include "analyzer/report/builder/rank_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "analyzer/base/even_places.h"
#include "analyzer/report/builder/process_facts.h"
#include "analyzer/report/ranks/rank_words.h"
#include "analyzer/verdict/vocabulary/verdict_kind.h"

namespace plateau::report {
namespace {

// In bytes. Smaller sites that do not grow are no difference between ranks.
constexpr int64_t kLargeSite = 1 << 20;
constexpr size_t kCurvePoints = 64;
constexpr size_t kCurves = 64;  // of more ranks, the odd ones and the first

RankCurve CurveOf(const std::vector<LedgerReading>& ledger) {
  RankCurve curve;
  for (const size_t place : EvenPlaces(ledger.size(), kCurvePoints)) {
    const LedgerReading& reading = ledger[place];
    curve.step.push_back(reading.step);
    curve.seconds.push_back(reading.time_seconds);
    curve.live_bytes.push_back(reading.live_bytes);
    curve.rss_bytes.push_back(reading.rss_bytes);
  }
  return curve;
}

void AddSites(const process::ProcessAnalysis& process, std::vector<RankSite>* out) {
  if (process.IsGone()) return;
  for (size_t site = 0; site < process.verdicts.sites.size(); ++site) {
    const verdict::SiteAnalysis& analysis = process.verdicts.sites[site];
    const int64_t held_bytes = process.rows.sites[site].held_bytes;
    const bool grows = verdict::RowOf(analysis.verdict.kind).tone == verdict::Tone::kGrows;
    if (!grows && held_bytes < kLargeSite) continue;
    const auto& growth = analysis.growth_bytes_per_step;
    out->push_back({process.SiteName(site), process.PoolOf(site), grows, growth.value,
                    growth.interval ? growth.interval->low : 0, held_bytes});
  }
}

bool IsWhole(const reader::ReadSummary& summary) {
  return summary.damaged_blocks + summary.damaged_records + summary.gap_blocks == 0 &&
         !summary.header_damaged;
}

// The curves of all would make a page of a job with hundreds of ranks heavy, and nobody looks at them.
void DropCurves(std::vector<RankSummary>* ranks) {
  size_t room = kCurves;
  for (const RankSummary& rank : *ranks) room -= std::min<size_t>(room, rank.odd.empty() ? 0 : 1);
  for (RankSummary& rank : *ranks) {
    if (!rank.odd.empty()) continue;
    if (room > 0) {
      --room;
    } else {
      rank.curve = {};
    }
  }
}

}  // namespace

void RankTable::Add(size_t trace, const process::ProcessAnalysis& process, const Process& facts,
                    const ProcessHeadline& headline) {
  // Whom mp.spawn starts is a rank when torch.distributed told it so.
  const bool has_own_number = facts.role == "main" || !process.trace.definitions.Info("job:rank").empty();
  if (headline.is_worker) {
    AddWorker(trace, process);
  } else if (facts.rank && has_own_number && headline.steps.count > 0) {
    AddRank(trace, process, facts, headline);
  }
  ++processes_;
}

void RankTable::AddRank(size_t trace, const process::ProcessAnalysis& process, const Process& facts,
                        const ProcessHeadline& headline) {
  RankFacts rank;
  RankSummary& summary = rank.summary;
  summary.rank = *facts.rank;
  summary.pid = facts.pid;
  summary.group = IdentityOf(process.trace.definitions).group;
  summary.verdict = facts.verdict;
  summary.site = headline.site;
  const auto& rate = headline.verdict.headline.rate_bytes_per_step;
  summary.rate_bytes_per_step = rate ? rate->value : 0;
  summary.steps = headline.steps.count;
  summary.end_seconds = facts.end_seconds;
  summary.ending = facts.ending;
  summary.retained_bytes = facts.retained_bytes;
  summary.peak_bytes = facts.peak_bytes;
  summary.peak_rss_bytes = facts.peak_rss_bytes;
  summary.curve = CurveOf(headline.ledger);
  rank.process = processes_;
  rank.start_seconds = facts.start_seconds;
  rank.is_sound = IsWhole(process.trace.definitions.summary);
  rank.was_killed =
      !process.trace.definitions.summary.clean_exit && !reader::IsRunning(process.trace.reader->header());
  AddSites(process, &rank.sites);
  rank_of_trace_[trace] = ranks_.size();
  ranks_.push_back(std::move(rank));
}

// What a worker keeps is part of what its rank does.
void RankTable::AddWorker(size_t trace, const process::ProcessAnalysis& process) {
  for (auto above = tree_.ParentOf(trace); above.has_value(); above = tree_.ParentOf(*above)) {
    const auto found = rank_of_trace_.find(*above);
    if (found == rank_of_trace_.end()) continue;
    RankFacts& rank = ranks_[found->second];
    ++rank.summary.workers;
    AddSites(process, &rank.sites);
    return;
  }
}

std::string RankTable::Finish(const std::vector<Process>& processes, std::vector<RankSummary>* out) {
  std::vector<RankFacts> ranks = LastAttempts(std::move(ranks_));
  if (ranks.size() < 2) return "";
  for (RankFacts& rank : ranks) {
    rank.summary.ending = processes[rank.process].ending;
    rank.was_killed = rank.was_killed && absl::StartsWith(rank.summary.ending, "killed");
  }
  std::vector<OddRank> odd = FindOddRanks(ranks);
  // While some of them still run, those that ended have not ended early.
  if (recording_.IsRunning()) {
    std::erase_if(odd, [](const OddRank& one) {
      return one.kind == Oddness::kWasKilled || one.kind == Oddness::kStoppedEarly;
    });
  }
  for (const OddRank& one : odd) ranks[one.index].summary.odd.push_back(OddInWords(one));
  std::string words = RanksInWords(ranks, odd);
  for (RankFacts& rank : ranks) out->push_back(std::move(rank.summary));
  DropCurves(out);
  return words;
}

}  // namespace plateau::report
