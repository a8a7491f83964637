#include "preload/trace/decoder.h"

#include <cstring>

#include "preload/trace/checksum.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
namespace {

constexpr uint32_t kMaxPayloadBytes = 1u << 30;

}  // namespace

HeaderStatus ReadFileHeader(const uint8_t* data, size_t size, FileHeader* header) {
  std::memset(header, 0, sizeof(*header));
  if (size < sizeof(kFileMagic)) return HeaderStatus::kTooShort;
  if (std::memcmp(data, kFileMagic, sizeof(kFileMagic)) != 0) return HeaderStatus::kNotATrace;
  std::memcpy(header, data, size < sizeof(*header) ? size : sizeof(*header));
  if (size < offsetof(FileHeader, header_bytes)) return HeaderStatus::kTooShort;
  if (header->version_major > kVersionMajor) return HeaderStatus::kNewerVersion;
  // The first block of a packed file lies where a longer header has the offset of an extent, which is no
  // magic.
  const bool is_packed = header->header_bytes == kPackedHeaderBytes ||
                         (size >= kPackedHeaderBytes + sizeof(kBlockMagic) &&
                          std::memcmp(data + kPackedHeaderBytes, &kBlockMagic, sizeof(kBlockMagic)) == 0);
  const size_t bytes = is_packed ? kPackedHeaderBytes : sizeof(*header);
  if (size < bytes) return HeaderStatus::kTooShort;
  std::memset(reinterpret_cast<uint8_t*>(header) + bytes, 0, sizeof(*header) - bytes);
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
  const uint8_t* p = ++p_;
  uint64_t value = 0;
  // Reads one number into `value`.
  const auto number = [&] { return (p = GetVarint(p, end_, &value)) != nullptr; };
  const auto signed_value = [&] { return static_cast<uint64_t>(UnZigZag(value)); };
  // Each reads one field; false when it is not there.
  const auto address = [&](uint64_t* last, RecentAddresses* recent, uint8_t recent_flag) {
    if (!number()) return false;
    *last = AddressOf(value, *last, (flags & recent_flag) != 0, recent);
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
      if (!address(&last_.address, &last_.recent, kAllocRecent) || !bytes(&last_.bytes) || !stack() ||
          !time(kAllocTime)) {
        return Fail(start);
      }
      record->alloc = {last_.address, last_.bytes, last_.stack, (flags & kAllocRealloc) != 0};
      break;
    case Op::kFree:
      record->kind = RecordKind::kFree;
      if (!address(&last_.address, &last_.recent, kFreeRecent) || !time(kFreeTime)) return Fail(start);
      record->free = {last_.address, (flags & kFreeRealloc) != 0};
      break;
    case Op::kAllocIn: {
      record->kind = RecordKind::kAllocIn;
      if (!bytes(&last_.in_bytes)) return Fail(start);
      uint64_t* const last = &last_.in_address[InClass(last_.in_bytes)];
      if (!address(last, &last_.in_recent, kAllocRecent) || !stack() || !time(kAllocTime)) return Fail(start);
      last_.in_any_address = *last;
      record->alloc_in = {*last, last_.in_bytes, last_.stack};
      break;
    }
    case Op::kFreeIn:
      record->kind = RecordKind::kFreeIn;
      if (!address(&last_.in_any_address, &last_.in_recent, kFreeRecent) || !time(kFreeTime))
        return Fail(start);
      record->free_in = {last_.in_any_address};
      break;
    case Op::kNode:
      if (!NextNode(flags, record)) return Fail(start);
      p = p_;
      break;
    case Op::kPc:
      if (!NextLocation(flags, record)) return Fail(start);
      p = p_;
      break;
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

}  // namespace plateau::trace
