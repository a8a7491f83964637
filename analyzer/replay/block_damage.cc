#include "analyzer/replay/block_damage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "preload/trace/decoder.h"

namespace plateau::replay {
namespace {

using trace::RecordKind;

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

}  // namespace

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
