#include "analyzer/report/columns/job_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/base/even_places.h"
#include "analyzer/report/columns/content_key.h"
#include "analyzer/report/columns/job_schema.h"

namespace plateau::report {
namespace {

constexpr size_t kMaxSites = 200;     // of a rank; what is smaller and does not grow is summed up
constexpr size_t kMaxSeries = 48;     // sites of a rank with a curve
constexpr size_t kMaxStacks = 5;      // sites of a rank with their stack
constexpr size_t kMaxPoints = 64;     // of a curve
constexpr double kLeastGrowth = 1;    // bytes per step; less is rounding
constexpr int64_t kSmallSite = 4096;  // bytes; smaller sites that do not grow are summed up

// What a name of a device mesh stands for. Unknown names stay in the column `mesh`.
struct Mesh {
  std::optional<int> data, tensor, pipeline;
};

Mesh MeshOf(const std::string& group) {
  Mesh mesh;
  for (const absl::string_view word : absl::StrSplit(group, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::ByAnyChar("=/"));
    int place = 0;
    if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &place)) continue;
    const std::string name = absl::AsciiStrToLower(parts[0]);
    const auto is_one_of = [&name](std::initializer_list<const char*> names) {
      return std::any_of(names.begin(), names.end(), [&](const char* known) { return name == known; });
    };
    if (is_one_of({"dp", "ddp", "data", "fsdp", "replicate", "dp_replicate"})) mesh.data = place;
    if (is_one_of({"tp", "tensor", "model", "mp"})) mesh.tensor = place;
    if (is_one_of({"pp", "pipe", "pipeline"})) mesh.pipeline = place;
    if (is_one_of({"shard", "dp_shard"}) && !mesh.data) mesh.data = place;
  }
  return mesh;
}

double EvidenceNumberOf(const std::vector<EvidenceNumber>& numbers, const std::string& name) {
  for (const EvidenceNumber& number : numbers) {
    if (number.name == name) return number.value;
  }
  return 0;
}

// Not the library's line, which is that of the most common stack and differs from rank to rank.
std::string SiteKeyOf(const Site& site) {
  return ContentKey().Add(site.pool).Add(site.file).Add(site.line).Add(site.function).Add(site.site).Text();
}

// What a site weighs: growth comes before size.
std::pair<double, int64_t> WeightOf(const Site& site) {
  const double growth = std::abs(site.growth_bytes_per_step);
  return {growth >= kLeastGrowth ? growth : 0, site.retained_bytes};
}

void AddSeries(const std::vector<int64_t>& from, std::vector<int64_t>* to) {
  to->resize(std::max(to->size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] += from[i];
}

// Two sites that a reader cannot tell apart, as one: amounts add up, and the heavier one gives the words.
Site Merged(Site a, Site b) {
  if (WeightOf(a) < WeightOf(b)) std::swap(a, b);
  a.retained_bytes += b.retained_bytes;
  a.retained_count += b.retained_count;
  a.growth_bytes_per_step += b.growth_bytes_per_step;
  a.peak_bytes += b.peak_bytes;
  a.temporary_bytes += b.temporary_bytes;
  a.first_step = std::min(a.first_step, b.first_step);
  a.last_step = std::max(a.last_step, b.last_step);
  if (a.growth_interval && b.growth_interval) {
    a.growth_interval->low += b.growth_interval->low;
    a.growth_interval->high += b.growth_interval->high;
  }
  AddSeries(b.live_bytes, &a.live_bytes);
  return a;
}

class Filler {
 public:
  explicit Filler(const RecordingReport& recording)
      : recording_(recording), key_(RecordingKey(recording)), tables_(EmptyJobTables()) {}

  std::vector<Table> Run() {
    AddJob();
    for (const RankReport& rank : recording_.ranks) {
      AddRank(rank);
      AddVerdicts(rank);
      AddSites(rank);
      AddLedger(rank);
    }
    return std::move(tables_);
  }

 private:
  void AddJob() {
    std::optional<int> world;
    double seconds = 0;
    std::string started, version, command, code_version;
    for (const RankReport& rank : recording_.ranks) {
      if (rank.world) world = std::max(world.value_or(0), *rank.world);
      const RecordingInfo& info = rank.model.recording;
      seconds = std::max(seconds, info.duration_seconds);
      if (started.empty() || (!info.started_utc.empty() && info.started_utc < started))
        started = info.started_utc;
      if (version.empty()) version = rank.model.tool_version;
      if (code_version.empty()) code_version = rank.code_version;
      if (command.empty()) command = info.command;
    }
    tables_[kJobs].Add({key_, recording_.path, SoundnessName(recording_.soundness), recording_.reason,
                        started, seconds, version, command, recording_.ranks.size(), world,
                        recording_.trace_files, recording_.other_processes, recording_.unreadable_files,
                        code_version});
  }

  void AddRank(const RankReport& rank) {
    const ReportModel& m = rank.model;
    const Mesh mesh = MeshOf(rank.group);
    const Forecast* future = m.verdict.forecasts.empty() ? nullptr : &m.verdict.forecasts.front();
    std::optional<double> low, high, limit_step, plateau;
    double rate = EvidenceNumberOf(m.verdict.numbers, "rate_bytes_per_step");
    for (const Forecast& forecast : m.verdict.forecasts) {  // the one that ends first
      if (forecast.limit_step && (!limit_step || *forecast.limit_step < *limit_step))
        limit_step = forecast.limit_step;
    }
    if (future != nullptr) {
      rate = future->rate_bytes_per_step;
      plateau = future->plateau_bytes;
      if (future->rate_interval) {
        low = future->rate_interval->low;
        high = future->rate_interval->high;
      }
    }
    int64_t peak_rss = 0;
    for (const Process& process : m.processes) peak_rss = std::max(peak_rss, process.peak_rss_bytes);
    const bool has_ledger = !m.ledger.empty();
    const Process* program = rank.LastProgram();
    const Site* worst = nullptr;
    for (const Site& site : m.sites) {
      if (site.growth_bytes_per_step < kLeastGrowth) continue;
      if (site.verdict == m.verdict.name &&
          (worst == nullptr || site.growth_bytes_per_step > worst->growth_bytes_per_step))
        worst = &site;
    }
    tables_[kRanks].Add({key_,
                         rank.rank,
                         rank.attempt,
                         rank.world,
                         rank.local_rank,
                         rank.pid,
                         rank.pod,
                         rank.group,
                         mesh.data,
                         mesh.tensor,
                         mesh.pipeline,
                         SoundnessName(rank.soundness),
                         rank.reason,
                         m.recording.started_utc,
                         m.recording.duration_seconds,
                         program != nullptr ? program->ending : "",
                         m.processes.size(),
                         m.steps.count,
                         m.steps.source,
                         m.processes.empty() ? "" : m.verdict.name,
                         m.verdict.reason,
                         m.verdict.sentence,
                         worst != nullptr ? worst->site : "",
                         rate,
                         low,
                         high,
                         m.verdict.detectable_bytes_per_step,
                         m.verdict.needs_steps,
                         m.verdict.limit_bytes,
                         limit_step,
                         plateau,
                         m.totals.retained_bytes,
                         m.totals.peak_bytes,
                         peak_rss,
                         has_ledger ? m.ledger.back().rss_bytes : 0,
                         has_ledger ? m.ledger.back().unexplained_bytes : 0,
                         m.losses.dropped_events});
  }

  void AddVerdicts(const RankReport& rank) {
    const auto add = [&](const char* about, const std::string& name, const std::string& result,
                         const std::string& evidence) {
      tables_[kVerdicts].Add({rank.rank, rank.attempt, about, name, result, evidence});
    };
    const ReportModel& m = rank.model;
    if (!m.processes.empty()) add("process", "", m.verdict.name, m.verdict.sentence);
    for (const PoolSummary& pool : m.pools) add("pool", pool.name, pool.verdict, pool.evidence);
    for (const TestedHypothesis& tested : m.hypotheses)
      add("hypothesis", tested.name, tested.result, tested.evidence);
    for (const MatchedPattern& pattern : m.patterns) add("pattern", pattern.id, "matched", pattern.title);
  }

  // Sites that grow come first, then the largest: they get rows of their own.
  void AddSites(const RankReport& rank) {
    std::map<std::string, Site> by_key;
    for (const Site& site : rank.model.sites) {
      const auto [place, is_new] = by_key.try_emplace(SiteKeyOf(site), site);
      if (!is_new) place->second = Merged(place->second, site);
    }
    std::vector<const std::pair<const std::string, Site>*> order;
    for (const auto& entry : by_key) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return WeightOf(a->second) > WeightOf(b->second); });
    Site rest;
    size_t rows = 0, curves = 0;
    for (const auto* entry : order) {
      const auto& [key, site] = *entry;
      const bool is_small = site.retained_bytes < kSmallSite && site.peak_bytes < kSmallSite &&
                            std::abs(site.growth_bytes_per_step) < kLeastGrowth;
      if (is_small || rows >= kMaxSites) {
        rest.retained_bytes += site.retained_bytes;
        rest.retained_count += site.retained_count;
        rest.growth_bytes_per_step += site.growth_bytes_per_step;
        rest.peak_bytes += site.peak_bytes;
        rest.temporary_bytes += site.temporary_bytes;
        continue;
      }
      ++rows;
      AddSite(rank, site, key, rows <= kMaxStacks);
      if (++curves <= kMaxSeries) AddCurve(rank, site, key);
    }
    for (const Leftover& leftover : rank.model.leftovers) {
      rest.retained_bytes += leftover.retained_bytes;
      rest.retained_count += leftover.retained_count;
      rest.peak_bytes += leftover.peak_bytes;
      rest.temporary_bytes += leftover.temporary_bytes;
    }
    rest.site = "[other sites]";
    if (!rank.model.sites.empty()) AddSite(rank, rest, SiteKeyOf(rest), false);
  }

  void AddSite(const RankReport& rank, const Site& site, const std::string& key, bool with_stack) {
    std::optional<double> low, high;
    if (site.growth_interval) {
      low = site.growth_interval->low;
      high = site.growth_interval->high;
    }
    tables_[kSites].Add({key_,
                         rank.rank,
                         rank.attempt,
                         key,
                         with_stack ? AddStack(rank.model, site) : "",
                         site.pool,
                         site.site,
                         site.file,
                         site.line,
                         site.function,
                         site.library,
                         site.verdict,
                         site.retained_bytes,
                         site.retained_count,
                         site.growth_bytes_per_step,
                         low,
                         high,
                         site.peak_bytes,
                         site.temporary_bytes,
                         site.first_step,
                         site.last_step});
  }

  // The most common stack of a site; each stack and each frame has its rows once.
  std::string AddStack(const ReportModel& model, const Site& site) {
    if (site.stack.empty()) return "";
    ContentKey key;
    std::vector<std::string> frame_keys;
    for (const uint32_t index : site.stack) {
      const Frame& frame = model.frames[index];
      frame_keys.push_back(ContentKey()
                               .Add(frame.function)
                               .Add(frame.file)
                               .Add(frame.line)
                               .Add(frame.module)
                               .Add(frame.kind)
                               .Text());
      key.Add(frame_keys.back());
      if (!frames_.insert(frame_keys.back()).second) continue;
      tables_[kFrames].Add(
          {frame_keys.back(), frame.function, frame.file, frame.line, frame.module, frame.kind});
    }
    const std::string text = key.Text();
    if (!stacks_.insert(text).second) return text;
    for (size_t depth = 0; depth < frame_keys.size(); ++depth)
      tables_[kStacks].Add({text, depth, frame_keys[depth]});
    return text;
  }

  void AddCurve(const RankReport& rank, const Site& site, const std::string& key) {
    const size_t points = std::min(site.live_bytes.size(), rank.model.axis_steps.size());
    for (const size_t i : EvenPlaces(points, kMaxPoints))
      tables_[kSeries].Add({rank.rank, rank.attempt, key, rank.model.axis_steps[i], site.live_bytes[i]});
  }

  void AddLedger(const RankReport& rank) {
    const std::vector<LedgerReading>& ledger = rank.model.ledger;
    for (const size_t i : EvenPlaces(ledger.size(), kMaxPoints)) {
      const LedgerReading& r = ledger[i];
      tables_[kLedger].Add({rank.rank, rank.attempt, r.step, r.time_seconds, r.rss_bytes, r.live_bytes,
                            r.allocator_gap_bytes, r.rss_file_bytes, r.rss_shmem_bytes, r.own_bytes,
                            r.unexplained_bytes, r.pinned_bytes, r.device_live_bytes, r.device_reserved_bytes,
                            r.cgroup_bytes});
    }
  }

  const RecordingReport& recording_;
  const std::string key_;
  std::vector<Table> tables_;
  std::set<std::string> frames_, stacks_;
};

}  // namespace

std::string RecordingKey(const RecordingReport& recording) {
  ContentKey key;
  // A recording that was copied elsewhere is the same recording.
  if (recording.ranks.empty()) key.Add(recording.path);
  for (const RankReport& rank : recording.ranks)
    key.Add(rank.host)
        .Add(rank.job)
        .Add(rank.rank)
        .Add(rank.attempt)
        .Add(rank.pid)
        .Add(rank.model.recording.started_utc);
  return key.Text();
}

std::vector<Table> TablesOf(const RecordingReport& recording) { return Filler(recording).Run(); }

}  // namespace plateau::report
