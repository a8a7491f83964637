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
#include "preload/trace/holder_path.h"
#include "preload/trace/record.h"
#include "preload/trace/record_shapes.h"
#include "preload/trace/varint.h"

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
      : begin_(reinterpret_cast<const uint8_t*>(payload.data())), p_(begin_), end_(begin_ + payload.size()) {
    last_.tsc = header.first_tsc;
  }

  // False at the end or at damage; damaged() tells which.
  bool Next(Record* record);

  // Takes the next record if it is a hot one and can be read at once. False: nothing has happened, ask
  // Next().
  bool NextHot(HotRecord* record);

  // The quickest ways through a block: each calls `take` with every hot record up to the first that is not
  // one, or cannot be read at once. Ask Next() for what stopped it, then the same walk again.
  enum class Walk {
    kHot,
    // Passes by stack nodes; Next() gives none of them. Stops at damage where Next() would.
    kEvents,
    // Of the heap's own events only the kind and the time are read. The rest of those that Next() gives means
    // nothing, and stacks of other events neither.
    kTimes,
  };
  template <Walk kWalk = Walk::kHot, typename Take>
  [[gnu::always_inline]] void TakeHot(Take&& take) {
    if (HasPext()) {
      TakeHotBy<JoinByPext, kWalk>(take);
    } else {
      TakeHotBy<JoinByShifts, kWalk>(take);
    }
  }
  // The same in one of the two ways of varint.h.
  template <typename Join, Walk kWalk = Walk::kHot, typename Take>
  void TakeHotBy(Take&& take);

  // Calls `take` with the stack nodes up to the first record that is none. False when there was none, or
  // damage.
  template <typename Take>
  bool TakeNodes(Take&& take);

  bool damaged() const { return damaged_; }
  size_t offset() const {
    return static_cast<size_t>(p_ - begin_);
  }  // of the next record, or of the damaged one
  uint64_t unknown_records() const { return unknown_records_; }

 private:
  // Each reads the fields of a record from p_ on.
  bool NextExt(uint32_t kind, Record* record);
  bool NextNode(uint8_t flags, Record* record);
  // Reads of a node what records behind it depend on.
  bool PassNode();
  bool NextLocation(uint8_t flags, Record* record);

  void NextOfRun(Record* record);
  bool Number(uint64_t* value) {
    const uint8_t* next = GetVarint(p_, end_, value);
    if (next != nullptr) p_ = next;
    return next != nullptr;
  }
  bool NodeLocationNumber(CallPredictor::Guesses guesses, uint32_t before, uint32_t* location);
  void DefineNode(uint32_t node, uint32_t parent, uint32_t location, Record* record);
  // The address that `number` stands for, counted from `before`.
  uint64_t AddressOf(uint64_t number, uint64_t before, bool has_recent_flag, RecentAddresses* recent) const {
    if (has_recent_flag && number < kRecentAddresses) return recent->At(number);
    const uint64_t address =
        before + (has_recent_flag ? static_cast<uint64_t>(UnZigZag(number - kRecentAddresses))
                                  : static_cast<uint64_t>(UnZigZag(number)) << 4);
    recent->Set(RecentAddresses::PlaceOf(address), address);
    return address;
  }
  // The same without a branch. The mask says whether the flag is there.
  [[gnu::always_inline]] uint64_t QuickAddressOf(uint64_t number, uint64_t before, uint64_t recent_flag,
                                                 RecentAddresses* recent) const {
    const uint64_t is_place = recent_flag & -static_cast<uint64_t>(number < kRecentAddresses);
    const auto delta = static_cast<uint64_t>(UnZigZag(number - (kRecentAddresses & recent_flag)));
    const uint64_t added = before + (delta << (4 & ~recent_flag));
    const uint64_t address = (recent->At(number % kRecentAddresses) & is_place) | (added & ~is_place);
    recent->Set((number & is_place) | (RecentAddresses::PlaceOf(address) & ~is_place), address);
    return address;
  }
  bool Fail(const uint8_t* at);

  const uint8_t* begin_;
  const uint8_t* p_;
  const uint8_t* end_;
  bool damaged_ = false;
  uint64_t unknown_records_ = 0;
  uint8_t run_left_ = 0;    // nodes of a run still to be given
  uint32_t path_size_ = 0;  // that of last_.path, for a walk that passes nodes by
  DeltaState last_ = {};
};

// A short English name for messages: "alloc", "module", ...
const char* RecordKindName(RecordKind kind);
const char* DropReasonName(DropReason reason);
const char* MarkKindName(MarkKind kind);
const char* WalkReasonName(WalkReason reason);
const char* WalkResultName(WalkResult result);
const char* HolderEndName(HolderEnd end);
const char* SegmentKindName(SegmentKind kind);
const char* LedgerFieldName(LedgerField field);

}  // namespace plateau::trace

#include "preload/trace/quick_reading.h"

#endif  // PLATEAU_PRELOAD_TRACE_DECODER_H_
