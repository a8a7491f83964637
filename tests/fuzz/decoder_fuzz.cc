// Feeds bytes to the block and record decoders as a file would: header, then one block, then the bare
// payload.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "preload/trace/decoder.h"

using plateau::trace::BlockHeader;
using plateau::trace::BlockStatus;
using plateau::trace::DeltaRules;
using plateau::trace::FileHeader;
using plateau::trace::HotRecord;
using plateau::trace::Record;
using plateau::trace::RecordReader;

namespace {

// Touches what a record points to, so that the address sanitizer sees a view that left its block.
void Use(const Record& record, std::string_view payload) {
  using plateau::trace::RecordKind;
  std::string_view views[3];
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

void ReadRecords(const BlockHeader& header, std::string_view payload) {
  RecordReader reader(header, payload);
  Record record;
  size_t records = 0;
  while (reader.Next(&record)) {
    Use(record, payload);
    if (++records > 7 * payload.size()) std::abort();  // a byte holds at most seven, of a run of nodes
  }
  if (reader.offset() > payload.size()) std::abort();
  // With the short cut for hot records it must end in the same place with as many of them.
  RecordReader hot_reader(header, payload);
  HotRecord hot;
  size_t hot_records = 0;
  while (hot_reader.NextHot(&hot) || hot_reader.Next(&record)) ++hot_records;
  if (hot_records != records || hot_reader.offset() != reader.offset()) std::abort();
  if (hot_reader.damaged() != reader.damaged()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FileHeader file_header;
  plateau::trace::ReadFileHeader(data, size, &file_header);

  BlockHeader header{};
  std::string_view payload;
  const BlockStatus status = plateau::trace::ReadBlock(data, size, &header, &payload);
  if (status == BlockStatus::kOk || status == BlockStatus::kOpen) ReadRecords(header, payload);

  for (const DeltaRules rules : {DeltaRules::kVersion1, DeltaRules::kVersion2, DeltaRules::kVersion3}) {
    BlockHeader bare{};
    bare.delta_rules = rules;
    ReadRecords(bare, {reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
