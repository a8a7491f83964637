#include "analyzer/replay/definitions/harvest.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
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

bool IsHeapOnly(RecordKind kind) {
  switch (kind) {
    case RecordKind::kAlloc:
    case RecordKind::kFree:
    case RecordKind::kFreeIn:
    case RecordKind::kTime:
    case RecordKind::kMap:
    case RecordKind::kUnmap:
    case RecordKind::kRemap:
    case RecordKind::kBreak:
    case RecordKind::kDevice:
    case RecordKind::kTensor:
    case RecordKind::kTensorGone:
    case RecordKind::kReallocCancel:
      return true;
    default:
      return false;
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
      out->codes.push_back(
          {r.code.code,
           {r.code.python_version, r.code.first_line, std::string(r.code.file), std::string(r.code.name),
            std::string(r.code.line_table), std::string(r.code.loops)}});
      break;
    case RecordKind::kInfo:
      out->infos.emplace_back(r.info.key, r.info.value);
      break;
    case RecordKind::kThreadStart:
      out->threads.push_back({.stream = stream,
                              .thread_id = r.thread_start.thread_id,
                              .name = std::string(r.thread_start.name),
                              .start_tsc = r.tsc,
                              .creator_stack = r.thread_start.creator_stack});
      break;
    case RecordKind::kThreadEnd:
      out->thread_ends.emplace_back(stream, r.tsc);
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
    case RecordKind::kResidency:
      out->residency.push_back({r.tsc, r.residency});
      break;
    case RecordKind::kHolderWalk:
      out->holders.Add(r.tsc, r.holder_walk);
      break;
    case RecordKind::kHolder:
      out->holders.Add(r.tsc, r.holder);
      break;
    case RecordKind::kAttach:
      if (!out->attach) out->attach = {r.tsc, r.attach};
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

std::unique_ptr<Harvest> BlockHarvester::Read(const reader::BlockRef& ref) {
  auto harvest = std::make_unique<Harvest>();
  if (const absl::Status status = reader_.Load(ref, &block_); !status.ok()) {
    harvest->is_loaded = false;
    CountUnloadable(ref, status, &harvest->damage);
    return harvest;
  }
  harvest->last_tsc = ref.header.last_tsc;
  trace::RecordReader records(block_.header, block_.payload);
  while (true) {
    uint64_t events = 0, last_tsc = 0;
    records.TakeHot<trace::RecordReader::Walk::kTimes>([&](const trace::HotRecord& hot) {
      ++events;
      if (hot.kind == RecordKind::kAllocIn) harvest->granules.Add(hot.address);
      last_tsc = hot.tsc;
    });
    harvest->records += events;
    harvest->events += events;
    harvest->last_tsc = std::max(harvest->last_tsc, last_tsc);
    if (TakeNodes(&records, harvest.get())) continue;
    if (!records.Next(&record_)) break;
    ++harvest->records;
    HarvestRecord(record_, ref.header.stream, harvest.get());
    harvest->last_tsc = std::max(harvest->last_tsc, record_.tsc);
  }
  harvest->unknown_records += records.unknown_records();
  if (records.damaged()) CountUnreadable(reader_, ref, records.offset(), &harvest->damage);
  return harvest;
}

bool BlockHarvester::TakeNodes(trace::RecordReader* records, Harvest* harvest) {
  uint64_t nodes = 0;
  uint32_t last_node = 0;
  records->TakeNodes([&](const trace::NodeRecord& node) {
    ++nodes;
    if (nodes_.Define(node.node, node.parent, node.location)) last_node = std::max(last_node, node.node);
  });
  harvest->records += nodes;
  harvest->last_node = std::max(harvest->last_node, last_node);
  return nodes > 0;
}

// ---- Damage ----

void CountUnloadable(const reader::BlockRef& ref, const absl::Status& status, reader::ReadSummary* summary) {
  ++summary->damaged_blocks;
  summary->damaged_bytes += ref.header.payload_bytes;
  summary->Note(std::string(status.message()));
}

void CountUnreadable(const reader::TraceReader& reader, const reader::BlockRef& ref, size_t record_offset,
                     reader::ReadSummary* summary) {
  ++summary->damaged_records;
  summary->Note(absl::StrCat(reader.path(), ": block at offset ", ref.offset, ": record at byte ",
                             record_offset, " cannot be read; the rest of the block is skipped"));
}

void CountDamage(const reader::TraceReader& reader, const reader::BlockRef& ref,
                 reader::ReadSummary* summary) {
  reader::LoadedBlock block;
  if (const absl::Status status = reader.Load(ref, &block); !status.ok())
    return CountUnloadable(ref, status, summary);
  trace::RecordReader records(block.header, block.payload);
  trace::Record record;
  uint64_t definitions = 0;
  while (records.Next(&record)) definitions += !IsHeapOnly(record.kind);
  summary->unknown_records += records.unknown_records();
  if (records.damaged()) CountUnreadable(reader, ref, records.offset(), summary);
  if (definitions == 0) return;
  if (!records.damaged()) ++summary->damaged_records;
  summary->Note(absl::StrCat(reader.path(), ": block at offset ", ref.offset, ": ",
                             Counted(definitions, "record"),
                             " that its header says are not there; they are not used"));
}

}  // namespace plateau::replay
