// Extended records: those that carry their length.
#include <cstddef>
#include <cstring>

#include "preload/trace/decoder.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

// Reads the fields of one EXT payload; any failure sticks.
class Fields {
 public:
  Fields(const uint8_t* p, const uint8_t* end) : p_(p), end_(end) {}

  uint64_t Number() {
    uint64_t value = 0;
    const uint8_t* next = ok_ ? GetVarint(p_, end_, &value) : nullptr;
    if (next == nullptr) {
      ok_ = false;
      return 0;
    }
    p_ = next;
    return value;
  }
  uint32_t Number32() { return static_cast<uint32_t>(Number()); }
  int64_t Signed() { return UnZigZag(Number()); }
  std::string_view Bytes() {
    const uint64_t size = Number();
    if (!ok_ || size > static_cast<uint64_t>(end_ - p_)) {
      ok_ = false;
      return {};
    }
    std::string_view text(reinterpret_cast<const char*>(p_), size);
    p_ += size;
    return text;
  }
  bool ok() const { return ok_; }
  // Whether there is more: a field that older traces do not have.
  bool more() const { return ok_ && p_ < end_; }

 private:
  const uint8_t* p_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace

bool RecordReader::NextExt(uint32_t kind, Record* record) {
  Fields f(p_, end_);
  switch (static_cast<ExtKind>(kind)) {
    case ExtKind::kInfo:
      record->kind = RecordKind::kInfo;
      record->info.key = f.Bytes();
      record->info.value = f.Bytes();
      break;
    case ExtKind::kModule:
      record->kind = RecordKind::kModule;
      record->module.module = f.Number32();
      record->module.base = f.Number();
      record->module.begin = f.Number();
      record->module.bytes = f.Number();
      record->module.path = f.Bytes();
      record->module.build_id = f.Bytes();
      break;
    case ExtKind::kModuleGone:
      record->kind = RecordKind::kModuleGone;
      record->module_gone.module = f.Number32();
      break;
    case ExtKind::kCode:
      record->kind = RecordKind::kCode;
      record->code.code = f.Number32();
      record->code.python_version = static_cast<uint16_t>(f.Number());
      record->code.first_line = f.Number32();
      record->code.file = f.Bytes();
      record->code.name = f.Bytes();
      record->code.line_table = f.Bytes();
      record->code.loops = f.more() ? f.Bytes() : std::string_view();
      break;
    case ExtKind::kThreadStart:
      record->kind = RecordKind::kThreadStart;
      record->thread_start.thread_id = f.Number32();
      record->thread_start.creator_stream = f.Number32();
      record->thread_start.creator_stack = f.Number32();
      record->thread_start.name = f.Bytes();
      break;
    case ExtKind::kThreadEnd:
      record->kind = RecordKind::kThreadEnd;
      break;
    case ExtKind::kMap:
      record->kind = RecordKind::kMap;
      record->map.address = f.Number();
      record->map.bytes = f.Number();
      record->map.prot = f.Number32();
      record->map.flags = f.Number32();
      record->map.kind = static_cast<MapKind>(f.Number());
      record->map.stack = f.Number32();
      break;
    case ExtKind::kUnmap:
      record->kind = RecordKind::kUnmap;
      record->unmap.address = f.Number();
      record->unmap.bytes = f.Number();
      break;
    case ExtKind::kRemap:
      record->kind = RecordKind::kRemap;
      record->remap.old_address = f.Number();
      record->remap.old_bytes = f.Number();
      record->remap.new_address = f.Number();
      record->remap.new_bytes = f.Number();
      record->remap.stack = f.Number32();
      break;
    case ExtKind::kBreak:
      record->kind = RecordKind::kBreak;
      record->brk.new_break = f.Number();
      record->brk.change_bytes = f.Signed();
      record->brk.stack = f.Number32();
      break;
    case ExtKind::kMark:
      record->kind = RecordKind::kMark;
      record->mark.kind = static_cast<MarkKind>(f.Number());
      record->mark.source = static_cast<MarkSource>(f.Number());
      record->mark.value = f.Number();
      record->mark.name = f.Bytes();
      break;
    case ExtKind::kLedger: {
      record->kind = RecordKind::kLedger;
      record->ledger.count = 0;
      const uint64_t count = f.Number();
      for (uint64_t i = 0; i < count && f.ok(); ++i) {
        const LedgerField field = static_cast<LedgerField>(f.Number());
        const uint64_t value = f.Number();
        if (record->ledger.count < kMaxLedgerFields) {
          record->ledger.fields[record->ledger.count].field = field;
          record->ledger.fields[record->ledger.count].value = value;
          ++record->ledger.count;
        }
      }
      break;
    }
    case ExtKind::kDrop:
      record->kind = RecordKind::kDrop;
      record->drop.reason = static_cast<DropReason>(f.Number());
      record->drop.events = f.Number();
      record->drop.bytes = f.Number();
      break;
    case ExtKind::kRate:
      record->kind = RecordKind::kRate;
      record->rate.mode = static_cast<Mode>(f.Number());
      record->rate.exact_from_bytes = f.Number();
      record->rate.sample_bytes = f.Number();
      break;
    case ExtKind::kDevice:
      record->kind = RecordKind::kDevice;
      record->device.op = static_cast<uint8_t>(f.Number());
      record->device.level = static_cast<uint8_t>(f.Number());
      record->device.memory = static_cast<uint8_t>(f.Number());
      record->device.graph = f.Number() != 0;
      record->device.device = static_cast<int32_t>(f.Signed());
      record->device.address = f.Number();
      record->device.bytes = f.Number();
      record->device.handle = f.Number();
      record->device.total_bytes = f.Number();
      record->device.reserved_bytes = f.Number();
      record->device.stack = f.Number32();
      record->device.api = f.Bytes();
      break;
    case ExtKind::kTensor:
      record->kind = RecordKind::kTensor;
      record->tensor.address = f.Number();
      record->tensor.bytes = f.Number();
      break;
    case ExtKind::kTensorGone:
      record->kind = RecordKind::kTensorGone;
      record->tensor.address = f.Number();
      record->tensor.bytes = 0;
      break;
    case ExtKind::kReallocCancel:
      record->kind = RecordKind::kReallocCancel;
      break;
    case ExtKind::kCopiedPages:
      record->kind = RecordKind::kCopiedPages;
      record->copied_pages.runs = f.Bytes();
      break;
    case ExtKind::kResidency:
      record->kind = RecordKind::kResidency;
      record->residency.kind = static_cast<RegionKind>(f.Number());
      record->residency.address = f.Number();
      record->residency.bytes = f.Number();
      record->residency.resident_bytes = f.Number();
      record->residency.birth_tsc = f.Number();
      break;
    case ExtKind::kHolderWalk: {
      record->kind = RecordKind::kHolderWalk;
      HolderWalkRecord& walk = record->holder_walk;
      walk.walk = f.Number();
      walk.reason = static_cast<WalkReason>(f.Number());
      walk.result = static_cast<WalkResult>(f.Number());
      walk.step = f.Number();
      walk.objects = f.Number();
      walk.elapsed_ns = f.Number();
      walk.own_bytes = f.Number();
      walk.targets_asked = f.Number();
      walk.targets_found = f.Number();
      walk.garbage_objects = f.Number();
      walk.garbage_bytes = f.Number();
      const uint64_t frozen = f.Number();
      walk.gc_disabled = (frozen & 1) != 0;
      walk.frozen_objects = frozen >> 1;
      walk.limit = f.Number();
      break;
    }
    case ExtKind::kHolder: {
      record->kind = RecordKind::kHolder;
      HolderRecord& holder = record->holder;
      holder.walk = f.Number();
      holder.stack = f.Number32();
      holder.end = static_cast<HolderEnd>(f.Number());
      holder.targets_found = f.Number();
      holder.targets_asked = f.Number();
      holder.bytes = f.Number();
      holder.container = f.Number();
      holder.container_length = f.Number();
      holder.container_bound = f.Number();
      holder.container_segments = f.Number32();
      holder.native_stack = f.Number32();
      holder.container_type = f.Bytes();
      holder.what = f.Bytes();
      holder.path = f.Bytes();
      break;
    }
    case ExtKind::kAttach: {
      record->kind = RecordKind::kAttach;
      AttachRecord& attach = record->attach;
      for (uint64_t* number : {&attach.number, &attach.age_ns, &attach.rss_anon_bytes, &attach.rss_file_bytes,
                               &attach.rss_shmem_bytes, &attach.own_bytes, &attach.allocator_arena_bytes,
                               &attach.allocator_free_bytes, &attach.allocator_mmap_bytes, &attach.words,
                               &attach.modules, &attach.modules_left_out, &attach.held_ns})
        *number = f.Number();
      attach.program_imports = f.Number() != 0;
      break;
    }
    case ExtKind::kFork:
      record->kind = RecordKind::kFork;
      record->fork.child_pid = f.Number32();
      break;
    case ExtKind::kFoldTotals:
      record->kind = RecordKind::kFoldTotals;
      record->fold_totals.stack = f.Number32();
      record->fold_totals.alloc_count_256 = f.Number();
      record->fold_totals.alloc_bytes = f.Number();
      record->fold_totals.free_count_256 = f.Number();
      record->fold_totals.free_bytes = f.Number();
      break;
    case ExtKind::kFoldRow: {
      constexpr size_t kHead = offsetof(FoldRow, reserved);
      FoldRow row;
      if (static_cast<size_t>(end_ - p_) < sizeof(row) - kHead) return false;
      std::memcpy(reinterpret_cast<uint8_t*>(&row) + kHead, p_, sizeof(row) - kHead);
      record->kind = RecordKind::kFoldRow;
      record->fold_totals = {row.stack, row.alloc_count_256, row.alloc_bytes, row.free_count_256,
                             row.free_bytes};
      break;
    }
    case ExtKind::kTotals:
      record->kind = RecordKind::kTotals;
      record->totals.totals.alloc_calls = f.Number();
      record->totals.totals.alloc_bytes = f.Number();
      record->totals.totals.free_calls = f.Number();
      record->totals.totals.freed_bytes = f.Number();
      record->totals.totals.recorded_allocs = f.Number();
      record->totals.totals.recorded_frees = f.Number();
      break;
    default:
      record->kind = RecordKind::kUnknown;
      record->unknown_kind = kind;
      ++unknown_records_;
      break;
  }
  return f.ok();
}

}  // namespace plateau::trace
