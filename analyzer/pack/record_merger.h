// The records of several payloads of one stream as one kEvents payload, with the addresses of allocations and frees in
// their order.
//
// Each payload begins its deltas anew, so records are decoded and encoded again; those that refer to nothing before
// them are copied as bytes. Used by the packer alone. Takes about 4 bytes of memory for each byte of the payloads.
// Payloads may be damaged: Add() is false then, and what it has added is of no use.
#ifndef PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_
#define PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/pack/column_codec.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"

namespace plateau {

class RecordMerger {
 public:
  explicit RecordMerger(const std::vector<EventsPayload>& payloads) {
    size_t bytes = 65536;
    for (const EventsPayload& payload : payloads) bytes += payload.bytes.size() * 9 / 8;
    data_.resize(bytes);
    addresses_.reserve(bytes / 3);
    writer_.Start(&header_, Data(), data_.size(), 1, 0, payloads.front().first_tsc);
  }

  bool Add(const EventsPayload& payload, bool is_first) {
    trace::BlockHeader header{};
    header.first_tsc = payload.first_tsc;
    trace::RecordReader reader(header, payload.bytes);
    if (!is_first) Write([&] { return writer_.Time(payload.first_tsc); });
    trace::Record record;
    for (;;) {
      reader.TakeHot([this](const trace::HotRecord& hot) { AddHot(hot); });
      const size_t start = reader.offset();
      if (!reader.Next(&record)) return !reader.damaged();
      AddOther(record, payload.bytes.substr(start, reader.offset() - start));
    }
  }

  // After the last Add(): addresses that are not there, for a look ahead.
  void Finish(size_t more_addresses) { addresses_.resize(addresses_.size() + more_addresses); }

  std::string_view payload() const { return {data_.data(), writer_.bytes()}; }
  uint32_t records() const { return writer_.records(); }
  const std::vector<uint64_t>& addresses() const { return addresses_; }

 private:
  uint8_t* Data() { return reinterpret_cast<uint8_t*>(data_.data()); }
  template <typename WriteOne>
  void Write(WriteOne write) {
    while (!write()) {
      data_.resize(2 * data_.size());
      writer_.MoveTo(Data(), data_.size());
    }
  }
  void AddHot(const trace::HotRecord& r) {
    addresses_.push_back(r.address);
    const uint64_t tsc = r.has_time ? r.tsc : 0;
    Write([&] {
      switch (r.kind) {
        case trace::RecordKind::kAlloc:
          return writer_.Alloc({r.address, r.bytes, r.stack, r.is_realloc}, tsc);
        case trace::RecordKind::kFree:
          return writer_.Free({r.address, r.is_realloc}, tsc);
        case trace::RecordKind::kAllocIn:
          return writer_.AllocIn({r.address, r.bytes, r.stack}, tsc);
        default:
          return writer_.FreeIn({r.address}, tsc);
      }
    });
  }
  void AddOther(const trace::Record& r, std::string_view bytes) {
    switch (r.kind) {
      case trace::RecordKind::kAlloc:
        return AddHot(
            {r.tsc, r.alloc.address, r.alloc.bytes, r.alloc.stack, r.kind, r.alloc.is_realloc, r.has_time});
      case trace::RecordKind::kFree:
        return AddHot({r.tsc, r.free.address, 0, 0, r.kind, r.free.is_realloc, r.has_time});
      case trace::RecordKind::kAllocIn:
        return AddHot(
            {r.tsc, r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, r.kind, false, r.has_time});
      case trace::RecordKind::kFreeIn:
        return AddHot({r.tsc, r.free_in.address, 0, 0, r.kind, false, r.has_time});
      case trace::RecordKind::kNode:
        return Write([&] { return writer_.Node(r.node); });
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

  trace::BlockHeader header_{};
  trace::BlockWriter writer_;
  std::string data_;
  std::vector<uint64_t> addresses_;
};

}  // namespace plateau

#endif  // PLATEAU_ANALYZER_PACK_RECORD_MERGER_H_
