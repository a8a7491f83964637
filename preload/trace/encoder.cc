#include "preload/trace/encoder.h"

#include <cstring>

#include "preload/trace/checksum.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

// Tag, flags and up to five numbers of a hot record.
constexpr size_t kHotRecordBytes = 1 + 5 * kMaxVarintBytes;
constexpr size_t kLengthBytes =
    3;  // LEB128 padded to a fixed width, so that the length is filled in afterwards
constexpr uint32_t kLastInlineKind = 30;
constexpr uint8_t kEscapedKind = 31;

uint8_t Tag(Op op, uint8_t flags) { return static_cast<uint8_t>(static_cast<uint8_t>(op) | (flags << 3)); }

int64_t Delta(uint64_t now, uint64_t before) { return static_cast<int64_t>(now - before); }

// In units of 16 where possible, else in bytes, which `unaligned` says.
[[gnu::always_inline]] inline uint8_t* PutAddress(uint8_t* p, uint64_t address, uint64_t before,
                                                  uint8_t unaligned, uint8_t* flags) {
  const int64_t delta = Delta(address, before);
  if ((address | before) % 16 == 0) [[likely]]
    return PutSmallVarint(p, ZigZag(delta >> 4));
  *flags |= unaligned;
  return PutSmallVarint(p, ZigZag(delta));
}

// Sizes and stacks repeat as they like: written in any case, and counted when they are new.
[[gnu::always_inline]] inline uint8_t* PutBytes(uint8_t* p, uint64_t bytes, uint64_t before, uint8_t* flags) {
  const bool is_same = bytes == before;
  uint8_t* end = PutSmallVarint(p, bytes);
  *flags |= static_cast<uint8_t>(is_same * kAllocSameSize);
  return is_same ? p : end;
}

}  // namespace

// Builds one EXT record in place and commits it. Usage: ExtRecord ext(this, kind, room); if (!ext) return
// false; ...
class BlockWriter::ExtRecord {
 public:
  ExtRecord(BlockWriter* writer, ExtKind kind, size_t payload_room)
      : ExtRecord(writer, static_cast<uint32_t>(kind), payload_room) {}
  ExtRecord(BlockWriter* writer, uint32_t kind, size_t payload_room) : writer_(writer) {
    if (!writer->HasRoom(1 + kMaxVarintBytes + kLengthBytes + payload_room)) return;
    uint8_t* p = writer->out_;
    if (kind <= kLastInlineKind) {
      *p++ = Tag(Op::kExt, static_cast<uint8_t>(kind));
    } else {
      *p++ = Tag(Op::kExt, kEscapedKind);
      p = PutVarint(p, kind);
    }
    length_ = p;
    p_ = p + kLengthBytes;
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
    const size_t length = static_cast<size_t>(p_ - length_) - kLengthBytes;
    length_[0] = static_cast<uint8_t>(length) | 0x80;
    length_[1] = static_cast<uint8_t>(length >> 7) | 0x80;
    length_[2] = static_cast<uint8_t>(length >> 14);
    writer_->Commit(p_);
    return true;
  }

 private:
  BlockWriter* writer_;
  uint8_t* length_ = nullptr;
  uint8_t* p_ = nullptr;
};

void BlockWriter::Start(BlockHeader* header, uint8_t* payload, size_t capacity, uint32_t stream, uint32_t seq,
                        uint64_t tsc) {
  header_ = header;
  payload_ = out_ = payload;
  end_ = payload + capacity;
  run_ = nullptr;
  last_ = {};
  last_.tsc = tsc;
  // An observer must never take the new block's header for the old one's length, so the length goes first.
  __atomic_store_n(&header->payload_bytes, 0u, __ATOMIC_RELEASE);
  header->magic = kBlockMagic;
  header->type = BlockType::kEvents;
  header->flags = kBlockOpen;
  header->header_bytes = sizeof(BlockHeader);
  header->stream = stream;
  header->record_count = 0;
  header->first_tsc = tsc;
  header->last_tsc = 0;
  header->raw_bytes = 0;
  header->crc32c = 0;
  header->delta_rules = DeltaRules::kVersion2;
  std::memset(header->reserved, 0, sizeof(header->reserved));
  __atomic_store_n(&header->seq, seq, __ATOMIC_RELEASE);
}

void BlockWriter::Commit(uint8_t* new_end) {
  out_ = new_end;
  ++header_->record_count;
  __atomic_store_n(&header_->payload_bytes, static_cast<uint32_t>(new_end - payload_), __ATOMIC_RELEASE);
}

uint8_t* BlockWriter::PutTime(uint8_t* p, uint64_t tsc) {
  // Clocks of two cores may disagree by a few ticks; time in a stream does not run backwards.
  const uint64_t delta = tsc > last_.tsc ? tsc - last_.tsc : 0;
  last_.tsc += delta;
  return PutVarint(p, delta);
}

[[gnu::always_inline]] inline uint8_t* BlockWriter::PutStack(uint8_t* p, uint32_t stack, uint8_t* flags) {
  const bool is_same = stack == last_.stack;
  uint8_t* end = PutSmallVarint(p, ZigZag(Delta(stack, last_.stack)));
  last_.stack = stack;
  *flags |= static_cast<uint8_t>(is_same * kAllocSameStack);
  return is_same ? p : end;
}

bool BlockWriter::Alloc(const AllocRecord& record, uint64_t tsc) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = PutAddress(out_ + 1, record.address, last_.address, kAllocUnaligned, &flags);
  p = PutBytes(p, record.bytes, last_.bytes, &flags);
  p = PutStack(p, record.stack, &flags);
  if (record.is_realloc) flags |= kAllocRealloc;
  if (tsc != 0) {
    flags |= kAllocTime;
    p = PutTime(p, tsc);
  }
  last_.address = record.address;
  last_.bytes = record.bytes;
  *out_ = Tag(Op::kAlloc, flags);
  Commit(p);
  return true;
}

bool BlockWriter::Free(const FreeRecord& record, uint64_t tsc) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = PutAddress(out_ + 1, record.address, last_.address, kFreeUnaligned, &flags);
  if (record.is_realloc) flags |= kFreeRealloc;
  if (tsc != 0) {
    flags |= kFreeTime;
    p = PutTime(p, tsc);
  }
  last_.address = record.address;
  *out_ = Tag(Op::kFree, flags);
  Commit(p);
  return true;
}

bool BlockWriter::AllocIn(const AllocInRecord& record, uint64_t tsc) {
  if (record.source != AllocSource::kPymalloc) return ExtAllocIn(record);
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = out_ + 1;
  p = PutBytes(p, record.bytes, last_.in_bytes, &flags);
  uint64_t& before = last_.in_address[InClass(record.bytes)];
  p = PutAddress(p, record.address, before, kAllocUnaligned, &flags);
  p = PutStack(p, record.stack, &flags);
  if (tsc != 0) {
    flags |= kAllocTime;
    p = PutTime(p, tsc);
  }
  before = last_.in_any_address = record.address;
  last_.in_bytes = record.bytes;
  *out_ = Tag(Op::kAllocIn, flags);
  Commit(p);
  return true;
}

bool BlockWriter::FreeIn(const FreeInRecord& record, uint64_t tsc) {
  if (record.source != AllocSource::kPymalloc) return ExtFreeIn(record);
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = PutAddress(out_ + 1, record.address, last_.in_any_address, kFreeUnaligned, &flags);
  if (tsc != 0) {
    flags |= kFreeTime;
    p = PutTime(p, tsc);
  }
  last_.in_any_address = record.address;
  *out_ = Tag(Op::kFreeIn, flags);
  Commit(p);
  return true;
}

bool BlockWriter::Node(const NodeRecord& record) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = out_ + 1;
  if (record.node == last_.node + 1) {
    flags |= kNodeNextId;
  } else {
    p = PutVarint(p, ZigZag(Delta(record.node, last_.node)));
  }
  bool is_guessed = false;
  if (record.parent == last_.node && last_.node != 0) {
    flags |= kNodeParentPrevious;
    CallPredictor::Guesses& guesses = last_.calls.From(last_.node_location);
    if (record.location == guesses.first) {
      flags |= kNodeGuessed;
    } else if (record.location == guesses.second) {
      flags |= kNodeSecondGuess;
    }
    is_guessed = (flags & (kNodeGuessed | kNodeSecondGuess)) != 0;
    guesses.Learn(record.location);
  } else {
    p = PutVarint(p, ZigZag(Delta(record.node, record.parent)));
  }
  if (!is_guessed) p = PutVarint(p, ZigZag(Delta(record.location, last_.node_location)));
  last_.node = last_.stack = record.node;
  last_.node_location = record.location;
  if (flags != kNodeRun) {
    run_ = nullptr;
  } else if (run_ != nullptr && out_ == run_ + 1 &&
             *run_ < Tag(Op::kNode, kNodeRun | kNodeMaxRun << kNodeRunShift)) {
    // One byte holds the whole record, so this store commits the node.
    ++header_->record_count;
    __atomic_store_n(run_, static_cast<uint8_t>(*run_ + Tag(Op::kExt, kNodeRunMore)), __ATOMIC_RELEASE);
    return true;
  } else {
    run_ = out_;
  }
  *out_ = Tag(Op::kNode, flags);
  Commit(p);
  return true;
}

bool BlockWriter::Pc(const PcRecord& record) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t* p = out_ + 1;
  p = PutVarint(p, ZigZag(Delta(record.location, last_.location)));
  p = PutVarint(p, record.module);
  p = PutVarint(p, ZigZag(Delta(record.offset, last_.offset)));
  last_.location = record.location;
  last_.offset = record.offset;
  *out_ = Tag(Op::kPc, 0);
  Commit(p);
  return true;
}

bool BlockWriter::Time(uint64_t tsc) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t* p = PutTime(out_ + 1, tsc);
  *out_ = Tag(Op::kTime, 0);
  Commit(p);
  return true;
}

bool BlockWriter::Info(std::string_view key, std::string_view value) {
  ExtRecord ext(this, ExtKind::kInfo, kMaxNameBytes + kMaxValueBytes + 2 * kMaxVarintBytes);
  return ext && ext.Bytes(key, kMaxNameBytes).Bytes(value, kMaxValueBytes).Done();
}

bool BlockWriter::Module(const ModuleRecord& record) {
  ExtRecord ext(this, ExtKind::kModule, kMaxNameBytes + 64 + 6 * kMaxVarintBytes);
  return ext && ext.Number(record.module)
                    .Number(record.base)
                    .Number(record.begin)
                    .Number(record.bytes)
                    .Bytes(record.path, kMaxNameBytes)
                    .Bytes(record.build_id, 64)
                    .Done();
}

bool BlockWriter::ModuleGone(uint32_t module) {
  ExtRecord ext(this, ExtKind::kModuleGone, kMaxVarintBytes);
  return ext && ext.Number(module).Done();
}

bool BlockWriter::Code(const CodeRecord& record) {
  ExtRecord ext(this, ExtKind::kCode, 2 * kMaxNameBytes + kMaxLineTableBytes + 6 * kMaxVarintBytes);
  return ext && ext.Number(record.code)
                    .Number(record.python_version)
                    .Number(record.first_line)
                    .Bytes(record.file, kMaxNameBytes)
                    .Bytes(record.name, kMaxNameBytes)
                    .Bytes(record.line_table, kMaxLineTableBytes)
                    .Done();
}

bool BlockWriter::PythonLocation(const PythonLocationRecord& record) {
  ExtRecord ext(this, ExtKind::kPythonLocation, 4 * kMaxVarintBytes);
  return ext &&
         ext.Number(record.location).Number(record.code).Number(record.offset).Number(record.flags).Done();
}

bool BlockWriter::ThreadStart(const ThreadStartRecord& record) {
  ExtRecord ext(this, ExtKind::kThreadStart, kMaxNameBytes + 4 * kMaxVarintBytes);
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
  ExtRecord ext(this, ExtKind::kMark, kMaxNameBytes + 4 * kMaxVarintBytes);
  return ext && ext.Number(static_cast<uint64_t>(record.kind))
                    .Number(static_cast<uint64_t>(record.source))
                    .Number(record.value)
                    .Bytes(record.name, kMaxNameBytes)
                    .Done();
}

bool BlockWriter::Ledger(const LedgerRecord& record) {
  ExtRecord ext(this, ExtKind::kLedger, (2 * kMaxLedgerFields + 1) * kMaxVarintBytes);
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
  ExtRecord ext(this, ExtKind::kDevice, kMaxNameBytes + 12 * kMaxVarintBytes);
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
  ExtRecord ext(this, ExtKind::kCopiedPages, kMaxValueBytes + kMaxVarintBytes);
  return ext && ext.Bytes(runs, kMaxValueBytes).Done();
}

bool BlockWriter::Fork(uint32_t child_pid) {
  ExtRecord ext(this, ExtKind::kFork, kMaxVarintBytes);
  return ext && ext.Number(child_pid).Done();
}

bool BlockWriter::ExtAllocIn(const AllocInRecord& record) {
  ExtRecord ext(this, ExtKind::kAllocIn, 4 * kMaxVarintBytes);
  return ext && ext.Number(static_cast<uint64_t>(record.source))
                    .Number(record.address)
                    .Number(record.bytes)
                    .Number(record.stack)
                    .Done();
}

bool BlockWriter::ExtFreeIn(const FreeInRecord& record) {
  ExtRecord ext(this, ExtKind::kFreeIn, 2 * kMaxVarintBytes);
  return ext && ext.Number(static_cast<uint64_t>(record.source)).Number(record.address).Done();
}

bool BlockWriter::Fold(const FoldRecord& record) {
  ExtRecord ext(this, ExtKind::kFold, 6 * kMaxVarintBytes);
  return ext && ext.Number(record.stack)
                    .Number(record.step)
                    .Number(record.alloc_count)
                    .Number(record.alloc_bytes)
                    .Number(record.free_count)
                    .Number(record.free_bytes)
                    .Done();
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
  Commit(out_ + record.size());
  return true;
}

BlockHeader SealedHeader(const BlockHeader& open, const uint8_t* payload, uint64_t tsc) {
  BlockHeader sealed = open;
  sealed.flags = static_cast<uint8_t>(open.flags & ~kBlockOpen);
  sealed.last_tsc = tsc;
  sealed.raw_bytes = open.payload_bytes;
  sealed.crc32c = 0;
  sealed.crc32c = Crc32c(Crc32c(0, &sealed, sizeof(sealed)), payload, open.payload_bytes);
  return sealed;
}

void SealHeader(FileHeader* header) {
  header->static_bytes = offsetof(FileHeader, data_end);
  header->static_crc32c = 0;
  header->static_crc32c = Crc32c(0, header, header->static_bytes);
}

}  // namespace plateau::trace
