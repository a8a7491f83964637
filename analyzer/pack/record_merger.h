// The records of several payloads of one stream as one kEvents payload, shown to a sink in their order.
//
// Each payload begins its deltas anew, so records are decoded and encoded again; those that refer to nothing before
// them are copied as bytes. The sink gets each record as it is encoded now, a few dozen records behind:
//
//   void Later(const trace::HotRecord& record);            // this allocation or free will come: memory can be fetched
//   void Soon(const trace::HotRecord& record);             // and now it comes after a few others
//   void Hot(const trace::HotRecord& record, const uint8_t* bytes, uint32_t stack_before);  // stacks are differences
//   void Others(const uint8_t* begin, const uint8_t* end);  // whole records of other kinds
//
// Used by the packer alone. Payloads may be damaged: Add() is false then, and what the sink got is of no use.
#ifndef PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_
#define PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "analyzer/pack/column_codec.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"

namespace plateau {

template <typename Sink>
class RecordMerger {
 public:
  RecordMerger(const std::vector<EventsPayload>& payloads, Sink* sink) : sink_(*sink) {
    for (const EventsPayload& payload : payloads) size_ += payload.bytes.size() * 9 / 8;
    data_ = std::make_unique_for_overwrite<uint8_t[]>(size_);
    writer_.Start(&header_, data_.get(), size_, 1, 0, payloads.front().first_tsc);
  }

  bool Add(const EventsPayload& payload, bool is_first) {
    trace::BlockHeader header{};
    header.first_tsc = payload.first_tsc;
    trace::RecordReader reader(header, payload.bytes);
    if (!is_first) Write([&] { return writer_.Time(payload.first_tsc); });
    trace::Record record;
    for (;;) {
      reader.TakeHot([this](const trace::HotRecord& hot) { AddHot(hot); });
      if (reader.TakeNodes(
              [this](const trace::NodeRecord& node) { Write([&] { return writer_.Node(node); }); })) {
        continue;
      }
      const size_t start = reader.offset();
      if (!reader.Next(&record)) break;
      AddOther(record, payload.bytes.substr(start, reader.offset() - start));
    }
    Show();
    return !reader.damaged();
  }

  // After the last Add().
  uint32_t records() const { return writer_.records(); }
  size_t bytes() const { return writer_.bytes(); }

 private:
  // An allocation or free that the sink has not got yet.
  struct Waiting {
    trace::HotRecord record;
    size_t begin, end;  // of its bytes
    uint32_t stack_before;
  };

  static constexpr size_t kSoon = 8;

  template <typename WriteOne>
  void Write(WriteOne write) {
    Encode();
    while (!write()) Grow();
  }
  void Grow() {
    auto larger = std::make_unique_for_overwrite<uint8_t[]>(2 * size_);
    __builtin_memcpy(larger.get(), data_.get(), writer_.bytes());
    data_.swap(larger);
    size_ *= 2;
    writer_.MoveTo(data_.get(), size_);
  }
  void AddHot(const trace::HotRecord& record) {
    sink_.Later(record);
    waiting_[count_++].record = record;
    if (count_ == waiting_.size()) Show();
  }
  // Encodes the allocations and frees that have not been.
  void Encode() {
    for (; encoded_ < count_; ++encoded_) {
      if (!writer_.HasHotRoom()) Grow();
      Waiting& waiting = waiting_[encoded_];
      waiting.begin = writer_.bytes();
      waiting.stack_before = writer_.last_stack();
      PutHot(waiting.record);
      waiting.end = writer_.bytes();
    }
  }
  // When there is room.
  void PutHot(const trace::HotRecord& r) {
    const uint64_t tsc = r.has_time ? r.tsc : 0;
    if (r.kind == trace::RecordKind::kAlloc) {
      writer_.PutAlloc({r.address, r.bytes, r.stack, r.is_realloc}, tsc);
    } else if (r.kind == trace::RecordKind::kFree) {
      writer_.PutFree({r.address, r.is_realloc}, tsc);
    } else if (r.kind == trace::RecordKind::kAllocIn) {
      writer_.AllocIn({r.address, r.bytes, r.stack}, tsc);
    } else {
      writer_.FreeIn({r.address}, tsc);
    }
  }
  void AddOther(const trace::Record& r, std::string_view bytes) {
    const auto add_hot = [&](uint64_t address, uint64_t size, uint32_t stack, bool is_realloc) {
      AddHot({r.tsc, address, size, stack, r.kind, is_realloc, r.has_time});
    };
    switch (r.kind) {
      case trace::RecordKind::kAlloc:
        return add_hot(r.alloc.address, r.alloc.bytes, r.alloc.stack, r.alloc.is_realloc);
      case trace::RecordKind::kFree:
        return add_hot(r.free.address, 0, 0, r.free.is_realloc);
      case trace::RecordKind::kAllocIn:
        return add_hot(r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, false);
      case trace::RecordKind::kFreeIn:
        return add_hot(r.free_in.address, 0, 0, false);
      case trace::RecordKind::kPc:
        return Write([&] { return writer_.Pc(r.pc); });
      case trace::RecordKind::kPythonLocation:
        return Write([&] { return writer_.PythonLocation(r.python_location); });
      case trace::RecordKind::kTime:
        return Write([&] { return writer_.Time(r.tsc); });
      default:
        return Write([&] { return writer_.Verbatim(bytes); });
    }
  }
  // All that has come goes to the sink. The last record is an allocation or free, or the payload has ended: the
  // encoder goes on changing a NODE while more of them follow.
  void Show() {
    Encode();
    const uint8_t* const data = data_.get();
    for (size_t i = 0; i < count_; ++i) {
      const Waiting& hot = waiting_[i];
      if (i + kSoon < count_) sink_.Soon(waiting_[i + kSoon].record);
      if (shown_ != hot.begin) sink_.Others(data + shown_, data + hot.begin);
      sink_.Hot(hot.record, data + hot.begin, hot.stack_before);
      shown_ = hot.end;
    }
    sink_.Others(data + shown_, data + writer_.bytes());
    shown_ = writer_.bytes();
    count_ = encoded_ = 0;
  }

  Sink& sink_;
  trace::BlockHeader header_{};
  trace::BlockWriter writer_;
  size_t size_ = 65536;
  std::unique_ptr<uint8_t[]> data_;
  size_t shown_ = 0;  // bytes that the sink has got
  std::array<Waiting, 64> waiting_;
  size_t count_ = 0, encoded_ = 0;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_
