// The allocation events of one block, decoded into flat arrays for replay.
//
//   events   | e0 | e1 | e2 | e3 | e4 | ...     16 bytes each
//   stamps   0: first time    2: t      4: t    the time from that event on; few events carry one
//
// Rare events point to their full record, those whose numbers are too large for an event to a list of such.
// The block owns the bytes its records view. Blocks are used again: what one allocated, the next one needs
// too. Aligned, because one block is filled while another thread reads its neighbour in memory.
#ifndef PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_
#define PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/live_object.h"
#include "preload/trace/decoder.h"
#include "preload/trace/record.h"

namespace plateau::replay {

enum EventFlags : uint8_t {
  kEventRealloc = 1,  // half of a realloc
  kEventTimed = 2,    // has a stamp of its own
  kEventRare = 4,     // `bytes` is an index into EventBlock::records
  kEventLarge = 8,    // `bytes` is an index into EventBlock::large
};

struct Event {
  uint64_t address : 48;  // the upper bits of a user's address say nothing
  uint64_t kind : 8;      // trace::RecordKind
  uint64_t flags : 8;
  // As in PackedObject, whose era takes the upper part of the bytes.
  uint64_t bytes : 64 - PackedObject::kStackBits;
  uint64_t stack : PackedObject::kStackBits;  // as in the trace, not canonical

  static bool Fits(uint64_t bytes, uint32_t stack) {
    return (bytes >> PackedObject::kStackShift | stack >> PackedObject::kStackBits) == 0;
  }
  // As two words: field by field, a compiler reads what lay there before. Of what fits.
  [[gnu::always_inline]] static Event Of(uint64_t address, trace::RecordKind kind, unsigned flags,
                                         uint64_t bytes, uint64_t stack) {
    constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
    return std::bit_cast<Event>(std::array{
        (address & kAddressMask) | uint64_t{static_cast<uint8_t>(kind)} << 48 | uint64_t{flags} << 56,
        bytes | stack << PackedObject::kStackShift});
  }
  // Bytes and stack, each where a PackedObject has it.
  uint64_t amount() const { return std::bit_cast<std::array<uint64_t, 2>>(*this)[1]; }
  // The bytes alone, above nothing.
  uint64_t bytes_on_top() const { return amount() << PackedObject::kStackBits; }

  trace::RecordKind Kind() const { return static_cast<trace::RecordKind>(kind); }
  // The kind, and above it the flags that make the event another one: 0 for nearly all.
  uint64_t KindAndFlags() const {
    return std::bit_cast<std::array<uint64_t, 2>>(*this)[0] >> 48 & ~(uint64_t{kEventTimed} << 8);
  }
};
static_assert(sizeof(Event) == 16);

// From event `event` on it is `tsc`, which is a lower bound for all but the event itself.
struct Stamp {
  uint64_t event;
  uint64_t tsc;
};

class alignas(128) EventBlock {
 public:
  // Forgets what is in it and decodes another block. Damage is left to the first pass, which has counted it:
  // what can be decoded is.
  absl::Status Decode(const reader::TraceReader& reader, const reader::BlockRef& ref);

  uint32_t stream() const { return stream_; }
  size_t size() const { return size_; }
  const Event* events() const { return room_.data(); }
  // The first is that of event 0 when it has none of its own. All others belong to events with kEventTimed.
  const std::vector<Stamp>& stamps() const { return stamps_; }
  // Which stamp the first event has.
  size_t first_stamp() const { return stamps_.size() > 1 && stamps_[1].event == 0 ? 1 : 0; }

  uint64_t BytesOf(const Event& event) const {
    return event.flags & kEventLarge ? large_[event.bytes].bytes : uint64_t{event.bytes};
  }
  uint32_t StackOf(const Event& event) const {
    return event.flags & kEventLarge ? large_[event.bytes].stack : static_cast<uint32_t>(event.stack);
  }
  const trace::Record& RecordOf(const Event& event) const { return records_[event.bytes]; }
  // `event`, at stamp number `stamp`, did not happen after this time.
  uint64_t LatestTime(const Event& event, size_t stamp) const {
    return event.flags & kEventTimed ? stamps_[stamp].tsc : TimeAfter(stamp);
  }
  // What follows stamp number `stamp` up to the next one did not happen after this time.
  uint64_t TimeAfter(size_t stamp) const {
    if (stamp + 1 < stamps_.size()) return stamps_[stamp + 1].tsc;
    return last_tsc_ != 0 ? last_tsc_ : UINT64_MAX;
  }

 private:
  struct Large {
    uint64_t bytes;
    uint32_t stack;
  };

  template <trace::RecordReader::Walk kWalk>
  void TakeRecords();
  template <trace::RecordReader::Walk kWalk, typename Join>
  [[gnu::always_inline]] void TakeRecordsBy();
  template <trace::RecordReader::Walk kWalk>
  PLATEAU_FOR_BMI2 void TakeRecordsByPext();
  void AddRare(const trace::Record& record, Event** out);
  // Keeps what does not fit into an event; returns where.
  uint64_t KeepLarge(uint64_t bytes, uint32_t stack);

  uint32_t stream_ = 0;
  uint64_t last_tsc_ = 0;  // when it was sealed; 0 when it never was
  size_t size_ = 0;
  ZeroedArray<Event> room_;  // of which size_ events count
  std::vector<Stamp> stamps_;
  std::vector<Large> large_;
  std::vector<trace::Record> records_;
  reader::LoadedBlock bytes_;
};

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_EVENT_BLOCK_H_
