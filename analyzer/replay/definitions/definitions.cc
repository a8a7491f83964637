#include "analyzer/replay/definitions/definitions.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/work_on_threads.h"
#include "analyzer/replay/definitions/harvest.h"
#include "analyzer/replay/definitions/left_out_marks.h"
#include "analyzer/replay/definitions/spread_residency.h"

namespace plateau::replay {
namespace {

// Ids are given out from 1 upwards by the shim. A damaged or hostile id must not make us allocate without
// bound.
constexpr uint32_t kMaxId = 1u << 28;

template <typename T>
T* Slot(std::vector<T>& table, uint32_t id) {
  if (id == 0 || id > kMaxId) return nullptr;
  if (id >= table.size()) {
    if (id >= table.capacity()) table.reserve(std::max<size_t>(id + 1, table.size() + table.size() / 2));
    table.resize(id + 1);
  }
  return &table[id];
}

// Ascending, and those that touch joined: later records repeat what earlier ones said.
void Join(std::vector<PageRun>* runs) {
  std::sort(runs->begin(), runs->end(), [](const PageRun& a, const PageRun& b) { return a.first < b.first; });
  size_t kept = 0;
  for (const PageRun& run : *runs) {
    if (kept > 0 && run.first <= (*runs)[kept - 1].first + (*runs)[kept - 1].count) {
      PageRun& last = (*runs)[kept - 1];
      last.count = std::max(last.first + last.count, run.first + run.count) - last.first;
    } else {
      (*runs)[kept++] = run;
    }
  }
  runs->resize(kept);
}

// Whether the value of a mark is the stack of its caller, by which loops and optimizers are told apart.
bool HasCaller(const TimedMark& mark) {
  using trace::MarkKind;
  if (mark.source != trace::MarkSource::kRecordFunction && mark.source != trace::MarkSource::kCppHook)
    return false;
  return mark.kind == MarkKind::kStep || mark.kind == MarkKind::kOptimizerBegin ||
         mark.kind == MarkKind::kZeroGrad || mark.kind == MarkKind::kFetchBegin ||
         mark.kind == MarkKind::kBackwardBegin;
}

class Collector {
 public:
  Collector(const reader::TraceReader& reader, const LocatedFunction& on_located)
      : reader_(reader), on_located_(on_located) {
    result_.summary = reader.summary();
  }

  Definitions Run(int threads) {
    std::vector<const reader::BlockRef*> blocks;
    uint64_t bytes = 0;
    for (const reader::StreamIndex& stream : reader_.streams()) {
      for (const reader::BlockRef& ref : stream.blocks) {
        if (trace::IsHeapOnly(ref.header)) {
          Merge(ref, Harvest::OfHeader(ref.header));
          continue;
        }
        blocks.push_back(&ref);
        bytes += ref.header.payload_bytes;
      }
    }
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    if (threads == 1) on_located_ = nullptr;
    threads = static_cast<int>(std::min<size_t>(threads, std::max<size_t>(1, blocks.size() / 4)));
    Progress progress(absl::StrCat("definitions of ", reader_.path()), bytes);
    // Merged in the order of the blocks, whoever has read them: of two definitions of one number, which only
    // damage can make, always the same counts.
    std::vector<std::unique_ptr<Harvest>> read(blocks.size());
    size_t merged = 0;
    std::mutex mutex;
    std::atomic<size_t> next{0};
    WorkOnThreads(static_cast<size_t>(threads), [&](size_t) {
      BlockHarvester harvester(&reader_, &result_.nodes);
      for (size_t i; (i = next.fetch_add(1)) < blocks.size();) {
        std::unique_ptr<Harvest> harvest = harvester.Read(*blocks[i]);
        progress.Add(blocks[i]->header.payload_bytes);
        const std::lock_guard lock(mutex);
        read[i] = std::move(harvest);
        for (; merged < read.size() && read[merged] != nullptr; ++merged) {
          Merge(*blocks[merged], std::move(*read[merged]));
          read[merged].reset();
        }
      }
    });
    Finish();
    return std::move(result_);
  }

 private:
  void Merge(const reader::BlockRef& ref, Harvest&& harvest) {
    result_.summary.Add(harvest.damage);
    if (!harvest.is_loaded) return;
    result_.summary.records += harvest.records;
    result_.summary.unknown_records += harvest.unknown_records;
    drops_.Add(harvest.drops);
    result_.event_count += harvest.events;
    // Blocks come in any order; 0 is no time.
    if (const uint64_t first = ref.header.first_tsc; first != 0) {
      result_.first_tsc = result_.first_tsc == 0 ? first : std::min(result_.first_tsc, first);
    }
    result_.last_tsc = std::max(result_.last_tsc, harvest.last_tsc);
    last_node_ = std::max(last_node_, harvest.last_node);
    for (auto& [id, location] : harvest.locations) {
      if (Location* slot = Slot(result_.locations, id)) *slot = location;
    }
    for (auto& [id, module] : harvest.modules) {
      if (Module* slot = Slot(result_.modules, id)) *slot = std::move(module);
    }
    if (on_located_ && !has_located_ && !result_.locations.empty() && !result_.modules.empty()) {
      has_located_ = true;
      on_located_(result_);
    }
    for (auto& [id, code] : harvest.codes) {
      if (CodeObject* slot = Slot(result_.codes, id)) *slot = std::move(code);
    }
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(result_.threads, harvest.threads);
    append(thread_ends_, harvest.thread_ends);
    append(result_.marks, harvest.marks);
    append(result_.ledger, harvest.ledger);
    append(result_.rates, harvest.rates);
    append(result_.residency, harvest.residency);
    result_.holders.Add(std::move(harvest.holders));
    // There should be but one.
    if (harvest.attach && (!result_.attach || harvest.attach->tsc < result_.attach->tsc))
      result_.attach = harvest.attach;
    groups_ = std::max(groups_, harvest.groups);
    append(result_.fork_children, harvest.fork_children);
    append(result_.copied_pages, harvest.copied_pages);
    result_.pymalloc_granules.insert(harvest.granules.all().begin(), harvest.granules.all().end());
    for (auto& info : harvest.infos) {
      infos_.push_back({std::pair(ref.header.stream, ref.header.seq), std::move(info)});
    }
  }

  // A stream may have had several threads, one after the other.
  void EndThread(uint32_t stream, uint64_t tsc) {
    auto behind = std::upper_bound(
        result_.threads.begin(), result_.threads.end(), std::pair(stream, tsc),
        [](const auto& key, const ThreadInfo& t) { return key < std::pair(t.stream, t.start_tsc); });
    if (behind == result_.threads.begin()) return;
    ThreadInfo& thread = *std::prev(behind);
    if (thread.stream == stream) thread.end_tsc = tsc;
  }

  void Finish() {
    const auto by_time = [](const auto& a, const auto& b) { return a.tsc < b.tsc; };
    std::stable_sort(result_.marks.begin(), result_.marks.end(), [](const TimedMark& a, const TimedMark& b) {
      return std::pair(a.tsc, a.stream) < std::pair(b.tsc, b.stream);
    });
    std::stable_sort(result_.ledger.begin(), result_.ledger.end(), by_time);
    std::stable_sort(result_.rates.begin(), result_.rates.end(), by_time);
    std::stable_sort(result_.residency.begin(), result_.residency.end(), by_time);
    result_.residency = SpreadResidency(result_.residency, result_.ledger);
    result_.holders.SortByTime();
    std::stable_sort(result_.threads.begin(), result_.threads.end(),
                     [](const ThreadInfo& a, const ThreadInfo& b) {
                       return std::pair(a.stream, a.start_tsc) < std::pair(b.stream, b.start_tsc);
                     });
    for (const auto& [stream, tsc] : thread_ends_) EndThread(stream, tsc);
    std::stable_sort(infos_.begin(), infos_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [where, info] : infos_) result_.infos.push_back(std::move(info));
    std::sort(result_.fork_children.begin(), result_.fork_children.end());
    Join(&result_.copied_pages);
    result_.summary.TakeRecordedDrops(drops_);
    result_.last_tsc = std::max(result_.last_tsc, result_.first_tsc);
    if (on_located_) on_located_(result_);
    result_.nodes.Resize(size_t{last_node_} + 1);
    result_.left_out_marks = DrawLeftOutMarks(groups_, result_.last_tsc, &result_.marks);
    result_.nodes.MergeEqual();
    for (HolderChain& chain : result_.holders.chains) {
      chain.stack = result_.Canonical(chain.stack);
      chain.native_stack = result_.Canonical(chain.native_stack);
    }
    for (ThreadInfo& thread : result_.threads) thread.creator_stack = result_.Canonical(thread.creator_stack);
    for (TimedMark& mark : result_.marks) {
      if (!HasCaller(mark) || mark.value > UINT32_MAX) continue;
      const uint32_t caller = PythonCaller(result_.Canonical(static_cast<uint32_t>(mark.value)));
      if (caller != 0) mark.value = caller;
    }
  }

  // A canonical node without the native frames beneath its newest Python frame. Where an interpreter stands in its own code
  // while it runs one line changes when it specialises that line, or is asked to hand over its lock.
  uint32_t PythonCaller(uint32_t node) const {
    for (uint32_t up = node; up != 0; up = result_.nodes[up].parent) {
      const uint32_t location = result_.nodes[up].location;
      if (location < result_.locations.size() && result_.locations[location].kind == Location::Kind::kPython)
        return up;
    }
    return node;
  }

  const reader::TraceReader& reader_;
  LocatedFunction on_located_;
  bool has_located_ = false;
  std::vector<std::pair<uint32_t, uint64_t>> thread_ends_;  // stream and time
  Definitions result_;
  uint32_t last_node_ = 0;
  reader::DropCounts drops_;
  uint64_t groups_ = 0;
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, std::pair<std::string, std::string>>> infos_;
};

}  // namespace

const std::string& Definitions::Info(const std::string& key) const {
  static const std::string none;
  // A part may correct what it said: the last one counts.
  for (auto it = infos.rbegin(); it != infos.rend(); ++it) {
    if (it->first == key) return it->second;
  }
  return none;
}

absl::StatusOr<Definitions> CollectDefinitions(const reader::TraceReader& reader, int threads,
                                               const LocatedFunction& on_located) {
  return Collector(reader, on_located).Run(threads);
}

}  // namespace plateau::replay
