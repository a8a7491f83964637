// Reads what encoder.h wrote, from bytes that nobody vouches for.
//
// Every function stays inside the bytes it was given whatever they contain, allocates nothing and keeps no
// state outside its object. Damage is reported, never guessed around: a RecordReader that meets a malformed
// record stops there, because the deltas of everything behind it would be wrong.
#ifndef PLATEAU_PRELOAD_TRACE_DECODER_H_
#define PLATEAU_PRELOAD_TRACE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/trace/delta_state.h"
#include "preload/trace/format.h"
#include "preload/trace/record.h"

namespace plateau::trace {

enum class HeaderStatus {
  kOk,
  kTooShort,      // fewer bytes than a header
  kNotATrace,     // no magic
  kNewerVersion,  // written by a later major version
  kDamaged,       // static checksum does not match; the fields may still be useful
};

// Copies the header out of the first bytes of a file. The dynamic part is whatever was there.
HeaderStatus ReadFileHeader(const uint8_t* data, size_t size, FileHeader* header);

enum class BlockStatus {
  kOk,         // sealed, checksum holds
  kOpen,       // from a ring slot: payload_bytes is the committed length
  kTruncated,  // the header promises more bytes than there are
  kBadMagic,   // no block starts here
  kBadHeader,  // sizes that cannot be
  kBadChecksum,
  kUnknownType,  // checksum holds, but the type is from a later version
};

// Looks at a block that starts at `data`. On kOk and kOpen `header` and `payload` are set.
BlockStatus ReadBlock(const uint8_t* data, size_t size, BlockHeader* header, std::string_view* payload);

// Iterates over the records of one kEvents payload (decompressed, if it was packed).
class RecordReader {
 public:
  RecordReader(const BlockHeader& header, std::string_view payload)
      : begin_(reinterpret_cast<const uint8_t*>(payload.data())),
        p_(begin_),
        end_(begin_ + payload.size()),
        rules_(header.delta_rules) {
    last_.tsc = header.first_tsc;
  }

  // False at the end or at damage; damaged() tells which.
  bool Next(Record* record);

  bool damaged() const { return damaged_; }
  size_t offset() const {
    return static_cast<size_t>(p_ - begin_);
  }  // of the next record, or of the damaged one
  uint64_t unknown_records() const { return unknown_records_; }

 private:
  bool NextExt(uint32_t kind, Record* record);
  void NextOfRun(Record* record);
  bool Fail(const uint8_t* at);

  const uint8_t* begin_;
  const uint8_t* p_;
  const uint8_t* end_;
  bool damaged_ = false;
  uint64_t unknown_records_ = 0;
  DeltaRules rules_;
  uint8_t run_left_ = 0;  // nodes of a run still to be given
  DeltaState last_ = {};
};

// A short English name for messages: "alloc", "module", ...
const char* RecordKindName(RecordKind kind);
const char* DropReasonName(DropReason reason);
const char* MarkKindName(MarkKind kind);
const char* LedgerFieldName(LedgerField field);

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_DECODER_H_
