// Appends records to one open block.
//
//   BlockWriter writer;
//   writer.Start(header, payload, capacity, stream, seq, now);
//   if (!writer.Alloc({address, bytes, stack}, now)) { seal, write out, Start() again, repeat }
//
// Every call either appends the whole record and then commits it, by one release store of
// header->payload_bytes, or returns false and changes nothing. So whoever maps the block sees whole records
// only, at any moment, after any kill. A record that does not fit an empty block is a caller's mistake only
// for strings, which are cut to the limits below.
//
// One writer per block; not reentrant. Allocates: never. Locks: never. Throws: never.
#ifndef PLATEAU_PRELOAD_TRACE_ENCODER_H_
#define PLATEAU_PRELOAD_TRACE_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/trace/delta_state.h"
#include "preload/trace/format.h"
#include "preload/trace/record.h"
#include "preload/trace/varint.h"

namespace plateau::trace {

// Longer strings are cut.
inline constexpr size_t kMaxNameBytes = 4096;        // paths, names, keys
inline constexpr size_t kMaxValueBytes = 16 * 1024;  // values of InfoRecord
inline constexpr size_t kMaxLineTableBytes = 40 * 1024;
inline constexpr size_t kMaxLoopBytes = 2048;
// No record is larger than this, so that an empty block takes any.
inline constexpr size_t kMaxRecordBytes = kMaxLineTableBytes + kMaxLoopBytes + 2 * kMaxNameBytes + 256;
static_assert(kMaxRecordBytes < kSlotPayloadBytes);

class BlockWriter {
 public:
  BlockWriter() = default;
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // Begins an empty open block. `header` and `payload` stay the caller's; usually both are in shared memory.
  void Start(BlockHeader* header, uint8_t* payload, size_t capacity, uint32_t stream, uint32_t seq,
             uint64_t tsc);

  // Goes on in another place, to which the caller has copied the payload: for blocks in memory that grow.
  void MoveTo(uint8_t* payload, size_t capacity);

  // `tsc` 0 leaves the time stamp out.
  bool Alloc(const AllocRecord& record, uint64_t tsc = 0);
  bool Free(const FreeRecord& record, uint64_t tsc = 0);
  // The same, inline, for who has seen that there is room.
  bool HasHotRoom() const { return HasRoom(kHotRecordBytes); }
  void PutAlloc(const AllocRecord& record, uint64_t tsc);
  void PutFree(const FreeRecord& record, uint64_t tsc);
  bool AllocIn(const AllocInRecord& record, uint64_t tsc = 0);
  bool FreeIn(const FreeInRecord& record, uint64_t tsc = 0);
  bool Node(const NodeRecord& record);
  bool Pc(const PcRecord& record);
  bool Time(uint64_t tsc);

  bool Info(std::string_view key, std::string_view value);
  bool Module(const ModuleRecord& record);
  bool ModuleGone(uint32_t module);
  bool Code(const CodeRecord& record);
  bool PythonLocation(const PythonLocationRecord& record);
  bool ThreadStart(const ThreadStartRecord& record);
  bool ThreadEnd();
  bool Map(const MapRecord& record);
  bool Unmap(const UnmapRecord& record);
  bool Remap(const RemapRecord& record);
  bool Break(const BreakRecord& record);
  bool Mark(const MarkRecord& record);
  bool Ledger(const LedgerRecord& record);
  bool Drop(const DropRecord& record);
  bool Rate(const RateRecord& record);
  bool Device(const DeviceRecord& record);
  bool Tensor(const TensorRecord& record);
  bool TensorGone(uint64_t address);
  bool ReallocCancel();
  bool CopiedPages(std::string_view runs);  // cut to kMaxValueBytes
  bool Residency(const ResidencyRecord& record);
  bool HolderWalk(const HolderWalkRecord& record);
  bool Attach(const AttachRecord& record);
  bool Holder(const HolderRecord& record);
  bool Fork(uint32_t child_pid);
  bool FoldTotals(const FoldTotalsRecord& record);
  // A record that the caller raises in place later; null when there is no room. Its numbers are aligned in a
  // block that has no other records.
  FoldRow* FoldTableRow(uint32_t stack);
  bool TotalsSnapshot(const Totals& totals);
  // A record of any kind, for kinds that are newer than this writer and for tests.
  bool Ext(uint32_t kind, std::string_view payload);
  // The bytes of one whole extended record, as another block had them.
  bool Verbatim(std::string_view record);

  bool started() const { return header_ != nullptr; }
  size_t room() const { return static_cast<size_t>(end_ - out_); }
  size_t bytes() const { return static_cast<size_t>(out_ - payload_); }
  uint32_t records() const { return header_->record_count; }
  uint64_t last_tsc() const { return last_.tsc; }
  uint32_t last_stack() const { return last_.stack; }  // what the next allocation's stack is counted from

 private:
  class ExtRecord;

  // Tag, flags and up to five numbers of a record without a length.
  static constexpr size_t kHotRecordBytes = 1 + 5 * kMaxVarintBytes;

  static constexpr uint8_t Tag(Op op, uint8_t flags) {
    return static_cast<uint8_t>(static_cast<uint8_t>(op) | (flags << 3));
  }
  static constexpr int64_t Delta(uint64_t now, uint64_t before) { return static_cast<int64_t>(now - before); }

  bool HasRoom(size_t bytes) const { return room() >= bytes; }
  uint8_t* PutTime(uint8_t* p, uint64_t tsc);
  uint8_t* PutStack(uint8_t* p, uint32_t stack, uint8_t* flags);
  uint8_t* PutLocation(uint8_t* p, uint32_t location, CallPredictor::Guesses guesses, uint32_t before) const;
  bool CallNode(const NodeRecord& record);
  bool BranchNode(const NodeRecord& record, uint32_t distance);
  bool ExplicitNode(const NodeRecord& record);
  bool FinishNode(const NodeRecord& record, uint8_t code, uint8_t* end);
  // Of a record that only matters when the heap is replayed; all others are committed by the next one.
  void Commit(uint8_t* new_end) {
    out_ = new_end;
    ++header_->record_count;
    __atomic_store_n(&header_->payload_bytes, static_cast<uint32_t>(new_end - payload_), __ATOMIC_RELEASE);
  }
  void CommitDefinition(uint8_t* new_end) {
    header_->flags = kBlockOpen;
    Commit(new_end);
  }

  BlockHeader* header_ = nullptr;
  uint8_t* payload_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* end_ = nullptr;
  uint8_t* run_ = nullptr;  // the tag of the last NODE, when more of them can be added to it
  DeltaState last_ = {};
};

// The header with which an open block is written to the data part: without kBlockOpen, with last_tsc,
// raw_bytes and the checksum. The open block itself is left as it is, so that a kill during the write still
// finds it whole in its slot.
BlockHeader SealedHeader(const BlockHeader& open, const uint8_t* payload, uint64_t tsc);

// Fills static_bytes and static_crc32c.
void SealHeader(FileHeader* header);

}  // namespace plateau::trace

#include "preload/trace/hot_records.h"

#endif  // PLATEAU_PRELOAD_TRACE_ENCODER_H_
