#include "preload/trace/encoder.h"

#include <cstring>

#include "preload/trace/checksum.h"
#include "preload/trace/varint.h"

namespace plateau::trace {
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
  header->flags = kBlockOpen | kBlockHeapOnly;
  header->header_bytes = sizeof(BlockHeader);
  header->stream = stream;
  header->record_count = 0;
  header->first_tsc = tsc;
  header->last_tsc = 0;
  header->raw_bytes = 0;
  header->crc32c = 0;
  std::memset(header->reserved, 0, sizeof(header->reserved));
  __atomic_store_n(&header->seq, seq, __ATOMIC_RELEASE);
}

void BlockWriter::MoveTo(uint8_t* payload, size_t capacity) {
  const size_t used = bytes();
  if (run_ != nullptr) run_ = payload + (run_ - payload_);
  payload_ = payload;
  out_ = payload + used;
  end_ = payload + capacity;
}

bool BlockWriter::Alloc(const AllocRecord& record, uint64_t tsc) {
  if (!HasHotRoom()) return false;
  PutAlloc(record, tsc);
  return true;
}

bool BlockWriter::Free(const FreeRecord& record, uint64_t tsc) {
  if (!HasHotRoom()) return false;
  PutFree(record, tsc);
  return true;
}

bool BlockWriter::AllocIn(const AllocInRecord& record, uint64_t tsc) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p = out_ + 1;
  p = PutBytes(p, record.bytes, last_.in_bytes, &flags);
  uint64_t& before = last_.in_address[InClass(record.bytes)];
  p = PutAddress(p, record.address, before, &last_.in_recent, kAllocRecent, &flags);
  p = PutStack(p, record.stack, &flags);
  if (tsc != 0) {
    flags |= kAllocTime;
    p = PutTime(p, tsc);
  }
  before = last_.in_any_address = record.address;
  last_.in_bytes = record.bytes;
  *out_ = Tag(Op::kAllocIn, flags);
  CommitDefinition(p);
  return true;
}

bool BlockWriter::FreeIn(const FreeInRecord& record, uint64_t tsc) {
  if (!HasRoom(kHotRecordBytes)) return false;
  uint8_t flags = 0;
  uint8_t* p =
      PutAddress(out_ + 1, record.address, last_.in_any_address, &last_.in_recent, kFreeRecent, &flags);
  if (tsc != 0) {
    flags |= kFreeTime;
    p = PutTime(p, tsc);
  }
  last_.in_any_address = record.address;
  *out_ = Tag(Op::kFreeIn, flags);
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
