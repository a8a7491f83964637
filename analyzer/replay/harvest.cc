#include "analyzer/replay/harvest.h"

#include <algorithm>
#include <string_view>

#include "analyzer/replay/block_damage.h"
#include "preload/trace/varint.h"

namespace plateau::replay {
namespace {

using trace::RecordKind;

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

void HarvestRecord(const trace::Record& r, uint32_t stream, Harvest* out) {
  switch (r.kind) {
    case RecordKind::kPc:
      out->locations.push_back({r.pc.location, {Location::Kind::kNative, r.pc.module, r.pc.offset}});
      break;
    case RecordKind::kPythonLocation: {
      const trace::PythonLocationRecord& p = r.python_location;
      out->locations.push_back({p.location, {Location::Kind::kPython, p.code, p.offset}});
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

}  // namespace

void BlockHarvester::BlockWalk::Begin(const reader::BlockRef& ref) {
  ref_ = &ref;
  harvest_ = std::make_unique<Harvest>();
  records_.reset();
  const absl::Status status = reader_.Load(ref, &block_);
  harvest_->is_loaded = status.ok();
  is_over_ = !status.ok();
  if (is_over_) return CountUnloadable(ref, status, &harvest_->damage);
  records_ = std::make_unique<trace::RecordReader>(block_.header, block_.payload);
  harvest_->last_tsc = ref.header.last_tsc;
}

std::unique_ptr<Harvest> BlockHarvester::BlockWalk::End() {
  if (records_ != nullptr) {
    harvest_->unknown_records += records_->unknown_records();
    if (records_->damaged()) CountUnreadable(reader_, *ref_, records_->offset(), &harvest_->damage);
  }
  return std::move(harvest_);
}

template <typename Join>
[[gnu::always_inline]] inline void BlockHarvester::BlockWalk::PassBoth(BlockWalk* a, BlockWalk* b) {
  const uint64_t passed = trace::RecordReader::PassBoth<Join>(a->records_.get(), b->records_.get());
  for (BlockWalk* walk : {a, b}) {
    walk->harvest_->records += passed;
    walk->harvest_->events += passed;
  }
}

void BlockHarvester::BlockWalk::TakeOne() {
  if (records_->IsPassable()) return;
  trace::HotRecord hot;
  if (!records_->NextHot(&hot)) {
    if (!TakeNodes()) TakeOther();
    return;
  }
  ++harvest_->records;
  ++harvest_->events;
  if (hot.kind == RecordKind::kAllocIn) harvest_->granules.Add(hot.address);
  harvest_->last_tsc = std::max(harvest_->last_tsc, hot.tsc);
}

template <typename Join>
[[gnu::always_inline]] inline void BlockHarvester::BlockWalk::TakeRest() {
  while (!is_over_) {
    uint64_t passed = 0, last_tsc = 0;
    records_->TakeHotBy<Join, trace::RecordReader::Walk::kTimes>([&](const trace::HotRecord& hot) {
      ++passed;
      if (hot.kind == RecordKind::kAllocIn) harvest_->granules.Add(hot.address);
      last_tsc = hot.tsc;
    });
    harvest_->records += passed;
    harvest_->events += passed;
    harvest_->last_tsc = std::max(harvest_->last_tsc, last_tsc);
    if (!TakeNodes()) TakeOther();
  }
}

// Those up to the next other record; false when there was none.
bool BlockHarvester::BlockWalk::TakeNodes() {
  uint64_t nodes = 0;
  uint32_t last_node = 0;
  records_->TakeNodes([&](const trace::NodeRecord& node) {
    ++nodes;
    if (nodes_.Define(node.node, node.parent, node.location)) last_node = std::max(last_node, node.node);
  });
  harvest_->records += nodes;
  harvest_->last_node = std::max(harvest_->last_node, last_node);
  return nodes > 0;
}

void BlockHarvester::BlockWalk::TakeOther() {
  if (!records_->Next(&record_)) {
    is_over_ = true;
    return;
  }
  ++harvest_->records;
  HarvestRecord(record_, ref_->header.stream, harvest_.get());
  harvest_->last_tsc = std::max(harvest_->last_tsc, record_.tsc);
}

template <typename Join>
[[gnu::always_inline]] inline void BlockHarvester::ReadAll() {
  auto& [a, b] = walks_;
  while (!a.is_over() && !b.is_over()) {
    BlockWalk::PassBoth<Join>(&a, &b);
    a.TakeOne();
    b.TakeOne();
  }
  a.TakeRest<Join>();
  b.TakeRest<Join>();
}

PLATEAU_FOR_BMI2 void BlockHarvester::ReadAllByPext() { ReadAll<trace::JoinByPext>(); }

std::array<std::unique_ptr<Harvest>, 2> BlockHarvester::Read(const reader::BlockRef& first,
                                                             const reader::BlockRef* second) {
  walks_[0].Begin(first);
  if (second != nullptr) walks_[1].Begin(*second);
  if (trace::HasPext()) {
    ReadAllByPext();
  } else {
    ReadAll<trace::JoinByShifts>();
  }
  std::array<std::unique_ptr<Harvest>, 2> harvests = {walks_[0].End(), nullptr};
  if (second != nullptr) harvests[1] = walks_[1].End();
  return harvests;
}

}  // namespace plateau::replay
