// Feeds bytes to the block and record decoders as a file would: header, then one block, then the bare
// payload.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "preload/trace/decoder.h"

using plateau::trace::BlockHeader;
using plateau::trace::BlockStatus;
using plateau::trace::FileHeader;
using plateau::trace::HotRecord;
using plateau::trace::JoinByShifts;
using plateau::trace::Record;
using plateau::trace::RecordKind;
using plateau::trace::RecordReader;

namespace {

// Touches what a record points to, so that the address sanitizer sees a view that left its block.
void Use(const Record& record, std::string_view payload) {
  std::string_view views[4];
  if (record.kind == RecordKind::kInfo) {
    views[0] = record.info.key;
    views[1] = record.info.value;
  } else if (record.kind == RecordKind::kModule) {
    views[0] = record.module.path;
    views[1] = record.module.build_id;
  } else if (record.kind == RecordKind::kCode) {
    views[0] = record.code.file;
    views[1] = record.code.name;
    views[2] = record.code.line_table;
    views[3] = record.code.loops;
  } else if (record.kind == RecordKind::kMark) {
    views[0] = record.mark.name;
  } else if (record.kind == RecordKind::kDevice) {
    views[0] = record.device.api;
  }
  for (const std::string_view view : views) {
    if (view.empty()) continue;
    if (view.data() < payload.data() || view.data() + view.size() > payload.data() + payload.size())
      std::abort();
  }
}

// Of all records: how many there are, and their fields where they may come by a short cut.
struct Sum {
  size_t records = 0;
  uint64_t fields = 0;

  bool operator==(const Sum&) const = default;
  void Add(const HotRecord& r) {
    ++records;
    fields = 31 * fields + (r.address ^ r.bytes << 1 ^ r.tsc << 2 ^ uint64_t{r.stack} << 3 ^ r.is_realloc);
  }
  bool Add(const Record& r) {
    if (r.kind == RecordKind::kAlloc) {
      Add(HotRecord{r.tsc, r.alloc.address, r.alloc.bytes, r.alloc.stack, r.kind, r.alloc.is_realloc,
                    r.has_time});
    } else if (r.kind == RecordKind::kFree) {
      Add(HotRecord{r.tsc, r.free.address, 0, 0, r.kind, r.free.is_realloc, r.has_time});
    } else if (r.kind == RecordKind::kAllocIn) {
      Add(HotRecord{r.tsc, r.alloc_in.address, r.alloc_in.bytes, r.alloc_in.stack, r.kind, false,
                    r.has_time});
    } else if (r.kind == RecordKind::kFreeIn) {
      Add(HotRecord{r.tsc, r.free_in.address, 0, 0, r.kind, false, r.has_time});
    } else {
      ++records;
    }
    return true;
  }
};

void ReadRecords(const BlockHeader& header, std::string_view payload) {
  RecordReader reader(header, payload);
  Record record;
  Sum expected;
  while (reader.Next(&record)) {
    Use(record, payload);
    expected.Add(record);
    if (expected.records > 7 * payload.size()) std::abort();  // a byte holds at most seven, of a run of nodes
  }
  if (reader.offset() > payload.size()) std::abort();
  // With the short cuts for hot records it must end in the same place with as many of them, and the same
  // ones.
  const auto check = [&](auto&& take_hot) {
    RecordReader hot_reader(header, payload);
    Sum sum;
    do {
      take_hot(hot_reader, sum);
    } while (hot_reader.Next(&record) && sum.Add(record));
    if (sum != expected || hot_reader.offset() != reader.offset()) std::abort();
    if (hot_reader.damaged() != reader.damaged()) std::abort();
  };
  check([](RecordReader& by_one, Sum& sum) {
    HotRecord hot;
    while (by_one.NextHot(&hot)) sum.Add(hot);
  });
  check([](RecordReader& many, Sum& sum) {
    many.TakeHotBy<JoinByShifts>([&](const HotRecord& hot) { sum.Add(hot); });
  });
  check([](RecordReader& many, Sum& sum) { many.TakeHot([&](const HotRecord& hot) { sum.Add(hot); }); });
  // Those that leave something out must still end there.
  const auto check_end = [&](const auto& walk) {
    RecordReader quick_reader(header, payload);
    do {
      walk(quick_reader);
    } while (quick_reader.Next(&record));
    if (quick_reader.offset() != reader.offset() || quick_reader.damaged() != reader.damaged()) std::abort();
  };
  const auto ignore = [](const auto&) {};
  check_end([&](RecordReader& quick) { quick.TakeHot<RecordReader::Walk::kEvents>(ignore); });
  check_end([&](RecordReader& quick) {
    do {
      quick.TakeHot<RecordReader::Walk::kTimes>(ignore);
    } while (quick.TakeNodes(ignore));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FileHeader file_header;
  plateau::trace::ReadFileHeader(data, size, &file_header);

  BlockHeader header{};
  std::string_view payload;
  const BlockStatus status = plateau::trace::ReadBlock(data, size, &header, &payload);
  if (status == BlockStatus::kOk || status == BlockStatus::kOpen) ReadRecords(header, payload);

  ReadRecords(BlockHeader{}, {reinterpret_cast<const char*>(data), size});
  return 0;
}
