#include "analyzer/replay/heap_replay.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/base/progress.h"
#include "analyzer/replay/event_source.h"
#include "analyzer/replay/live_table.h"
#include "analyzer/replay/mapping_table.h"
#include "analyzer/replay/owed_frees.h"
#include "analyzer/replay/sampling.h"

namespace plateau::replay {
namespace {

using trace::RecordKind;

constexpr size_t kPrefetchDistance = 12;
constexpr uint64_t kPageBytes = 4096;

// Bytes of an object that realloc made grow: each with the stack and bucket it was born in, oldest first.
struct Part {
  uint32_t row;
  uint32_t birth;
  uint64_t bytes;
};

// An object between the two halves of its realloc.
struct Limbo {
  bool is_valid = false;
  LiveObject object;
  std::vector<Part> parts;
};

// A live object that a free, met before the object's allocation, may have ended already. When no event of
// that time can come any more, it did.
struct Doomed {
  uint64_t latest;  // time of the free
  uint64_t address;
  bool operator>(const Doomed& other) const { return latest > other.latest; }
};

class HeapReplay {
 public:
  HeapReplay(const reader::TraceReader& reader, const Definitions& definitions, const ReplayOptions& options)
      : reader_(reader),
        definitions_(definitions),
        options_(options),
        heap_rows_(definitions.nodes.size(), kNoRow),
        observer_(options.observer) {
    const trace::FileHeader& header = reader.header();
    rates_.push_back({static_cast<trace::Mode>(header.mode), header.exact_from_bytes, header.sample_bytes});
    result_.has_sampling = rates_[0].mode != trace::Mode::kExact && rates_[0].sample_bytes > 0;
    result_.buckets.resize(options.bucket_ends.size() + 1);
    result_.ledger.resize(definitions.ledger.size());
    is_multi_stream_ = reader.streams().size() > 1;
  }

  ReplayResult Run() {
    Tick(0);
    EventSource source(reader_, options_.threads);
    Progress progress(absl::StrCat("replaying ", reader_.path()), definitions_.event_count);
    source.ForEachRun([&](const EventRun& run) {
      Replay(run);
      progress.Add(run.end - run.begin);
    });
    Finish();
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  void Replay(const EventRun& run) {
    const std::vector<Event>& events = run.block->events;
    for (size_t i = run.begin; i < run.end; ++i) {
      if (i + kPrefetchDistance < events.size()) live_.Prefetch(events[i + kPrefetchDistance].address);
      const Event& e = events[i];
      if (e.tsc >= next_tick_) Tick(e.tsc);
      switch (e.kind) {
        case RecordKind::kAlloc:
          ++result_.events;
          if (e.flags & kEventRealloc) {
            FinishRealloc(run, i);
          } else {
            Alloc(run, i);
          }
          break;
        case RecordKind::kFree:
          ++result_.events;
          if (e.flags & kEventRealloc) {
            StartRealloc(run, i);
          } else {
            Free(run, i);
          }
          break;
        case RecordKind::kReallocCancel:
          CancelRealloc(run.block->stream);
          break;
        case RecordKind::kTensor:
        case RecordKind::kTensorGone:
          if (LiveObject* object = live_.Find(e.address)) Tag(object, e.kind == RecordKind::kTensor);
          break;
        case RecordKind::kAllocIn:
          ++result_.events;
          AllocIn(e);
          break;
        case RecordKind::kFreeIn:
          ++result_.events;
          FreeIn(e);
          break;
        default:
          if (e.flags & kEventRare) Rare(run.block->records[e.bytes]);
      }
    }
  }

  // ---- clock
  // --------------------------------------------------------------------------------------------------------

  // Ends what is doomed, closes the buckets and notes the ledger readings that end before `tsc`.
  void Tick(uint64_t tsc) {
    while (!doomed_.empty() && tsc > doomed_.top().latest) {
      const Doomed next = doomed_.top();
      doomed_.pop();
      LiveObject* object = live_.Find(next.address);
      const bool is_doomed = object != nullptr && (object->flags & kObjectDoomed);
      if (is_doomed && waiting_.Take(next.address, next.latest)) EndDoomed(object);
    }
    while (bucket_ < options_.bucket_ends.size() && tsc >= options_.bucket_ends[bucket_]) CloseBucket();
    while (ledger_next_ < definitions_.ledger.size() && tsc >= definitions_.ledger[ledger_next_].tsc) {
      result_.ledger[ledger_next_++] = {PoolBytes(), std::max(reading_peak_, totals_.live_bytes()),
                                        tensor_bytes_, tensor_count_};
      reading_peak_ = totals_.live_bytes();
    }
    while (rate_next_ < definitions_.rates.size() && tsc >= definitions_.rates[rate_next_].tsc) {
      if (rates_.size() < 255) rates_.push_back(definitions_.rates[rate_next_].rate);
      rates_.back() = definitions_.rates[rate_next_++].rate;
      result_.has_sampling |= rates_.back().mode != trace::Mode::kExact && rates_.back().sample_bytes > 0;
    }
    while (label_next_ < options_.labels.size() && tsc >= options_.labels[label_next_].begin) {
      birth_flags_ = static_cast<uint8_t>(options_.labels[label_next_++].label << kObjectLabelShift);
    }
    next_tick_ = doomed_.empty() ? UINT64_MAX : doomed_.top().latest + 1;
    if (label_next_ < options_.labels.size()) {
      next_tick_ = std::min(next_tick_, options_.labels[label_next_].begin);
    }
    if (bucket_ < options_.bucket_ends.size()) {
      next_tick_ = std::min(next_tick_, options_.bucket_ends[bucket_]);
    }
    if (ledger_next_ < definitions_.ledger.size()) {
      next_tick_ = std::min(next_tick_, definitions_.ledger[ledger_next_].tsc);
    }
    if (rate_next_ < definitions_.rates.size())
      next_tick_ = std::min(next_tick_, definitions_.rates[rate_next_].tsc);
  }

  void CloseBucket() {
    BucketLevel& level = result_.buckets[bucket_];
    level.live_bytes = totals_.live_bytes();
    level.live_peak_bytes = std::max(bucket_peak_, totals_.live_bytes());
    level.tensor_bytes = tensor_bytes_;
    level.tensor_count = tensor_count_;
    level.pool_bytes = PoolBytes();
    bucket_peak_ = totals_.live_bytes();
    if (bucket_++ == options_.last_bucket) TakeRetained();
  }

  std::array<double, kPools> PoolBytes() const {
    std::array<double, kPools> bytes{};
    for (size_t i = 0; i < kPools; ++i) bytes[i] = result_.pools[i].live_bytes;
    return bytes;
  }

  // ---- amounts
  // ------------------------------------------------------------------------------------------------------

  uint8_t rate() const { return static_cast<uint8_t>(rates_.size() - 1); }
  double Weight(uint8_t rate, uint64_t bytes) const {
    return result_.has_sampling ? 1 / RecordedProbability(rates_[rate], bytes) : 1.0;
  }

  uint32_t HeapRow(uint32_t node) {
    if (node >= heap_rows_.size()) node = 0;
    uint32_t& row = heap_rows_[node];
    if (row == kNoRow) row = RowOf(Pool::kHeap, node);
    return row;
  }
  uint32_t RowOf(Pool pool, uint32_t node) {
    return totals_.RowOf(pool, definitions_.Canonical(node), options_.site_of);
  }

  // `bytes` of one object that stands for `weight`; a growth has no count of its own.
  void Born(uint32_t row, uint64_t bytes, double weight, bool is_growth = false) {
    StackRow& r = totals_.row(row);
    const double size = static_cast<double>(bytes);
    const double count = is_growth ? 0 : weight;
    r.alloc_bytes += size * weight;
    r.alloc_count += count;
    if (observer_ != nullptr) {
      if (is_growth) {
        observer_->OnGrow(r.site, size, weight, bucket_);
      } else {
        observer_->OnAlloc(r.site, size, weight, bucket_);
      }
    }
    AddToPool(r.pool, size * weight);
    const uint64_t peak = totals_.peak_number();
    totals_.Add(row, size * weight, count);
    if (totals_.live_bytes() > bucket_peak_) bucket_peak_ = totals_.live_bytes();
    if (totals_.live_bytes() > reading_peak_) reading_peak_ = totals_.live_bytes();
    if (totals_.peak_number() != peak) result_.peak_bucket = bucket_;
  }

  enum class Ending { kObject, kPiece, kShrink };

  void Died(uint32_t row, uint32_t birth, uint64_t bytes, double weight, Ending ending = Ending::kObject) {
    StackRow& r = totals_.row(row);
    const double size = static_cast<double>(bytes);
    const double count = ending == Ending::kObject ? weight : 0;
    r.free_count += count;
    if (birth == bucket_) r.temporary_bytes += size * weight;
    if (observer_ != nullptr) {
      if (ending == Ending::kShrink) {
        observer_->OnShrink(r.site, birth, size, weight, bucket_);
      } else {
        observer_->OnFree(r.site, birth, size, weight, bucket_, ending == Ending::kObject);
      }
    }
    result_.pools[static_cast<size_t>(r.pool)].live_bytes -= size * weight;
    totals_.Remove(row, size * weight, count);
  }

  void AddToPool(Pool pool, double bytes) {
    PoolLevel& level = result_.pools[static_cast<size_t>(pool)];
    level.live_bytes += bytes;
    level.peak_bytes = std::max(level.peak_bytes, level.live_bytes);
  }

  void EndObject(const LiveObject& object, const std::vector<Part>* parts) {
    if (parts == nullptr) {
      Died(object.stack, object.birth, object.bytes, Weight(object.rate, object.bytes));
      return;
    }
    Ending ending = Ending::kObject;
    for (const Part& part : *parts) {
      Died(part.row, part.birth, part.bytes, 1, ending);
      ending = Ending::kPiece;
    }
  }

  void Tag(LiveObject* object, bool is_tensor) {
    if (((object->flags & kObjectTensor) != 0) == is_tensor) return;
    object->flags ^= kObjectTensor;
    const double count = (is_tensor ? 1 : -1) * Weight(static_cast<uint8_t>(object->rate), object->bytes);
    tensor_count_ += count;
    tensor_bytes_ += count * static_cast<double>(object->bytes);
    if (observer_ == nullptr) return;
    const uint32_t site = totals_.row(static_cast<uint32_t>(object->stack)).site;
    observer_->OnTensor(site, count, static_cast<double>(object->bytes), bucket_);
  }

  void EraseObject(LiveObject* object) {
    Tag(object, false);
    if (object->flags & kObjectParts) {
      const auto it = parts_.find(object->address);
      EndObject(*object, &it->second);
      parts_.erase(it);
    } else {
      EndObject(*object, nullptr);
    }
    live_.Erase(object);
  }

  // ---- malloc family
  // ------------------------------------------------------------------------------------------------

  // Makes room at an address that is about to be allocated.
  void MakeRoom(const EventRun& run, size_t i) {
    const Event& e = run.block->events[i];
    LiveObject* old = live_.Find(e.address);
    if (old == nullptr) return;
    if ((old->flags & kObjectDoomed) && waiting_.TakeBefore(e.address, UINT64_MAX)) return EndDoomed(old);
    ++result_.late_frees;
    EraseObject(old);
    if (is_multi_stream_) late_.Add(e.address, run.block->stream, e.tsc, run.LatestTime(i));
  }

  // By a free that came too early and was counted as unknown.
  void EndDoomed(LiveObject* object) {
    --result_.unknown_frees;
    ++result_.late_frees;
    EraseObject(object);
  }

  void InsertNew(const EventRun& run, size_t i, LiveObject object) {
    const Event& e = run.block->events[i];
    if (const auto latest = waiting_.GoodUntil(e.address, run.block->stream, e.tsc)) {
      object.flags |= kObjectDoomed;
      doomed_.push({*latest, e.address});
      next_tick_ = std::min(next_tick_, *latest + 1);
    }
    live_.Insert(object);
  }

  void Alloc(const EventRun& run, size_t i) {
    const Event& e = run.block->events[i];
    if (e.address == 0) return;
    MakeRoom(run, i);
    const uint32_t row = HeapRow(e.stack);
    Born(row, e.bytes, Weight(rate(), e.bytes));
    InsertNew(run, i, {e.address, rate(), birth_flags_, e.bytes, row, bucket_});
  }

  // The live object that a free ends, or nullptr when the free belongs to another one.
  LiveObject* FreedObject(const EventRun& run, size_t i) {
    const Event& e = run.block->events[i];
    if (late_.Consume(e.address, run.block->stream, e.tsc)) return nullptr;
    LiveObject* object = live_.Find(e.address);
    if (object == nullptr) {
      ++result_.unknown_frees;
      if (is_multi_stream_) waiting_.Add(e.address, run.block->stream, e.tsc, run.LatestTime(i));
    } else if ((object->flags & kObjectDoomed) && waiting_.TakeBefore(e.address, run.LatestTime(i))) {
      // The one that waited ends the object, this one may still find a later one.
      waiting_.Add(e.address, run.block->stream, e.tsc, run.LatestTime(i));
    }
    return object;
  }

  void Free(const EventRun& run, size_t i) {
    if (LiveObject* object = FreedObject(run, i)) EraseObject(object);
  }

  void StartRealloc(const EventRun& run, size_t i) {
    Limbo& limbo = limbo_[run.block->stream];
    EndLimbo(&limbo);
    LiveObject* object = FreedObject(run, i);
    if (object == nullptr) return;
    limbo.is_valid = true;
    limbo.object = *object;
    limbo.parts.clear();
    if (object->flags & kObjectParts) {
      const auto it = parts_.find(object->address);
      limbo.parts = std::move(it->second);
      parts_.erase(it);
    }
    live_.Erase(object);
  }

  // A realloc whose second half never came (lost, or damage): the object is gone.
  void EndLimbo(Limbo* limbo) {
    if (!limbo->is_valid) return;
    limbo->is_valid = false;
    EndObject(limbo->object, limbo->parts.empty() ? nullptr : &limbo->parts);
  }

  void CancelRealloc(uint32_t stream) {
    Limbo& limbo = limbo_[stream];
    if (!limbo.is_valid) return;
    if (live_.Find(limbo.object.address) != nullptr) return EndLimbo(&limbo);
    limbo.is_valid = false;
    live_.Insert(limbo.object);
    if (!limbo.parts.empty()) parts_[limbo.object.address] = std::move(limbo.parts);
  }

  void FinishRealloc(const EventRun& run, size_t i) {
    const Event& e = run.block->events[i];
    Limbo& limbo = limbo_[run.block->stream];
    const bool is_exact = limbo.is_valid &&
                          RecordedProbability(rates_[limbo.object.rate], limbo.object.bytes) == 1 &&
                          RecordedProbability(rates_[rate()], e.bytes) == 1;
    if (!is_exact || e.address == 0) {
      EndLimbo(&limbo);
      return Alloc(run, i);
    }
    limbo.is_valid = false;
    LiveObject object = limbo.object;
    std::vector<Part> parts = std::move(limbo.parts);
    if (parts.empty()) parts.push_back({object.stack, object.birth, object.bytes});
    if (e.bytes > object.bytes) {
      const uint32_t row = HeapRow(e.stack);
      const uint64_t growth = e.bytes - object.bytes;
      Born(row, growth, 1, true);
      if (parts.back().row == row && parts.back().birth == bucket_) {
        parts.back().bytes += growth;
      } else {
        parts.push_back({row, bucket_, growth});
      }
    } else {
      for (uint64_t excess = object.bytes - e.bytes; excess > 0;) {
        Part& youngest = parts.back();
        const uint64_t cut = std::min(excess, youngest.bytes);
        Died(youngest.row, youngest.birth, cut, 1, Ending::kShrink);
        youngest.bytes -= cut;
        excess -= cut;
        if (youngest.bytes == 0 && parts.size() > 1) parts.pop_back();
      }
    }
    MakeRoom(run, i);
    object.address = e.address;
    object.bytes = e.bytes;
    object.rate = rate();
    const bool has_parts = parts.size() > 1;
    object.flags = (object.flags & ~uint64_t{kObjectParts | kObjectDoomed}) | (has_parts ? kObjectParts : 0);
    if (has_parts) parts_[object.address] = std::move(parts);
    InsertNew(run, i, object);
  }

  // ---- pymalloc
  // -----------------------------------------------------------------------------------------------------

  void AllocIn(const Event& e) {
    if (e.address == 0) return;
    if (LiveObject* old = python_.Find(e.address)) {
      EndObject(*old, nullptr);
      python_.Erase(old);
    }
    const uint32_t row = RowOf(Pool::kPython, e.stack);
    Born(row, e.bytes, Weight(rate(), e.bytes));
    python_.Insert({e.address, rate(), birth_flags_, e.bytes, row, bucket_});
  }

  void FreeIn(const Event& e) {
    LiveObject* object = python_.Find(e.address);
    if (object == nullptr) {
      ++result_.unknown_frees;
      return;
    }
    EndObject(*object, nullptr);
    python_.Erase(object);
  }

  // ---- mappings
  // -----------------------------------------------------------------------------------------------------

  Pool PoolOfMapping(const trace::MapRecord& map) const {
    if (map.kind == trace::MapKind::kFile) return Pool::kFile;
    if (map.kind == trace::MapKind::kShared) return Pool::kShared;
    if (map.kind == trace::MapKind::kArena) return Pool::kArena;
    if (map.prot == 0) return Pool::kReserved;
    // pymalloc takes arenas of 256 KiB, since Python 3.10 of 1 MiB.
    if (map.bytes == 256 * 1024 || map.bytes == 1024 * 1024) {
      constexpr uint64_t kGranule = Definitions::kArenaGranuleBytes;
      for (uint64_t g = map.address / kGranule; g <= (map.address + map.bytes - 1) / kGranule; ++g) {
        if (definitions_.pymalloc_granules.contains(g)) return Pool::kArena;
      }
    }
    return Pool::kMmap;
  }

  static uint64_t EndOf(uint64_t begin, uint64_t bytes) {
    const uint64_t end = begin + std::min<uint64_t>(bytes, uint64_t{1} << 48);
    return (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  }

  void MapAt(Pool pool, uint64_t begin, uint64_t end, uint32_t stack, bool is_first) {
    if (begin >= end) return;
    const uint32_t row = HasRows(pool) ? RowOf(pool, stack) : kNoRow;
    const Mapping mapping{row, bucket_, static_cast<uint8_t>(pool), is_first};
    for (const MappingPiece& piece : mappings_.Map(begin, end, mapping)) EndPiece(piece);
    if (row == kNoRow) {
      AddToPool(pool, static_cast<double>(end - begin));
    } else {
      Born(row, end - begin, 1, !is_first);
    }
  }

  void EndPiece(const MappingPiece& piece) {
    if (piece.mapping.stack == kNoRow) {
      result_.pools[piece.mapping.kind].live_bytes -= static_cast<double>(piece.bytes());
    } else {
      Died(piece.mapping.stack, piece.mapping.birth, piece.bytes(), 1,
           piece.mapping.is_first ? Ending::kObject : Ending::kPiece);
    }
  }

  void Unmap(uint64_t begin, uint64_t end) {
    for (const MappingPiece& piece : mappings_.Unmap(begin, end)) EndPiece(piece);
  }

  void Remap(const trace::RemapRecord& r) {
    const uint64_t old_end = EndOf(r.old_address, r.old_bytes);
    const uint64_t new_end = EndOf(r.new_address, r.new_bytes);
    std::vector<MappingPiece> moved = mappings_.Unmap(r.old_address, old_end);
    Unmap(r.new_address, new_end);
    Pool pool = Pool::kMmap;
    for (const MappingPiece& piece : moved) {
      pool = static_cast<Pool>(piece.mapping.kind);
      const uint64_t begin = r.new_address + (piece.begin - r.old_address);
      const uint64_t end = std::min(r.new_address + (piece.end - r.old_address), new_end);
      if (begin < end) mappings_.Map(begin, end, piece.mapping);
      if (const uint64_t kept = begin < end ? end - begin : 0; kept < piece.bytes()) {
        EndPiece({piece.begin + kept,
                  piece.end,
                  {piece.mapping.stack, piece.mapping.birth, piece.mapping.kind,
                   kept == 0 && piece.mapping.is_first}});
      }
    }
    const uint64_t old_span = old_end - r.old_address;
    if (!moved.empty() && new_end - r.new_address > old_span) {
      MapAt(pool, r.new_address + old_span, new_end, r.stack, false);
    }
  }

  // ---- the rest
  // -----------------------------------------------------------------------------------------------------

  void Rare(const trace::Record& r) {
    switch (r.kind) {
      case RecordKind::kMap:
        ++result_.events;
        MapAt(PoolOfMapping(r.map), r.map.address, EndOf(r.map.address, r.map.bytes), r.map.stack, true);
        break;
      case RecordKind::kUnmap:
        ++result_.events;
        Unmap(r.unmap.address, EndOf(r.unmap.address, r.unmap.bytes));
        break;
      case RecordKind::kRemap:
        ++result_.events;
        Remap(r.remap);
        break;
      case RecordKind::kBreak: {
        ++result_.events;
        const uint64_t change = static_cast<uint64_t>(r.brk.change_bytes);
        if (r.brk.change_bytes > 0) {
          MapAt(Pool::kMmap, r.brk.new_break - change, r.brk.new_break, r.brk.stack, true);
        } else {
          Unmap(r.brk.new_break, r.brk.new_break - change);
        }
        break;
      }
      case RecordKind::kDevice:
        ++result_.events;
        if (options_.on_device) options_.on_device(r.device, r.tsc, bucket_);
        break;
      case RecordKind::kFold:
        Fold(r.fold);
        break;
      default:
        break;
    }
  }

  // Sums of events that were folded into the past, as of the bucket they happened in: mean objects stand for
  // them.
  void Fold(const trace::FoldRecord& fold) {
    const uint32_t row = HeapRow(fold.stack);
    StackRow& r = totals_.row(row);
    const uint32_t bucket = static_cast<uint32_t>(std::min<uint64_t>(fold.step, bucket_));
    const double born = static_cast<double>(fold.alloc_bytes), died = static_cast<double>(fold.free_bytes);
    const double born_count = static_cast<double>(fold.alloc_count),
                 died_count = static_cast<double>(fold.free_count);
    if (observer_ != nullptr && fold.alloc_count > 0)
      observer_->OnAlloc(r.site, born / born_count, born_count, bucket);
    if (observer_ != nullptr && fold.free_count > 0) {
      observer_->OnFree(r.site, bucket, died / died_count, died_count, bucket, true);
    }
    r.alloc_bytes += born;
    r.alloc_count += born_count;
    r.free_count += died_count;
    r.temporary_bytes += died;
    AddToPool(r.pool, born - died);
    totals_.Add(row, born - died, born_count - died_count);
    result_.folded_events += fold.alloc_count + fold.free_count;
  }

  // Notes what is live as retained and stops observing.
  void TakeRetained() {
    if (has_retained_) return;
    has_retained_ = true;
    observer_ = nullptr;
    retained_.reserve(totals_.rows().size());
    for (const StackRow& row : totals_.rows()) retained_.push_back({row.live_bytes, row.live_count});
    result_.live_objects = live_.size() + python_.size();
    result_.live_table_bytes = live_.capacity_bytes() + python_.capacity_bytes();
    if (!options_.on_retained) return;
    for (auto& [stream, limbo] :
         limbo_) {  // between the halves of a realloc, or killed there: still one object
      if (limbo.is_valid) Show(limbo.object, limbo.parts.empty() ? nullptr : &limbo.parts);
    }
    const auto show = [this](const LiveObject& object) {
      Show(object, object.flags & kObjectParts ? &parts_.find(object.address)->second : nullptr);
    };
    live_.ForEach(show);
    python_.ForEach(show);
    mappings_.ForEach([this](const MappingPiece& piece) {
      if (piece.mapping.stack == kNoRow) return;
      options_.on_retained({piece.mapping.stack, piece.mapping.birth, static_cast<double>(piece.bytes()),
                            piece.mapping.is_first ? 1.0 : 0.0, 0, false, kNoLabel, piece.bytes()});
    });
  }

  void Show(const LiveObject& object, const std::vector<Part>* parts) {
    const bool is_tensor = object.flags & kObjectTensor;
    const uint8_t bits = static_cast<uint8_t>(object.flags >> kObjectLabelShift);
    const uint8_t label = bits == kNoLabel >> kObjectLabelShift ? kNoLabel : bits;
    if (parts == nullptr) {
      const double p = result_.has_sampling ? RecordedProbability(rates_[object.rate], object.bytes) : 1;
      options_.on_retained({object.stack, object.birth, static_cast<double>(object.bytes) / p, 1 / p,
                            SampleVariance(p, object.bytes), is_tensor, label, p == 1 ? object.bytes : 0});
      return;
    }
    double count = 1;
    for (const Part& part : *parts) {
      options_.on_retained(
          {part.row, part.birth, static_cast<double>(part.bytes), count, 0, is_tensor, label, object.bytes});
      count = 0;
    }
  }

  void Finish() {
    Tick(UINT64_MAX - 1);
    while (bucket_ < options_.bucket_ends.size()) CloseBucket();
    CloseBucket();
    TakeRetained();
    totals_.SettlePeaks();
    result_.stacks = totals_.rows();
    for (size_t i = 0; i < result_.stacks.size(); ++i) {
      result_.stacks[i].live_bytes = i < retained_.size() ? retained_[i].bytes : 0;
      result_.stacks[i].live_count = i < retained_.size() ? retained_[i].count : 0;
    }
    result_.peak_bytes = totals_.peak_bytes();
  }

  const reader::TraceReader& reader_;
  const Definitions& definitions_;
  const ReplayOptions& options_;
  ReplayResult result_;
  StackTotals totals_;
  std::vector<uint32_t> heap_rows_;  // by node of the trace
  LiveTable live_;
  LiveTable python_;
  MappingTable mappings_;
  absl::flat_hash_map<uint64_t, std::vector<Part>> parts_;  // by address
  absl::flat_hash_map<uint32_t, Limbo> limbo_;              // by stream
  OwedFrees late_;                                          // still to come: their objects have ended already
  OwedFrees waiting_;                                       // came before the allocations they belong to
  std::priority_queue<Doomed, std::vector<Doomed>, std::greater<>> doomed_;
  std::vector<trace::RateRecord> rates_;
  struct Retained {
    double bytes;
    double count;
  };
  std::vector<Retained> retained_;  // by row
  bool has_retained_ = false;
  ReplayObserver* observer_;
  bool is_multi_stream_ = false;
  uint32_t bucket_ = 0;
  double reading_peak_ = 0;
  double bucket_peak_ = 0;
  double tensor_bytes_ = 0;
  double tensor_count_ = 0;
  size_t ledger_next_ = 0;
  size_t rate_next_ = 0;
  size_t label_next_ = 0;
  uint8_t birth_flags_ = kNoLabel & (0xff << kObjectLabelShift);  // of what is born now
  uint64_t next_tick_ = 0;
};

}  // namespace

ReplayResult ReplayHeap(const reader::TraceReader& reader, const Definitions& definitions,
                        const ReplayOptions& options) {
  return HeapReplay(reader, definitions, options).Run();
}

}  // namespace plateau::replay
