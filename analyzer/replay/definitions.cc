#include "analyzer/replay/definitions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/base/progress.h"
#include "analyzer/replay/block_damage.h"
#include "analyzer/replay/left_out_marks.h"
#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau::replay {
namespace {

using trace::RecordKind;

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

// The granules in which addresses lie. Neighbours come together, so the set is rarely asked.
class Granules {
 public:
  void Add(uint64_t address) {
    const uint64_t granule = address / Definitions::kArenaGranuleBytes;
    uint64_t& recent = recent_[granule % recent_.size()];
    if (recent == granule + 1) return;
    recent = granule + 1;
    all_.insert(granule);
  }
  const absl::flat_hash_set<uint64_t>& all() const { return all_; }

 private:
  std::array<uint64_t, 64> recent_{};  // plus 1
  absl::flat_hash_set<uint64_t> all_;
};

// What one block contributed; merged under a lock.
struct Harvest {
  uint32_t last_node = 0;  // the largest number
  std::vector<std::pair<uint32_t, Location>> locations;
  std::vector<std::pair<uint32_t, Module>> modules;
  std::vector<std::pair<uint32_t, CodeObject>> codes;
  std::vector<ThreadInfo> threads;
  std::vector<TimedMark> marks;
  std::vector<TimedLedger> ledger;
  std::vector<TimedRate> rates;
  std::vector<std::pair<std::string, std::string>> infos;
  uint64_t groups = 0;  // of steps, since folding began
  std::vector<uint32_t> fork_children;
  std::vector<PageRun> copied_pages;
  Granules granules;
  reader::DropCounts drops;
  uint64_t unknown_records = 0;
  uint64_t last_tsc = 0;
  uint64_t records = 0;
  uint64_t events = 0;
  bool is_loaded = true;
  reader::ReadSummary damage;
};

// Damaged runs end the record; an address space has no more than 2^52 pages.
void AddRuns(std::string_view packed, std::vector<PageRun>* runs) {
  constexpr uint64_t kMaxPage = uint64_t{1} << 52;
  const auto* p = reinterpret_cast<const uint8_t*>(packed.data());
  const uint8_t* end = p + packed.size();
  uint64_t page = 0;
  while (p != nullptr && p < end) {
    uint64_t gap = 0, count = 0;
    p = trace::GetVarint(p, end, &gap);
    if (p == nullptr) break;
    p = trace::GetVarint(p, end, &count);
    if (p == nullptr || gap > kMaxPage || count > kMaxPage || page + gap + count > kMaxPage) break;
    if (count > 0) runs->push_back({page + gap, count});
    page += gap + count;
  }
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

void HarvestRecord(const trace::Record& r, uint32_t stream, Harvest* out) {
  switch (r.kind) {
    case RecordKind::kPc:
      out->locations.push_back({r.pc.location, {Location::Kind::kNative, r.pc.module, 0, r.pc.offset}});
      break;
    case RecordKind::kPythonLocation: {
      const trace::PythonLocationRecord& p = r.python_location;
      out->locations.push_back({p.location, {Location::Kind::kPython, p.code, p.flags, p.offset}});
      break;
    }
    case RecordKind::kModule:
      out->modules.push_back({r.module.module,
                              {r.module.base, r.module.begin, r.module.bytes, std::string(r.module.path),
                               std::string(r.module.build_id)}});
      break;
    case RecordKind::kCode:
      out->codes.push_back({r.code.code,
                            {r.code.python_version, r.code.first_line, std::string(r.code.file),
                             std::string(r.code.name), std::string(r.code.line_table)}});
      break;
    case RecordKind::kInfo:
      out->infos.emplace_back(r.info.key, r.info.value);
      break;
    case RecordKind::kThreadStart:
      out->threads.push_back({stream, r.thread_start.thread_id, std::string(r.thread_start.name)});
      break;
    case RecordKind::kMark:
      if (r.mark.kind == trace::MarkKind::kOp) break;
      out->marks.push_back(
          {r.tsc, stream, r.mark.kind, r.mark.source, r.mark.value, std::string(r.mark.name)});
      break;
    case RecordKind::kLedger: {
      TimedLedger reading{r.tsc, {}};
      for (uint32_t i = 0; i < r.ledger.count; ++i) {
        reading.fields[r.ledger.fields[i].field] = r.ledger.fields[i].value;
      }
      out->ledger.push_back(std::move(reading));
      break;
    }
    case RecordKind::kRate:
      out->rates.push_back({r.tsc, r.rate});
      break;
    case RecordKind::kDrop:
      if (!out->drops.Add(r.drop.reason, r.drop.events, r.drop.bytes)) ++out->unknown_records;
      break;
    case RecordKind::kCopiedPages:
      AddRuns(r.copied_pages.runs, &out->copied_pages);
      break;
    case RecordKind::kFoldRow:
      if (r.fold_totals.stack == trace::kFoldRowOfGroups) out->groups = r.fold_totals.alloc_count_256;
      break;
    case RecordKind::kFork:
      out->fork_children.push_back(r.fork.child_pid);
      break;
    case RecordKind::kAllocIn:
      out->granules.Add(r.alloc_in.address);
      ++out->events;
      break;
    case RecordKind::kAlloc:
    case RecordKind::kFree:
    case RecordKind::kFreeIn:
    case RecordKind::kMap:
    case RecordKind::kUnmap:
    case RecordKind::kRemap:
    case RecordKind::kBreak:
    case RecordKind::kDevice:
      ++out->events;
      break;
    default:
      break;
  }
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
          Merge(ref, HarvestOfHeader(ref.header));
          continue;
        }
        blocks.push_back(&ref);
        bytes += ref.header.payload_bytes;
      }
    }
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    if (threads == 1) on_located_ = nullptr;
    threads = static_cast<int>(std::min<size_t>(threads, std::max<size_t>(1, blocks.size() / 2)));
    Progress progress(absl::StrCat("definitions of ", reader_.path()), bytes);
    // Merged in the order of the blocks, whoever has read them: of two definitions of one number, which only
    // damage can make, always the same counts.
    std::vector<std::unique_ptr<Harvest>> read(blocks.size());
    size_t merged = 0;
    std::mutex mutex;
    std::atomic<size_t> next{0};
    const auto work = [&] {
      reader::LoadedBlock block;
      for (size_t i; (i = next.fetch_add(1)) < blocks.size();) {
        auto harvest = std::make_unique<Harvest>();
        ReadBlock(*blocks[i], &block, harvest.get());
        progress.Add(blocks[i]->header.payload_bytes);
        const std::lock_guard lock(mutex);
        read[i] = std::move(harvest);
        for (; merged < read.size() && read[merged] != nullptr; ++merged) {
          Merge(*blocks[merged], std::move(*read[merged]));
          read[merged].reset();
        }
      }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    Finish();
    return std::move(result_);
  }

 private:
  // Of a block that is left to the second pass, which tells when it cannot be read.
  static Harvest HarvestOfHeader(const trace::BlockHeader& header) {
    Harvest harvest;
    harvest.last_tsc = header.last_tsc;
    harvest.records = harvest.events = header.record_count;
    return harvest;
  }

  // On any thread.
  void ReadBlock(const reader::BlockRef& ref, reader::LoadedBlock* block, Harvest* harvest) {
    const absl::Status status = reader_.Load(ref, block);
    harvest->is_loaded = status.ok();
    if (!status.ok()) return CountUnloadable(ref, status, &harvest->damage);
    trace::RecordReader records(block->header, block->payload);
    harvest->last_tsc = ref.header.last_tsc;
    if (trace::HasPext()) {
      HarvestAllByPext(ref.header.stream, &records, harvest);
    } else {
      HarvestAll<trace::JoinByShifts>(ref.header.stream, &records, harvest);
    }
    harvest->unknown_records += records.unknown_records();
    if (records.damaged()) CountUnreadable(reader_, ref, records.offset(), &harvest->damage);
  }

  template <typename Join>
  [[gnu::always_inline]] void HarvestAll(uint32_t stream, trace::RecordReader* records, Harvest* harvest) {
    trace::Record record;
    uint64_t hot_records = 0, nodes = 0, last_tsc = 0;
    uint32_t last_node = 0;
    while (true) {
      records->TakeHotBy<Join, trace::RecordReader::Walk::kTimes>([&](const trace::HotRecord& hot) {
        ++hot_records;
        if (hot.kind == RecordKind::kAllocIn) harvest->granules.Add(hot.address);
        last_tsc = hot.tsc;
      });
      const bool has_nodes = records->TakeNodes([&](const trace::NodeRecord& node) {
        ++nodes;
        if (result_.nodes.Define(node.node, node.parent, node.location))
          last_node = std::max(last_node, node.node);
      });
      if (has_nodes) continue;
      if (!records->Next(&record)) break;
      ++harvest->records;
      HarvestRecord(record, stream, harvest);
      last_tsc = record.tsc;
    }
    harvest->records += hot_records + nodes;
    harvest->events += hot_records;
    harvest->last_node = std::max(harvest->last_node, last_node);
    harvest->last_tsc = std::max(harvest->last_tsc, last_tsc);  // of a sound block its latest
  }
  PLATEAU_FOR_BMI2 void HarvestAllByPext(uint32_t stream, trace::RecordReader* records, Harvest* harvest) {
    HarvestAll<trace::JoinByPext>(stream, records, harvest);
  }

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
    if (on_located_ && !has_located_ && !result_.locations.empty()) {
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
    append(result_.marks, harvest.marks);
    append(result_.ledger, harvest.ledger);
    append(result_.rates, harvest.rates);
    groups_ = std::max(groups_, harvest.groups);
    append(result_.fork_children, harvest.fork_children);
    append(result_.copied_pages, harvest.copied_pages);
    result_.pymalloc_granules.insert(harvest.granules.all().begin(), harvest.granules.all().end());
    for (auto& info : harvest.infos) {
      infos_.push_back({std::pair(ref.header.stream, ref.header.seq), std::move(info)});
    }
  }

  void Finish() {
    const auto by_time = [](const auto& a, const auto& b) { return a.tsc < b.tsc; };
    std::stable_sort(result_.marks.begin(), result_.marks.end(), [](const TimedMark& a, const TimedMark& b) {
      return std::pair(a.tsc, a.stream) < std::pair(b.tsc, b.stream);
    });
    std::stable_sort(result_.ledger.begin(), result_.ledger.end(), by_time);
    std::stable_sort(result_.rates.begin(), result_.rates.end(), by_time);
    std::stable_sort(result_.threads.begin(), result_.threads.end(),
                     [](const ThreadInfo& a, const ThreadInfo& b) { return a.stream < b.stream; });
    std::stable_sort(infos_.begin(), infos_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [where, info] : infos_) result_.infos.push_back(std::move(info));
    std::sort(result_.fork_children.begin(), result_.fork_children.end());
    Join(&result_.copied_pages);
    result_.summary.TakeRecordedDrops(drops_);
    result_.last_tsc = std::max(result_.last_tsc, result_.first_tsc);
    if (on_located_) on_located_(result_);
    result_.nodes.Resize(size_t{last_node_} + 1);
    result_.nodes.MergeEqual();
    for (TimedMark& mark : result_.marks) {
      if (!HasCaller(mark) || mark.value > UINT32_MAX) continue;
      const uint32_t caller = result_.Canonical(static_cast<uint32_t>(mark.value));
      if (caller != 0) mark.value = caller;
    }
    result_.left_out_marks = DrawLeftOutMarks(groups_, result_.last_tsc, &result_.marks);
  }

  // Whether the value of a mark is the stack of its caller, by which loops and optimizers are told apart.
  static bool HasCaller(const TimedMark& mark) {
    using trace::MarkKind;
    if (mark.source != trace::MarkSource::kRecordFunction && mark.source != trace::MarkSource::kCppHook)
      return false;
    return mark.kind == MarkKind::kStep || mark.kind == MarkKind::kOptimizerBegin ||
           mark.kind == MarkKind::kZeroGrad || mark.kind == MarkKind::kFetchBegin ||
           mark.kind == MarkKind::kBackwardBegin;
  }

  const reader::TraceReader& reader_;
  LocatedFunction on_located_;
  bool has_located_ = false;
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
