// Extended records: those that carry their length.
#include <cstring>

#include "preload/trace/encoder.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

constexpr size_t kMaxLengthBytes = 3;
constexpr size_t kShortPayloadBytes = 127;  // whose length is one byte
constexpr uint32_t kLastInlineKind = 30;
constexpr uint8_t kEscapedKind = 31;
constexpr size_t kMaxBuildIdBytes = 64;

// What a string takes, cut to `limit`.
size_t RoomFor(std::string_view text, size_t limit) {
  return kMaxVarintBytes + (text.size() < limit ? text.size() : limit);
}

}  // namespace

// Builds one EXT record in place and commits it. Usage: ExtRecord ext(this, kind, room); if (!ext) return
// false; ...
// The length is filled in afterwards, so its width is fixed by the room that was asked for.
class BlockWriter::ExtRecord {
 public:
  ExtRecord(BlockWriter* writer, ExtKind kind, size_t payload_room)
      : ExtRecord(writer, static_cast<uint32_t>(kind), payload_room) {}
  ExtRecord(BlockWriter* writer, uint32_t kind, size_t payload_room)
      : writer_(writer),
        is_heap_only_(IsHeapOnly(static_cast<ExtKind>(kind))),
        length_bytes_(payload_room <= kShortPayloadBytes ? 1 : kMaxLengthBytes) {
    if (!writer->HasRoom(1 + kMaxVarintBytes + kMaxLengthBytes + payload_room)) return;
    uint8_t* p = writer->out_;
    if (kind <= kLastInlineKind) {
      *p++ = Tag(Op::kExt, static_cast<uint8_t>(kind));
    } else {
      *p++ = Tag(Op::kExt, kEscapedKind);
      p = PutVarint(p, kind);
    }
    length_ = p;
    p_ = p + length_bytes_;
  }

  explicit operator bool() const { return p_ != nullptr; }
  ExtRecord& Number(uint64_t value) {
    p_ = PutVarint(p_, value);
    return *this;
  }
  ExtRecord& Signed(int64_t value) { return Number(ZigZag(value)); }
  ExtRecord& Bytes(std::string_view text, size_t limit) {
    if (text.size() > limit) text = text.substr(0, limit);
    Number(text.size());
    std::memcpy(p_, text.data(), text.size());
    p_ += text.size();
    return *this;
  }
  ExtRecord& Raw(std::string_view bytes) {
    std::memcpy(p_, bytes.data(), bytes.size());
    p_ += bytes.size();
    return *this;
  }
  bool Done() {
    const size_t length = static_cast<size_t>(p_ - length_) - length_bytes_;
    length_[0] = static_cast<uint8_t>(length);
    if (length_bytes_ != 1) {
      length_[0] = static_cast<uint8_t>(length) | 0x80;
      length_[1] = static_cast<uint8_t>(length >> 7) | 0x80;
      length_[2] = static_cast<uint8_t>(length >> 14);
    }
    if (is_heap_only_) {
      writer_->Commit(p_);
    } else {
      writer_->CommitDefinition(p_);
    }
    return true;
  }

 private:
  BlockWriter* writer_;
  bool is_heap_only_;
  size_t length_bytes_;
  uint8_t* length_ = nullptr;
  uint8_t* p_ = nullptr;
};

bool BlockWriter::Info(std::string_view key, std::string_view value) {
  ExtRecord ext(this, ExtKind::kInfo, RoomFor(key, kMaxNameBytes) + RoomFor(value, kMaxValueBytes));
  return ext && ext.Bytes(key, kMaxNameBytes).Bytes(value, kMaxValueBytes).Done();
}

bool BlockWriter::Module(const ModuleRecord& record) {
  ExtRecord ext(
      this, ExtKind::kModule,
      4 * kMaxVarintBytes + RoomFor(record.path, kMaxNameBytes) + RoomFor(record.build_id, kMaxBuildIdBytes));
  return ext && ext.Number(record.module)
                    .Number(record.base)
                    .Number(record.begin)
                    .Number(record.bytes)
                    .Bytes(record.path, kMaxNameBytes)
                    .Bytes(record.build_id, kMaxBuildIdBytes)
                    .Done();
}

bool BlockWriter::ModuleGone(uint32_t module) {
  ExtRecord ext(this, ExtKind::kModuleGone, kMaxVarintBytes);
  return ext && ext.Number(module).Done();
}

bool BlockWriter::Code(const CodeRecord& record) {
  ExtRecord ext(this, ExtKind::kCode,
                3 * kMaxVarintBytes + RoomFor(record.file, kMaxNameBytes) +
                    RoomFor(record.name, kMaxNameBytes) + RoomFor(record.line_table, kMaxLineTableBytes) +
                    RoomFor(record.loops, kMaxLoopBytes));
  return ext && ext.Number(record.code)
                    .Number(record.python_version)
                    .Number(record.first_line)
                    .Bytes(record.file, kMaxNameBytes)
                    .Bytes(record.name, kMaxNameBytes)
                    .Bytes(record.line_table, kMaxLineTableBytes)
                    .Bytes(record.loops, kMaxLoopBytes)
                    .Done();
}

bool BlockWriter::ThreadStart(const ThreadStartRecord& record) {
  ExtRecord ext(this, ExtKind::kThreadStart, 3 * kMaxVarintBytes + RoomFor(record.name, kMaxNameBytes));
  return ext && ext.Number(record.thread_id)
                    .Number(record.creator_stream)
                    .Number(record.creator_stack)
                    .Bytes(record.name, kMaxNameBytes)
                    .Done();
}

bool BlockWriter::ThreadEnd() {
  ExtRecord ext(this, ExtKind::kThreadEnd, 0);
  return ext && ext.Done();
}

bool BlockWriter::Map(const MapRecord& record) {
  ExtRecord ext(this, ExtKind::kMap, 6 * kMaxVarintBytes);
  return ext && ext.Number(record.address)
                    .Number(record.bytes)
                    .Number(record.prot)
                    .Number(record.flags)
                    .Number(static_cast<uint64_t>(record.kind))
                    .Number(record.stack)
                    .Done();
}

bool BlockWriter::Unmap(const UnmapRecord& record) {
  ExtRecord ext(this, ExtKind::kUnmap, 2 * kMaxVarintBytes);
  return ext && ext.Number(record.address).Number(record.bytes).Done();
}

bool BlockWriter::Remap(const RemapRecord& record) {
  ExtRecord ext(this, ExtKind::kRemap, 5 * kMaxVarintBytes);
  return ext && ext.Number(record.old_address)
                    .Number(record.old_bytes)
                    .Number(record.new_address)
                    .Number(record.new_bytes)
                    .Number(record.stack)
                    .Done();
}

bool BlockWriter::Break(const BreakRecord& record) {
  ExtRecord ext(this, ExtKind::kBreak, 3 * kMaxVarintBytes);
  return ext && ext.Number(record.new_break).Signed(record.change_bytes).Number(record.stack).Done();
}

bool BlockWriter::Mark(const MarkRecord& record) {
  ExtRecord ext(this, ExtKind::kMark, 3 * kMaxVarintBytes + RoomFor(record.name, kMaxNameBytes));
  return ext && ext.Number(static_cast<uint64_t>(record.kind))
                    .Number(static_cast<uint64_t>(record.source))
                    .Number(record.value)
                    .Bytes(record.name, kMaxNameBytes)
                    .Done();
}

bool BlockWriter::Ledger(const LedgerRecord& record) {
  ExtRecord ext(this, ExtKind::kLedger, (2 * record.count + 1) * kMaxVarintBytes);
  if (!ext) return false;
  ext.Number(record.count);
  for (uint32_t i = 0; i < record.count; ++i) {
    ext.Number(static_cast<uint64_t>(record.fields[i].field)).Number(record.fields[i].value);
  }
  return ext.Done();
}

bool BlockWriter::Drop(const DropRecord& record) {
  ExtRecord ext(this, ExtKind::kDrop, 3 * kMaxVarintBytes);
  return ext &&
         ext.Number(static_cast<uint64_t>(record.reason)).Number(record.events).Number(record.bytes).Done();
}

bool BlockWriter::Rate(const RateRecord& record) {
  ExtRecord ext(this, ExtKind::kRate, 3 * kMaxVarintBytes);
  return ext && ext.Number(static_cast<uint64_t>(record.mode))
                    .Number(record.exact_from_bytes)
                    .Number(record.sample_bytes)
                    .Done();
}

bool BlockWriter::Device(const DeviceRecord& record) {
  ExtRecord ext(this, ExtKind::kDevice, 11 * kMaxVarintBytes + RoomFor(record.api, kMaxNameBytes));
  return ext && ext.Number(record.op)
                    .Number(record.level)
                    .Number(record.memory)
                    .Number(record.graph ? 1 : 0)
                    .Signed(record.device)
                    .Number(record.address)
                    .Number(record.bytes)
                    .Number(record.handle)
                    .Number(record.total_bytes)
                    .Number(record.reserved_bytes)
                    .Number(record.stack)
                    .Bytes(record.api, kMaxNameBytes)
                    .Done();
}

bool BlockWriter::Tensor(const TensorRecord& record) {
  ExtRecord ext(this, ExtKind::kTensor, 2 * kMaxVarintBytes);
  return ext && ext.Number(record.address).Number(record.bytes).Done();
}

bool BlockWriter::TensorGone(uint64_t address) {
  ExtRecord ext(this, ExtKind::kTensorGone, kMaxVarintBytes);
  return ext && ext.Number(address).Done();
}

bool BlockWriter::ReallocCancel() {
  ExtRecord ext(this, ExtKind::kReallocCancel, 0);
  return ext && ext.Done();
}

bool BlockWriter::CopiedPages(std::string_view runs) {
  ExtRecord ext(this, ExtKind::kCopiedPages, RoomFor(runs, kMaxValueBytes));
  return ext && ext.Bytes(runs, kMaxValueBytes).Done();
}

bool BlockWriter::Residency(const ResidencyRecord& record) {
  ExtRecord ext(this, ExtKind::kResidency, 5 * kMaxVarintBytes);
  return ext && ext.Number(static_cast<uint64_t>(record.kind))
                    .Number(record.address)
                    .Number(record.bytes)
                    .Number(record.resident_bytes)
                    .Number(record.birth_tsc)
                    .Done();
}

bool BlockWriter::HolderWalk(const HolderWalkRecord& record) {
  ExtRecord ext(this, ExtKind::kHolderWalk, 13 * kMaxVarintBytes);
  return ext && ext.Number(record.walk)
                    .Number(static_cast<uint64_t>(record.reason))
                    .Number(static_cast<uint64_t>(record.result))
                    .Number(record.step)
                    .Number(record.objects)
                    .Number(record.elapsed_ns)
                    .Number(record.own_bytes)
                    .Number(record.targets_asked)
                    .Number(record.targets_found)
                    .Number(record.garbage_objects)
                    .Number(record.garbage_bytes)
                    .Number(record.frozen_objects << 1 | (record.gc_disabled ? 1u : 0u))
                    .Number(record.limit)
                    .Done();
}

bool BlockWriter::Holder(const HolderRecord& record) {
  ExtRecord ext(this, ExtKind::kHolder,
                11 * kMaxVarintBytes + RoomFor(record.container_type, kMaxNameBytes) +
                    RoomFor(record.what, kMaxNameBytes) + RoomFor(record.path, kMaxValueBytes));
  return ext && ext.Number(record.walk)
                    .Number(record.stack)
                    .Number(static_cast<uint64_t>(record.end))
                    .Number(record.targets_found)
                    .Number(record.targets_asked)
                    .Number(record.bytes)
                    .Number(record.container)
                    .Number(record.container_length)
                    .Number(record.container_bound)
                    .Number(record.container_segments)
                    .Number(record.native_stack)
                    .Bytes(record.container_type, kMaxNameBytes)
                    .Bytes(record.what, kMaxNameBytes)
                    .Bytes(record.path, kMaxValueBytes)
                    .Done();
}

bool BlockWriter::Attach(const AttachRecord& record) {
  ExtRecord ext(this, ExtKind::kAttach, 14 * kMaxVarintBytes);
  return ext && ext.Number(record.number)
                    .Number(record.age_ns)
                    .Number(record.rss_anon_bytes)
                    .Number(record.rss_file_bytes)
                    .Number(record.rss_shmem_bytes)
                    .Number(record.own_bytes)
                    .Number(record.allocator_arena_bytes)
                    .Number(record.allocator_free_bytes)
                    .Number(record.allocator_mmap_bytes)
                    .Number(record.words)
                    .Number(record.modules)
                    .Number(record.modules_left_out)
                    .Number(record.held_ns)
                    .Number(record.program_imports ? 1 : 0)
                    .Done();
}

bool BlockWriter::Fork(uint32_t child_pid) {
  ExtRecord ext(this, ExtKind::kFork, kMaxVarintBytes);
  return ext && ext.Number(child_pid).Done();
}

bool BlockWriter::FoldTotals(const FoldTotalsRecord& record) {
  ExtRecord ext(this, ExtKind::kFoldTotals, 5 * kMaxVarintBytes);
  return ext && ext.Number(record.stack)
                    .Number(record.alloc_count_256)
                    .Number(record.alloc_bytes)
                    .Number(record.free_count_256)
                    .Number(record.free_bytes)
                    .Done();
}

FoldRow* BlockWriter::FoldTableRow(uint32_t stack) {
  if (!HasRoom(sizeof(FoldRow))) return nullptr;
  FoldRow contents = {};
  contents.tag = Tag(Op::kExt, static_cast<uint8_t>(ExtKind::kFoldRow));
  contents.length = sizeof(FoldRow) - 2;
  contents.stack = stack;
  std::memcpy(out_, &contents, sizeof(contents));
  auto* row = reinterpret_cast<FoldRow*>(out_);
  CommitDefinition(out_ + sizeof(contents));
  return row;
}

bool BlockWriter::TotalsSnapshot(const Totals& totals) {
  ExtRecord ext(this, ExtKind::kTotals, 6 * kMaxVarintBytes);
  return ext && ext.Number(totals.alloc_calls)
                    .Number(totals.alloc_bytes)
                    .Number(totals.free_calls)
                    .Number(totals.freed_bytes)
                    .Number(totals.recorded_allocs)
                    .Number(totals.recorded_frees)
                    .Done();
}

bool BlockWriter::Ext(uint32_t kind, std::string_view payload) {
  ExtRecord ext(this, kind, payload.size());
  return ext && ext.Raw(payload).Done();
}

bool BlockWriter::Verbatim(std::string_view record) {
  if (!HasRoom(record.size())) return false;
  std::memcpy(out_, record.data(), record.size());
  CommitDefinition(out_ + record.size());
  return true;
}

}  // namespace plateau::trace
