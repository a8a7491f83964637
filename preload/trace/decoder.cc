#include "preload/trace/decoder.h"

#include <cstring>

#include "preload/trace/checksum.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

constexpr uint32_t kMaxPayloadBytes = 1u << 30;

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

 private:
  const uint8_t* p_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace

HeaderStatus ReadFileHeader(const uint8_t* data, size_t size, FileHeader* header) {
  std::memset(header, 0, sizeof(*header));
  if (size < sizeof(kFileMagic)) return HeaderStatus::kTooShort;
  if (std::memcmp(data, kFileMagic, sizeof(kFileMagic)) != 0) return HeaderStatus::kNotATrace;
  std::memcpy(header, data, size < sizeof(*header) ? size : sizeof(*header));
  if (size < offsetof(FileHeader, header_bytes)) return HeaderStatus::kTooShort;
  if (header->version_major > kVersionMajor) return HeaderStatus::kNewerVersion;
  if (size < sizeof(*header)) return HeaderStatus::kTooShort;
  if (header->static_bytes < offsetof(FileHeader, pid) || header->static_bytes > sizeof(*header)) {
    return HeaderStatus::kDamaged;
  }
  FileHeader copy = *header;
  copy.static_crc32c = 0;
  if (Crc32c(0, &copy, header->static_bytes) != header->static_crc32c) return HeaderStatus::kDamaged;
  return HeaderStatus::kOk;
}

BlockStatus ReadBlock(const uint8_t* data, size_t size, BlockHeader* header, std::string_view* payload) {
  if (size < sizeof(*header)) return BlockStatus::kTruncated;
  std::memcpy(header, data, sizeof(*header));
  if (header->magic != kBlockMagic) return BlockStatus::kBadMagic;
  if (header->header_bytes < sizeof(*header) || header->payload_bytes > kMaxPayloadBytes ||
      header->raw_bytes > kMaxPayloadBytes) {
    return BlockStatus::kBadHeader;
  }
  if (header->header_bytes > size || header->payload_bytes > size - header->header_bytes)
    return BlockStatus::kTruncated;
  *payload = {reinterpret_cast<const char*>(data) + header->header_bytes, header->payload_bytes};
  if (header->flags & kBlockOpen) return BlockStatus::kOpen;
  BlockHeader copy = *header;
  copy.crc32c = 0;
  uint32_t crc = Crc32c(0, &copy, sizeof(copy));
  // A later minor version may have a longer header: what follows the fields known here is checked as bytes.
  crc = Crc32c(crc, data + sizeof(copy), header->header_bytes - sizeof(copy));
  crc = Crc32c(crc, payload->data(), payload->size());
  if (crc != header->crc32c) return BlockStatus::kBadChecksum;
  switch (header->type) {
    case BlockType::kEvents:
    case BlockType::kPacked:
    case BlockType::kColumns:
      return BlockStatus::kOk;
  }
  return BlockStatus::kUnknownType;
}

bool RecordReader::Fail(const uint8_t* at) {
  p_ = at;
  damaged_ = true;
  return false;
}

void RecordReader::NextOfRun(Record* record) {
  CallPredictor::Guesses& guesses = last_.calls.From(last_.node_location);
  record->kind = RecordKind::kNode;
  record->node = {last_.node + 1, last_.node, guesses.first};
  last_.node_location = guesses.first;
  last_.node = last_.stack = last_.node + 1;
}

bool RecordReader::Next(Record* record) {
  if (run_left_ != 0) {
    --run_left_;
    NextOfRun(record);
    record->has_time = false;
    record->tsc = last_.tsc;
    return true;
  }
  if (damaged_ || p_ >= end_) return false;
  const uint8_t* const start = p_;
  const uint8_t tag = *p_;
  const uint8_t flags = tag >> 3;
  const uint8_t* p = p_ + 1;
  uint64_t value = 0;
  // Reads one number into `value`.
  const auto number = [&] { return (p = GetVarint(p, end_, &value)) != nullptr; };
  const auto signed_value = [&] { return static_cast<uint64_t>(UnZigZag(value)); };
  // Each reads one field; false when it is not there.
  const auto address = [&](uint64_t* last, uint8_t unaligned) {
    if (!number()) return false;
    *last += (flags & unaligned) ? signed_value() : signed_value() * 16;
    return true;
  };
  const auto bytes = [&](uint64_t* last) {
    if (flags & kAllocSameSize) return true;
    if (!number()) return false;
    *last = value;
    return true;
  };
  const auto stack = [&] {
    if (flags & kAllocSameStack) return true;
    if (!number()) return false;
    last_.stack += static_cast<uint32_t>(signed_value());
    return true;
  };
  const auto time = [&](uint8_t present) {
    if (!(flags & present)) return true;
    if (!number()) return false;
    last_.tsc += value;
    record->has_time = true;
    return true;
  };
  record->has_time = false;

  switch (static_cast<Op>(tag & 7)) {
    case Op::kAlloc:
      record->kind = RecordKind::kAlloc;
      if (!address(&last_.address, kAllocUnaligned) || !bytes(&last_.bytes) || !stack() ||
          !time(kAllocTime)) {
        return Fail(start);
      }
      record->alloc = {last_.address, last_.bytes, last_.stack, (flags & kAllocRealloc) != 0};
      break;
    case Op::kFree:
      record->kind = RecordKind::kFree;
      if (!address(&last_.address, kFreeUnaligned) || !time(kFreeTime)) return Fail(start);
      record->free = {last_.address, (flags & kFreeRealloc) != 0};
      break;
    case Op::kAllocIn: {
      record->kind = RecordKind::kAllocIn;
      if (!bytes(&last_.in_bytes)) return Fail(start);
      uint64_t* const last = &last_.in_address[InClass(last_.in_bytes)];
      if (!address(last, kAllocUnaligned) || !stack() || !time(kAllocTime)) return Fail(start);
      last_.in_any_address = *last;
      record->alloc_in = {AllocSource::kPymalloc, *last, last_.in_bytes, last_.stack};
      break;
    }
    case Op::kFreeIn:
      record->kind = RecordKind::kFreeIn;
      if (!address(&last_.in_any_address, kFreeUnaligned) || !time(kFreeTime)) return Fail(start);
      record->free_in = {AllocSource::kPymalloc, last_.in_any_address};
      break;
    case Op::kNode: {
      // A guess is made from the previous node, which must be there.
      if ((flags & kNodeParentPrevious) ? last_.node == 0
                                        : (flags & (kNodeGuessed | kNodeSecondGuess)) != 0) {
        return Fail(start);
      }
      if ((flags & kNodeRun) == kNodeRun) {
        run_left_ = static_cast<uint8_t>(flags >> kNodeRunShift);
        NextOfRun(record);
        break;
      }
      record->kind = RecordKind::kNode;
      const uint32_t previous = last_.node;
      if (flags & kNodeNextId) {
        last_.node += 1;
      } else {
        if (!number()) return Fail(start);
        last_.node += static_cast<uint32_t>(signed_value());
      }
      uint32_t parent = previous;
      if (!(flags & kNodeParentPrevious)) {
        if (!number()) return Fail(start);
        parent = last_.node - static_cast<uint32_t>(signed_value());
      }
      CallPredictor::Guesses& guesses = last_.calls.From(last_.node_location);
      if (flags & kNodeGuessed) {
        last_.node_location = guesses.first;
      } else if (flags & kNodeSecondGuess) {
        last_.node_location = guesses.second;
      } else {
        if (!number()) return Fail(start);
        last_.node_location += static_cast<uint32_t>(signed_value());
      }
      if (flags & kNodeParentPrevious) guesses.Learn(last_.node_location);
      if (rules_ != DeltaRules::kVersion1) last_.stack = last_.node;
      record->node = {last_.node, parent, last_.node_location};
      break;
    }
    case Op::kPc: {
      record->kind = RecordKind::kPc;
      if (!number()) return Fail(start);
      last_.location += static_cast<uint32_t>(signed_value());
      if (!number()) return Fail(start);
      const uint32_t module = static_cast<uint32_t>(value);
      if (!number()) return Fail(start);
      last_.offset += signed_value();
      record->pc = {last_.location, module, last_.offset};
      break;
    }
    case Op::kTime:
      record->kind = RecordKind::kTime;
      if (!number()) return Fail(start);
      last_.tsc += value;
      record->has_time = true;
      break;
    case Op::kExt: {
      uint32_t kind = flags;
      if (flags == 31) {
        if (!number()) return Fail(start);
        kind = static_cast<uint32_t>(value);
      }
      if (!number() || value > static_cast<uint64_t>(end_ - p)) return Fail(start);
      const uint8_t* const body_end = p + value;
      const uint8_t* const outer_end = end_;
      p_ = p;
      end_ = body_end;
      const bool ok = NextExt(kind, record);
      end_ = outer_end;
      if (!ok) return Fail(start);
      p = body_end;  // fields that a later minor version appended are skipped
      break;
    }
  }
  p_ = p;
  record->tsc = last_.tsc;
  return true;
}

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
      break;
    case ExtKind::kPythonLocation:
      record->kind = RecordKind::kPythonLocation;
      record->python_location.location = f.Number32();
      record->python_location.code = f.Number32();
      record->python_location.offset = f.Number32();
      record->python_location.flags = f.Number32();
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
    case ExtKind::kFork:
      record->kind = RecordKind::kFork;
      record->fork.child_pid = f.Number32();
      break;
    case ExtKind::kAllocIn:
      record->kind = RecordKind::kAllocIn;
      record->alloc_in.source = static_cast<AllocSource>(f.Number());
      record->alloc_in.address = f.Number();
      record->alloc_in.bytes = f.Number();
      record->alloc_in.stack = f.Number32();
      break;
    case ExtKind::kFreeIn:
      record->kind = RecordKind::kFreeIn;
      record->free_in.source = static_cast<AllocSource>(f.Number());
      record->free_in.address = f.Number();
      break;
    case ExtKind::kFold:
      record->kind = RecordKind::kFold;
      record->fold.stack = f.Number32();
      record->fold.step = f.Number();
      record->fold.alloc_count = f.Number();
      record->fold.alloc_bytes = f.Number();
      record->fold.free_count = f.Number();
      record->fold.free_bytes = f.Number();
      break;
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

const char* RecordKindName(RecordKind kind) {
  static constexpr const char* kNames[] = {"alloc",        "free",
                                           "node",         "pc",
                                           "time",         "info",
                                           "module",       "module_gone",
                                           "code",         "python_location",
                                           "thread_start", "thread_end",
                                           "map",          "unmap",
                                           "remap",        "break",
                                           "mark",         "ledger",
                                           "drop",         "rate",
                                           "device",       "tensor",
                                           "tensor_gone",  "realloc_cancel",
                                           "fork",         "alloc_in",
                                           "free_in",      "fold",
                                           "totals",       "copied_pages",
                                           "unknown"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<size_t>(RecordKind::kUnknown) + 1);
  return kNames[static_cast<size_t>(kind)];
}

const char* DropReasonName(DropReason reason) {
  switch (reason) {
    case DropReason::kReentrant:
      return "reentrant";
    case DropReason::kNoSlot:
      return "no_slot";
    case DropReason::kWrite:
      return "write_failed";
    case DropReason::kLimit:
      return "size_limit";
    case DropReason::kContended:
      return "contended";
    case DropReason::kCount:
      break;
  }
  return "unknown";
}

const char* MarkKindName(MarkKind kind) {
  static constexpr const char* kNames[] = {"none",          "step",      "epoch",          "phase_begin",
                                           "phase_end",     "zero_grad", "backward_begin", "backward_end",
                                           "fetch_begin",   "fetch_end", "train_mode",     "optimizer_begin",
                                           "explicit_step", "op",        "note",           "fetch_stop"};
  const size_t index = static_cast<size_t>(kind);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

const char* LedgerFieldName(LedgerField field) {
  static constexpr const char* kNames[] = {"none",
                                           "rss_anon",
                                           "rss_file",
                                           "rss_shmem",
                                           "allocator_arena",
                                           "allocator_free",
                                           "allocator_mmap",
                                           "cgroup_current",
                                           "cgroup_limit",
                                           "host_limit",
                                           "own",
                                           "swap",
                                           "private_dirty",
                                           "shared",
                                           "threads",
                                           "host_available"};
  const size_t index = static_cast<size_t>(field);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}

}  // namespace plateau::trace
