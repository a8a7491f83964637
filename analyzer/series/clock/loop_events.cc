#include "analyzer/series/clock/loop_events.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "preload/trace/fetch_mark.h"

namespace plateau::series {
namespace {

using trace::MarkKind;
using trace::MarkSource;

// The thread to follow: most explicit steps, else most optimizer steps, else most backward passes, else most
// fetches.
uint32_t ChooseStream(const MarkLog& log, uint32_t* other_streams) {
  struct Counts {
    size_t of[4] = {};
  };
  std::map<uint32_t, Counts> streams;
  for (const Mark& mark : log.marks()) {
    switch (mark.kind) {
      case MarkKind::kExplicitStep:
        ++streams[mark.stream].of[0];
        break;
      case MarkKind::kStep:
        ++streams[mark.stream].of[1];
        break;
      case MarkKind::kBackwardBegin:
        ++streams[mark.stream].of[2];
        break;
      case MarkKind::kFetchBegin:
        ++streams[mark.stream].of[3];
        break;
      default:
        break;
    }
  }
  uint32_t chosen = log.empty() ? 0 : log.marks().front().stream;
  for (int rank = 0; rank < 4; ++rank) {
    size_t most = 0;
    for (const auto& [stream, counts] : streams) {
      if (counts.of[rank] > most) {
        most = counts.of[rank];
        chosen = stream;
      }
    }
    if (most > 0) break;
  }
  *other_streams = 0;
  for (const auto& [stream, counts] : streams) {
    if (stream != chosen && counts.of[1] > 0) ++*other_streams;
  }
  return chosen;
}

// The Python start-up hook reports what ranges report too; it counts only where no better source does.
bool HasBetterSource(const MarkLog& log, uint32_t stream, MarkKind kind) {
  return std::any_of(log.marks().begin(), log.marks().end(), [&](const Mark& mark) {
    return mark.stream == stream && mark.kind == kind && mark.source != MarkSource::kSiteCustomize;
  });
}

// The threads that fetch: the one that trains, or, where that one fetches nothing, the one that fetches most (a
// prefetcher in the background) and those that fetch before or after it: a prefetcher may be started for each epoch.
std::set<uint32_t> FetchingStreams(const MarkLog& log, uint32_t training) {
  struct Fetches {
    uint32_t stream;
    size_t count = 0;
    uint64_t first = 0;
    uint64_t last = 0;
  };
  std::map<uint32_t, Fetches> by_stream;
  for (const Mark& mark : log.marks()) {
    if (mark.kind != MarkKind::kFetchBegin) continue;
    Fetches& fetches =
        by_stream.try_emplace(mark.stream, Fetches{mark.stream, 0, mark.time, 0}).first->second;
    ++fetches.count;
    fetches.last = mark.time;
  }
  if (by_stream.empty() || by_stream.contains(training)) return {training};
  std::vector<Fetches> most_first;
  for (const auto& [stream, fetches] : by_stream) most_first.push_back(fetches);
  std::stable_sort(most_first.begin(), most_first.end(),
                   [](const Fetches& a, const Fetches& b) { return a.count > b.count; });
  std::vector<Fetches> taken;
  std::set<uint32_t> streams;
  for (const Fetches& one : most_first) {
    const bool is_beside = std::any_of(taken.begin(), taken.end(), [&one](const Fetches& other) {
      return one.first <= other.last && other.first <= one.last;
    });
    if (is_beside) continue;
    taken.push_back(one);
    streams.insert(one.stream);
  }
  return streams;
}

DataOrder OrderOf(std::string_view word) {
  if (word == "kept") return DataOrder::kKept;
  if (word == "shuffled") return DataOrder::kShuffled;
  return word == "drawn" ? DataOrder::kDrawn : DataOrder::kUnknown;
}

class Collector {
 public:
  Collector(const MarkLog& log, uint64_t end_time, LoopEvents* events)
      : log_(log), end_time_(end_time), events_(*events) {
    ignore_hook_steps_ = HasBetterSource(log, events_.stream, MarkKind::kStep);
    ignore_hook_modes_ = HasBetterSource(log, events_.stream, MarkKind::kTrainMode);
    take_all_backwards_ = !HasBetterSource(log, events_.stream, MarkKind::kBackwardBegin);
    fetch_streams_ = FetchingStreams(log, events_.stream);
  }

  void Add(const Mark& mark) {
    switch (mark.kind) {
      case MarkKind::kPhaseBegin:
      case MarkKind::kPhaseEnd:
        AddPhase(mark);
        return;
      case MarkKind::kEpoch:
        events_.explicit_epochs.push_back(mark.time);
        return;
      case MarkKind::kNote: {
        LoaderEvent loader{};
        if (mark.source == MarkSource::kSiteCustomize && ParseLoaderNote(log_.Name(mark.name), &loader)) {
          loader.time = mark.time;
          loader.iterator = trace::IteratorOfAddress(mark.value);
          events_.loaders.push_back(loader);
        }
        return;
      }
      case MarkKind::kBackwardBegin:
      case MarkKind::kBackwardEnd:
        if (mark.stream == events_.stream || take_all_backwards_) AddBackward(mark);
        return;
      case MarkKind::kFetchBegin:
      case MarkKind::kFetchEnd:
      case MarkKind::kFetchStop:
        if (fetch_streams_.contains(mark.stream)) AddOwn(mark);
        return;
      default:
        if (mark.stream == events_.stream) AddOwn(mark);
    }
  }

  void Finish() {
    if (!DoSitesTellLines()) {
      for (FetchEvent& fetch : events_.fetches) fetch.site = 0;
      for (OptimizerEvent& step : events_.optimizer_steps) step.site = 0;
    }
    CloseBackward(end_time_);
    // A run that was killed inside a fetch: it brought no batch, and nobody knows whether it would have.
    if (is_fetch_open_) events_.fetches.pop_back();
    for (size_t i : open_phases_) events_.phases[i].end = end_time_;
    std::sort(events_.phases.begin(), events_.phases.end(),
              [](const PhaseEvent& a, const PhaseEvent& b) { return a.begin < b.begin; });
  }

 private:
  void AddOwn(const Mark& mark) {
    const bool is_hook = mark.source == MarkSource::kSiteCustomize;
    switch (mark.kind) {
      case MarkKind::kExplicitStep:
        CloseBackward(mark.time);
        events_.explicit_steps.push_back(mark.time);
        break;
      case MarkKind::kOptimizerBegin:
        if (is_hook && ignore_hook_steps_) return;
        CloseBackward(mark.time);
        optimizer_begin_ = mark.time;
        optimizer_site_ = mark.value;
        has_optimizer_begin_ = true;
        break;
      case MarkKind::kStep:
        if (is_hook && ignore_hook_steps_) return;
        events_.optimizer_steps.push_back({has_optimizer_begin_ ? optimizer_begin_ : mark.time, mark.time,
                                           has_optimizer_begin_ ? optimizer_site_ : mark.value, mark.name});
        has_ranges_ |= mark.source == MarkSource::kRecordFunction;
        has_optimizer_begin_ = false;
        break;
      case MarkKind::kZeroGrad:
        CloseBackward(mark.time);
        events_.zero_grads.push_back(mark.time);
        zero_grad_sites_.insert(mark.value);
        break;
      case MarkKind::kFetchBegin:
        if (mark.stream == events_.stream) CloseBackward(mark.time);
        CloseFetch(mark.time);
        events_.fetches.push_back({mark.time, mark.time, mark.value, false, true});
        is_fetch_open_ = true;
        break;
      case MarkKind::kFetchEnd:
      case MarkKind::kFetchStop:
        if (is_fetch_open_) EndFetch(mark);
        break;
      case MarkKind::kTrainMode:
        if (is_hook && ignore_hook_modes_) return;
        if (events_.modes.empty() || events_.modes.back().is_train != (mark.value != 0)) {
          events_.modes.push_back({mark.time, mark.value != 0});
        }
        break;
      default:
        break;
    }
  }

  void EndFetch(const Mark& mark) {
    const trace::FetchMark end = trace::DecodeFetchMark(mark.value);
    FetchEvent& fetch = events_.fetches.back();
    fetch.is_stop = mark.kind == MarkKind::kFetchStop;
    fetch.is_stop_known = end.knows_stop || fetch.is_stop;
    fetch.are_gradients_off = end.gradients_off;
    fetch.iterator = end.iterator;
    CloseFetch(mark.time);
  }

  // Ranges are opened by Python code. Where its frames are not part of the stacks, all optimizers of a
  // program seem to be called from one place, and from the same one as zero_grad.
  bool DoSitesTellLines() const {
    if (!has_ranges_) return true;
    std::set<uint64_t> step_sites;
    for (const OptimizerEvent& step : events_.optimizer_steps) step_sites.insert(step.site);
    if (zero_grad_sites_.empty()) return step_sites.size() > 1;
    return std::none_of(step_sites.begin(), step_sites.end(),
                        [&](uint64_t site) { return zero_grad_sites_.contains(site); });
  }

  void AddBackward(const Mark& mark) {
    if (mark.kind == MarkKind::kBackwardBegin) {
      if (backward_depth_++ == 0) events_.backwards.push_back({mark.time, mark.time});
    } else if (backward_depth_ > 0 && --backward_depth_ == 0) {
      events_.backwards.back().end = mark.time;
    }
  }

  // A backward pass that threw has no end: nothing else of the loop happens inside one.
  void CloseBackward(uint64_t time) {
    if (backward_depth_ > 0) events_.backwards.back().end = time;
    backward_depth_ = 0;
  }

  void CloseFetch(uint64_t time) {
    if (is_fetch_open_) events_.fetches.back().end = time;
    is_fetch_open_ = false;
  }

  void AddPhase(const Mark& mark) {
    const bool is_explicit = mark.source == MarkSource::kExplicit;
    if (mark.kind == MarkKind::kPhaseBegin) {
      open_phases_.push_back(events_.phases.size());
      events_.phases.push_back({mark.time, mark.time, mark.name, is_explicit});
      return;
    }
    for (size_t i = open_phases_.size(); i-- > 0;) {
      PhaseEvent& phase = events_.phases[open_phases_[i]];
      if (phase.name != mark.name) continue;
      phase.end = mark.time;
      open_phases_.erase(open_phases_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }

  const MarkLog& log_;
  const uint64_t end_time_;
  LoopEvents& events_;
  bool ignore_hook_steps_ = false;
  bool ignore_hook_modes_ = false;
  bool take_all_backwards_ = false;
  std::set<uint32_t> fetch_streams_;
  bool has_optimizer_begin_ = false;
  uint64_t optimizer_begin_ = 0;
  uint64_t optimizer_site_ = 0;
  bool has_ranges_ = false;
  std::set<uint64_t> zero_grad_sites_;
  bool is_fetch_open_ = false;
  int backward_depth_ = 0;
  std::vector<size_t> open_phases_;
};

}  // namespace

bool ParseLoaderNote(std::string_view note, LoaderEvent* loader) {
  constexpr std::string_view kPrefix = "loader ";
  if (!note.starts_with(kPrefix)) return false;
  note.remove_prefix(kPrefix.size());
  while (!note.empty()) {
    const size_t space = std::min(note.find(' '), note.size());
    const std::string_view word = note.substr(0, space);
    note.remove_prefix(std::min(space + 1, note.size()));
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    uint64_t value = 0;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), value);
    const std::string_view key = word.substr(0, equals);
    if (key == "batches") loader->batches = value;
    if (key == "batch_size") loader->batch_size = value;
    if (key == "examples") loader->examples = value;
    if (key == "dataset") loader->dataset = value;
    if (key == "workers") loader->workers = value;
    if (key == "skipped") loader->skipped = value;
    if (key == "order") loader->order = OrderOf(word.substr(equals + 1));
  }
  return true;
}

LoopEvents CollectLoopEvents(const MarkLog& log, uint64_t end_time) {
  LoopEvents events;
  events.stream = ChooseStream(log, &events.other_streams);
  Collector collector(log, end_time, &events);
  for (const Mark& mark : log.marks()) collector.Add(mark);
  collector.Finish();
  return events;
}

}  // namespace plateau::series
