#include "analyzer/report/build_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analyzer/report/process_facts.h"
#include "analyzer/report/row_order.h"
#include "analyzer/report/stack_tree.h"
#include "analyzer/report/tensor_curves.h"
#include "analyzer/report/verdict_words.h"
#include "analyzer/report/worker_pass.h"
#include "analyzer/symbols/source_text.h"

namespace plateau::report {
namespace {

int64_t Round(double value) { return std::llround(value); }

// The amounts of one row in whole numbers: everything above it is a sum of these, so every total adds up.
struct Amounts {
  int64_t retained_bytes, retained_count, peak_bytes, temporary_bytes, alloc_bytes, alloc_count, free_count;

  explicit Amounts(const replay::StackRow& row)
      : retained_bytes(Round(row.live_bytes)),
        retained_count(Round(row.live_count)),
        peak_bytes(Round(row.peak_bytes)),
        temporary_bytes(Round(row.temporary_bytes)),
        alloc_bytes(Round(row.alloc_bytes)),
        alloc_count(Round(row.alloc_count)),
        free_count(Round(row.free_count)) {}

  template <typename Row>
  void AddTo(Row* row, int sign = 1) const {
    row->retained_bytes += sign * retained_bytes;
    row->retained_count += sign * retained_count;
    row->peak_bytes += sign * peak_bytes;
    row->temporary_bytes += sign * temporary_bytes;
    row->alloc_bytes += sign * alloc_bytes;
    row->alloc_count += sign * alloc_count;
  }
};

// What one process says about a site that several processes may have.
struct SiteOpinion {
  size_t process;
  int64_t retained_bytes = 0;
  std::string verdict;
  std::string evidence;
  std::vector<EvidenceNumber> numbers;
  double growth_bytes_per_step = 0;
  std::optional<Interval> growth_interval;
  std::vector<int64_t> live_bytes;
  std::vector<int64_t> survivor_bytes;
  TensorCurve tensors;
};

// What makes the headline, kept per process until it is known which one does.
struct ProcessHeadline {
  verdict::ProcessVerdict verdict;
  Verdict words;
  Steps steps;
  std::vector<LedgerSample> ledger;
  std::vector<Pool> pools;
  std::vector<Hypothesis> hypotheses;
  std::vector<Pattern> patterns;
  std::vector<Phase> phases;
  std::vector<TensorCurve> tensors;
  std::vector<Device> devices;
  std::vector<double> axis_steps;
  std::vector<double> axis_seconds;
  double peak_step = 0;
  double peak_bytes = 0;
  bool is_worker = false;
  bool ended_before_parent = false;
  std::string command;
  std::string ending;
  trace::FileHeader header;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<std::string, std::string>> levels;
  std::string clock_sentence;
};

class ReportBuilder {
 public:
  ReportBuilder(const reader::Recording& recording, const BuildOptions& options)
      : recording_(recording), options_(options), frames_(&model_.frames), tree_(&frames_, &model_.stacks) {}

  absl::StatusOr<ReportModel> Run() {
    absl::Status last_error =
        absl::FailedPreconditionError(absl::StrCat(recording_.path, ": no traces in it"));
    AnalyzeWorkers();
    for (const reader::TraceFile& trace : recording_.traces) {
      auto pass = Analyze(trace);
      if (!pass.ok()) {
        last_error = pass.status();
        notes_.push_back(std::string(pass.status().message()));
        continue;
      }
      AddProcess(**pass);
      // Its workers began later, so they come later.
      if (workers_.contains(trace.header.pid))
        marks_[trace.header.pid] = std::move((*pass)->definitions.marks);
    }
    if (headlines_.empty()) return last_error;
    Finish();
    return std::move(model_);
  }

 private:
  // Forked workers come first: what they copy of their parent's pages belongs to the parent's verdict. Of
  // each only that is kept; however many there are, one process is in memory at a time.
  void AnalyzeWorkers() {
    absl::flat_hash_set<uint32_t> pids;
    for (const reader::TraceFile& trace : recording_.traces) pids.insert(trace.header.pid);
    for (const reader::TraceFile& trace : recording_.traces) {
      if (!pids.contains(trace.header.parent_pid)) continue;
      auto worker = ReadWorker(trace.path, options_.process.threads);
      if (worker.ok() && worker->has_value())
        workers_[trace.header.parent_pid].push_back(**std::move(worker));
    }
  }

  absl::StatusOr<std::unique_ptr<ProcessPass>> Analyze(const reader::TraceFile& trace) {
    ProcessOptions options = options_.process;
    if (const auto found = workers_.find(trace.header.pid); found != workers_.end())
      options.workers = found->second;
    if (const auto found = marks_.find(trace.header.parent_pid); found != marks_.end())
      options.parent_marks = found->second;
    return AnalyzeProcess(trace.path, options, &symbolizer_);
  }

  void AddProcess(const ProcessPass& pass) {
    if (headlines_.empty())
      start_seconds_ = static_cast<double>(pass.reader->header().start_realtime_ns) * 1e-9;
    model_.processes.push_back(FactsOf(pass, start_seconds_));
    AddHeadline(pass);
    AddRows(pass);
    AddLeftovers(pass);
    AddLosses(pass);
    const auto shares = pass.breakdown.Shares();
    for (size_t i = 0; i < series::kHeldAs; ++i) {
      breakdown_[i].bytes += shares[i].bytes;
      breakdown_[i].count += shares[i].count;
    }
    model_.recording.events += pass.replay.events;
    model_.recording.trace_bytes += pass.definitions.summary.file_bytes;
    ++model_.recording.trace_files;
    for (const std::string& source : SourcesOf(pass)) sources_.insert(source);
    if (pass.replay.folded_events > 0) {
      notes_.push_back(absl::StrCat(pass.reader->path(), ": ", pass.replay.folded_events,
                                    " events were folded into sums to keep the size limit"));
    }
    if (!pass.definitions.rates.empty()) {
      const replay::TimedRate& last = pass.definitions.rates.back();
      notes_.push_back(absl::StrCat(pass.reader->path(),
                                    ": sampling was made coarser to keep the size limit, last period ",
                                    last.rate.sample_bytes, " bytes"));
      if (last.rate.mode == trace::Mode::kOff) {
        notes_.push_back(absl::StrFormat(
            "%s: the size limit was reached after %.0f s; later allocations are in the totals only",
            pass.reader->path(), pass.reader->SecondsSinceStart(last.tsc)));
      }
    }
  }

  void AddHeadline(const ProcessPass& pass) {
    ProcessHeadline h;
    h.verdict = pass.analysis.process;
    h.words = ToReport(pass.analysis.process.headline, pass.input.run);
    h.steps = StepsOf(pass.clock);
    h.peak_bytes = pass.replay.peak_bytes;
    h.is_worker = pass.is_worker;
    h.ended_before_parent = pass.ended_before_parent;
    h.ledger = LedgerOf(pass);
    for (const verdict::PoolAnalysis& pool : pass.analysis.pools) {
      h.pools.push_back({pool.name, std::string(verdict::VerdictName(pool.verdict.kind)),
                         pool.verdict.sentence, Round(pool.live_bytes), Round(pool.peak_bytes),
                         Round(pool.reserved_bytes), pool.growth_bytes_per_step.value});
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
    for (OutOfMemory& refusal : RefusalsOf(pass)) model_.out_of_memory.push_back(std::move(refusal));
    model_.out_of_memory_count += static_cast<int64_t>(pass.device_summary->ledger().out_of_memory_count());
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
    headlines_.push_back(std::move(h));
  }

  // Rows into sites, leftovers and the stack tree.
  void AddRows(const ProcessPass& pass) {
    const size_t process = headlines_.size() - 1;
    const std::string name = absl::StrCat(pass.reader->header().pid, " ", model_.processes[process].role);
    std::vector<int32_t> model_site(pass.site_count(), -1);
    const auto add = [&](uint32_t row_index, bool with_stack) {
      const replay::StackRow& row = pass.Row(row_index);
      const Amounts amounts(row);
      const bool is_device = pass.IsDeviceSite(row.site);
      if (is_device)
        amounts.AddTo(&LeftoverNamed("[device memory]",
                                     "device and pinned memory has its own pools and is not host memory"),
                      -1);
      if (row.node == 0) {
        amounts.AddTo(&LeftoverNamed("[no stack]", "allocated where the stack could not be walked"));
        AddToTree({{.function = "[no stack]"}}, amounts, -1, is_device);
        return;
      }
      int32_t& site_index = model_site[row.site];
      if (site_index < 0) site_index = static_cast<int32_t>(SiteIndex(pass, row.site));
      Site& site = model_.sites[site_index];
      amounts.AddTo(&site);
      site.free_count += amounts.free_count;
      Share& share = ShareOf(&site, name);
      share.retained_bytes += amounts.retained_bytes;
      share.retained_count += amounts.retained_count;
      share.peak_bytes += amounts.peak_bytes;
      share.temporary_bytes += amounts.temporary_bytes;
      if (with_stack) {
        AddToTree(pass.names->Stack(row.node), amounts, site_index, is_device);
      } else if (is_device) {
        AddToTree({{.function = "[other stacks]"}}, amounts, -1, is_device);
      } else {
        if (other_stacks_ < 0) other_stacks_ = tree_.IndexOf({{.function = "[other stacks]"}});
        amounts.AddTo(&model_.stacks[other_stacks_]);
      }
    };
    const RowOrder order = OrderRows(pass, options_.with_stacks ? options_.max_stacks : 0);
    size_t leaves = 0;
    for (const uint32_t row : order.first) add(row, pass.Row(row).node != 0 && ++leaves <= order.with_stack);
    for (const uint32_t row : order.rest) add(row, false);
    for (size_t site = 0; site < pass.site_count(); ++site) {
      if (model_site[site] >= 0) AddOpinion(pass, site, static_cast<size_t>(model_site[site]), process);
    }
  }

  void AddToTree(const std::vector<Frame>& stack, const Amounts& amounts, int32_t site, bool is_device) {
    StackNode& node = tree_.At(stack);
    amounts.AddTo(&node);
    if (site >= 0) node.site = site;
    if (is_device) amounts.AddTo(&tree_.At({{.function = "[device memory]"}}), -1);
  }

  size_t SiteIndex(const ProcessPass& pass, size_t site) {
    const replay::SiteKey& key = pass.site_table->sites()[site];
    const bool is_named = model_.sites.size() < options_.named_sites;
    const Frame frame = pass.names->Shown(key.location);
    const std::string pool = pass.PoolOf(site);
    const std::string id =
        absl::StrCat(frame.file, "\n", frame.line, "\n", frame.function, "\n", frame.module, "\n", pool);
    const auto [it, is_new] = sites_.try_emplace(id, model_.sites.size());
    if (!is_new && options_.process.site_rule != replay::SiteRule::kStack) return it->second;
    Site out;
    out.site = SiteTitle(frame);
    out.file = frame.file;
    out.line = frame.line;
    out.function = frame.function;
    out.module = frame.module;
    out.pool = pool;
    if (is_named) {
      out.source_line = source_.Line(frame.file, frame.line);
      const uint32_t row = pass.typical_stack[site];
      if (row != UINT32_MAX) {
        for (const Frame& f : pass.names->Stack(pass.Row(row).node)) out.stack.push_back(frames_.IndexOf(f));
      }
    }
    model_.sites.push_back(std::move(out));
    opinions_.emplace_back();
    return model_.sites.size() - 1;
  }

  static Share& ShareOf(Site* site, const std::string& process) {
    if (site->processes.empty() || site->processes.back().name != process)
      site->processes.push_back({.name = process});
    return site->processes.back();
  }

  void AddOpinion(const ProcessPass& pass, size_t site, size_t model_site, size_t process) {
    Site& out = model_.sites[model_site];
    TensorCurve tensors = TensorCurveOf(pass, site);
    const bool has_tensors = !tensors.live_count.empty() && tensors.live_count.back() > 0;
    if (has_tensors) {
      out.tensor_count += tensors.live_count.back();
      out.tensor_bytes += tensors.live_bytes.back();
    }
    if (site < pass.endings.size()) {
      for (size_t i = 0; i < out.age_bytes.size(); ++i)
        out.age_bytes[i] += Round(pass.endings[site].age_bytes[i]);
    }
    if (site < pass.endings.size()) {
      const auto& phases = pass.endings[site].phase_bytes;
      const auto most = std::max_element(phases.begin(), phases.end());
      if (out.phase.empty() && *most > 0) {
        const auto phase = static_cast<series::BirthPhase>(most - phases.begin());
        out.phase = series::BirthPhaseName(phase);
        out.category = std::string(series::HeldAsName(series::HeldAsOf(phase, has_tensors)));
      }
    }
    if (site >= pass.analysis.sites.size()) return;
    const verdict::SiteAnalysis& analysis = pass.analysis.sites[site];
    SiteOpinion opinion;
    opinion.process = process;
    opinion.verdict = std::string(verdict::VerdictName(analysis.verdict.kind));
    opinion.evidence = analysis.verdict.sentence;
    opinion.numbers = NumbersOf(analysis.verdict);
    opinion.growth_bytes_per_step = analysis.growth_bytes_per_step.value;
    opinion.growth_interval = ToReport(analysis.growth_bytes_per_step.interval);
    series::SiteSeries series;
    pass.series->Load(site, &series);
    double retained = 0;
    for (const double bytes : series.surv_bytes) retained += bytes;
    opinion.retained_bytes = Round(retained);
    const int64_t width = pass.series->bucket_steps();
    bool is_first = true;
    for (size_t k = 0; k < series.alloc_bytes.size(); ++k) {
      if (series.alloc_count[k] + series.free_count[k] <= 0) continue;
      const double step = k == 0 ? 0.0 : static_cast<double>((static_cast<int64_t>(k) - 1) * width + 1);
      if (is_first && opinions_[model_site].empty()) out.first_step = step;
      is_first = false;
      out.last_step = std::max(out.last_step, step);
    }
    if (model_site < options_.named_sites) {
      for (const double bytes : series.LiveBytes()) opinion.live_bytes.push_back(Round(bytes));
      for (const double bytes : series.surv_bytes) opinion.survivor_bytes.push_back(Round(bytes));
      opinion.tensors = std::move(tensors);
    }
    opinions_[model_site].push_back(std::move(opinion));
  }

  Leftover& LeftoverNamed(const char* name, const char* explanation) {
    for (Leftover& leftover : model_.leftovers) {
      if (leftover.name == name) return leftover;
    }
    model_.leftovers.push_back({.name = name, .explanation = explanation});
    return model_.leftovers.back();
  }

  // The exact counters of the process against what the rows of its heap add up to.
  void AddLeftovers(const ProcessPass& pass) {
    const trace::Totals& exact = pass.definitions.summary.totals;
    model_.totals.free_count += static_cast<int64_t>(exact.free_calls);
    if (pass.replay.unknown_frees > 0) {
      LeftoverNamed("[freed elsewhere]",
                    "frees of blocks that were allocated before the recording or were not recorded; their "
                    "size is unknown");
    }
    const uint64_t dropped_events = pass.definitions.summary.TotalDroppedEvents();
    if (dropped_events > 0) {
      Leftover& dropped =
          LeftoverNamed("[dropped]", "events that were not recorded; the recording counts them");
      dropped.alloc_count += static_cast<int64_t>(dropped_events);
      dropped.alloc_bytes += static_cast<int64_t>(pass.definitions.summary.TotalDroppedBytes());
      StackNode& node = tree_.At({{.function = "[dropped]"}});
      node.alloc_count += static_cast<int64_t>(dropped_events);
      node.alloc_bytes += static_cast<int64_t>(pass.definitions.summary.TotalDroppedBytes());
    }
    if (exact.alloc_calls == 0) return;
    int64_t bytes = static_cast<int64_t>(exact.alloc_bytes), calls = static_cast<int64_t>(exact.alloc_calls);
    for (const replay::StackRow& row : pass.replay.stacks) {
      if (row.pool != replay::Pool::kHeap) continue;
      bytes -= Round(row.alloc_bytes);
      calls -= Round(row.alloc_count);
    }
    if (bytes == 0 && calls == 0) return;
    Leftover& rest =
        pass.replay.has_sampling
            ? LeftoverNamed("[sampling]", "exact counters minus what the samples stand for")
            : LeftoverNamed("[not recorded]",
                            "exact counters minus the recorded events: blocks that realloc moved, and drops");
    StackNode& node = tree_.At({{.function = rest.name}});
    rest.alloc_bytes += bytes;
    rest.alloc_count += calls;
    node.alloc_bytes += bytes;
    node.alloc_count += calls;
  }

  void AddLosses(const ProcessPass& pass) {
    const reader::ReadSummary& summary = pass.definitions.summary;
    Losses& losses = model_.losses;
    losses.dropped_events += summary.TotalDroppedEvents();
    losses.dropped_bytes += summary.TotalDroppedBytes();
    losses.unknown_frees += pass.replay.unknown_frees;
    losses.damaged_blocks += summary.damaged_blocks + summary.damaged_records;
    losses.damaged_bytes += summary.damaged_bytes;
    losses.missing_blocks += summary.gap_blocks;
    losses.damaged_headers += summary.header_damaged ? 1 : 0;
    losses.skipped_records += summary.unknown_records;
    for (const std::string& sentence : summary.Sentences()) {
      losses.messages.push_back(absl::StrCat(pass.reader->path(), ": ", sentence));
    }
    for (const std::string& note : summary.notes) losses.messages.push_back(note);
  }

  void Finish() {
    std::vector<verdict::ProcessWeight> processes;
    for (const ProcessHeadline& candidate : headlines_) {
      const double steps = candidate.ended_before_parent ? 0 : static_cast<double>(candidate.steps.count);
      processes.push_back({&candidate.verdict, steps, candidate.peak_bytes, candidate.is_worker});
    }
    const size_t chosen = verdict::HeadlineProcess(processes);
    ProcessHeadline& h = headlines_[chosen];
    if (h.is_worker) {
      const auto workers = absl::c_count_if(headlines_, [](const ProcessHeadline& p) { return p.is_worker; });
      absl::StrAppend(
          &h.words.sentence, " This is process ", h.header.pid, ", ",
          workers == 1 ? "the only forked worker" : absl::StrCat("one of ", workers, " forked workers"),
          "; the sites below are those of all processes.");
    }
    model_.tool_version = PLATEAU_VERSION;
    model_.verdict = std::move(h.words);
    model_.steps = std::move(h.steps);
    model_.ledger = std::move(h.ledger);
    model_.pools = std::move(h.pools);
    model_.hypotheses = std::move(h.hypotheses);
    model_.patterns = std::move(h.patterns);
    model_.phases = std::move(h.phases);
    model_.tensors = std::move(h.tensors);
    model_.devices = std::move(h.devices);
    model_.axis_steps = std::move(h.axis_steps);
    model_.axis_seconds = std::move(h.axis_seconds);
    model_.totals.peak_step = h.peak_step;
    SettleOpinions(chosen);
    SumTotals();
    AddBreakdown();
    DescribeRecording(h);
    if (!options_.with_stacks) model_.stacks.clear();
    SortSites(model_);
  }

  // Of several processes the one that holds most of the site speaks for it; curves are those of the
  // headline's process.
  void SettleOpinions(size_t chosen) {
    for (size_t i = 0; i < model_.sites.size(); ++i) {
      Site& site = model_.sites[i];
      SiteOpinion* best = nullptr;
      for (SiteOpinion& opinion : opinions_[i]) {
        site.growth_bytes_per_step += opinion.growth_bytes_per_step;
        if (best == nullptr || opinion.retained_bytes > best->retained_bytes) best = &opinion;
        if (opinion.process == chosen) AddCurves(&site, opinion);
      }
      if (best == nullptr) continue;
      site.verdict = best->verdict;
      site.evidence = best->evidence;
      site.numbers = best->numbers;
      if (opinions_[i].size() == 1) site.growth_interval = best->growth_interval;
    }
  }

  static void AddCurves(Site* site, const SiteOpinion& opinion) {
    const auto add = [](std::vector<int64_t>* to, const std::vector<int64_t>& from) {
      if (to->size() < from.size()) to->resize(from.size());
      for (size_t k = 0; k < from.size(); ++k) (*to)[k] += from[k];
    };
    add(&site->live_bytes, opinion.live_bytes);
    add(&site->survivor_bytes, opinion.survivor_bytes);
    add(&site->tensor_live_count, opinion.tensors.live_count);
    add(&site->tensor_live_bytes, opinion.tensors.live_bytes);
  }

  void SumTotals() {
    Totals& t = model_.totals;
    const auto add = [&t](const auto& row) {
      t.retained_bytes += row.retained_bytes;
      t.retained_count += row.retained_count;
      t.peak_bytes += row.peak_bytes;
      t.temporary_bytes += row.temporary_bytes;
      t.alloc_bytes += row.alloc_bytes;
      t.alloc_count += row.alloc_count;
    };
    for (const Site& site : model_.sites) add(site);
    for (const Leftover& leftover : model_.leftovers) add(leftover);
    t.free_bytes =
        t.alloc_bytes - t.retained_bytes;  // the recorder does not know the size of every freed block
  }

  // Only when there is something to tell apart. "other" takes the rounding, so that the shares add up.
  void AddBreakdown() {
    constexpr size_t kOther = static_cast<size_t>(series::HeldAs::kOther);
    int64_t rest = model_.totals.retained_bytes;
    for (size_t i = 0; i < series::kHeldAs; ++i) {
      const int64_t bytes = Round(breakdown_[i].bytes);
      if (i == kOther || bytes == 0) continue;
      const auto category = static_cast<series::HeldAs>(i);
      model_.breakdown.push_back({std::string(series::HeldAsName(category)), bytes,
                                  Round(breakdown_[i].count), std::string(series::HeldAsRule(category))});
      rest -= bytes;
    }
    if (model_.breakdown.empty()) return;
    model_.breakdown.push_back({std::string(series::HeldAsName(series::HeldAs::kOther)), rest,
                                Round(breakdown_[kOther].count),
                                std::string(series::HeldAsRule(series::HeldAs::kOther))});
  }

  void DescribeRecording(const ProcessHeadline& h) {
    RecordingInfo& r = model_.recording;
    r.path = recording_.path;
    r.command = headlines_.front().command;
    r.mode = h.header.mode == static_cast<uint8_t>(trace::Mode::kExact) ? "exact" : "default";
    r.sample_bytes = h.header.mode == static_cast<uint8_t>(trace::Mode::kExact) ? 0 : h.header.sample_bytes;
    r.exact_from_bytes = h.header.exact_from_bytes;
    r.started_utc = absl::FormatTime(
        "%Y-%m-%dT%H:%M:%SZ",
        absl::FromUnixNanos(static_cast<int64_t>(headlines_.front().header.start_realtime_ns)),
        absl::UTCTimeZone());
    for (const Process& process : model_.processes)
      r.duration_seconds = std::max(r.duration_seconds, process.end_seconds);
    r.ending = recording_.ending.empty() ? headlines_.front().ending : recording_.ending;
    r.sources.assign(sources_.begin(), sources_.end());
    r.environment = h.environment;
    r.levels = h.levels;
    if (!h.clock_sentence.empty()) r.notes.push_back(h.clock_sentence);
    r.notes.insert(r.notes.end(), notes_.begin(), notes_.end());
    r.notes.insert(r.notes.end(), recording_.skipped.begin(), recording_.skipped.end());
    for (const std::string& problem : symbolizer_.problems())
      r.notes.push_back(absl::StrCat("no symbols: ", problem));
  }

  absl::flat_hash_map<uint32_t, std::vector<ForkedWorker>> workers_;     // by the pid of their parent
  absl::flat_hash_map<uint32_t, std::vector<replay::TimedMark>> marks_;  // of processes with workers, by pid
  const reader::Recording& recording_;
  const BuildOptions& options_;
  ReportModel model_;
  FrameTable frames_;
  StackTree tree_;
  int32_t other_stacks_ = -1;  // in the tree
  symbols::Symbolizer symbolizer_;
  symbols::SourceText source_;
  absl::flat_hash_map<std::string, size_t> sites_;
  std::vector<std::vector<SiteOpinion>> opinions_;  // by site of the model
  std::vector<ProcessHeadline> headlines_;
  std::vector<std::string> notes_;
  std::set<std::string> sources_;
  double start_seconds_ = 0;
  std::array<series::BreakdownShare, series::kHeldAs> breakdown_{};
};

}  // namespace

absl::StatusOr<ReportModel> BuildReport(const reader::Recording& recording, const BuildOptions& options) {
  return ReportBuilder(recording, options).Run();
}

}  // namespace plateau::report
