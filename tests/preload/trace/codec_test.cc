// The encoder and the decoder as a pair: what goes in comes out, and nothing half-written is ever visible.
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "preload/trace/decoder.h"
#include "preload/trace/encoder.h"
#include "tests/support/sample_block.h"

namespace plateau::trace {
namespace {

void ExpectTheSame(const HotRecord& hot, const Record& expected) {
  ASSERT_EQ(hot.kind, expected.kind);
  ASSERT_EQ(hot.tsc, expected.tsc);
  ASSERT_EQ(hot.has_time, expected.has_time);
  if (hot.kind == RecordKind::kAlloc) {
    const AllocRecord& alloc = expected.alloc;
    ASSERT_EQ(std::tuple(hot.address, hot.bytes, hot.stack, hot.is_realloc),
              std::tuple(alloc.address, alloc.bytes, alloc.stack, alloc.is_realloc));
  } else if (hot.kind == RecordKind::kAllocIn) {
    const AllocInRecord& alloc = expected.alloc_in;
    ASSERT_EQ(std::tuple(hot.address, hot.bytes, hot.stack),
              std::tuple(alloc.address, alloc.bytes, alloc.stack));
  } else if (hot.kind == RecordKind::kFree) {
    ASSERT_EQ(std::tuple(hot.address, hot.is_realloc),
              std::tuple(expected.free.address, expected.free.is_realloc));
  } else {
    ASSERT_EQ(hot.kind, RecordKind::kFreeIn);
    ASSERT_EQ(hot.address, expected.free_in.address);
  }
}

// Reads the block once more, hot records by `take_hot(reader, take)`: they must be what Next() gave.
template <typename TakeHot>
void ExpectTheSameBy(TakeHot&& take_hot, const SampleBlock& block, const std::vector<Record>& records) {
  RecordReader reader(block.header(), block.payload());
  Record record;
  size_t i = 0;
  while (true) {
    take_hot(reader, [&](const HotRecord& hot) {
      ASSERT_LT(i, records.size());
      ExpectTheSame(hot, records[i++]);
    });
    if (!reader.Next(&record)) break;
    ASSERT_LT(i, records.size());
    ASSERT_EQ(record.kind, records[i].kind);
    ASSERT_EQ(record.tsc, records[i++].tsc);
  }
  EXPECT_EQ(i, records.size());
}

void ExpectTheSameHot(const SampleBlock& block, const std::vector<Record>& records) {
  const auto one_by_one = [](RecordReader& reader, auto&& take) {
    HotRecord hot;
    while (reader.NextHot(&hot)) take(hot);
  };
  const auto by_shifts = [](RecordReader& reader, auto&& take) { reader.TakeHotBy<JoinByShifts>(take); };
  const auto by_pext = [](RecordReader& reader, auto&& take) { reader.TakeHotBy<JoinByPext>(take); };
  ExpectTheSameBy(one_by_one, block, records);
  ExpectTheSameBy(by_shifts, block, records);
  if (HasPext()) ExpectTheSameBy(by_pext, block, records);
}

std::vector<Record> ReadAll(const SampleBlock& block) {
  RecordReader reader(block.header(), block.payload());
  std::vector<Record> records;
  Record record;
  while (reader.Next(&record)) records.push_back(record);
  EXPECT_FALSE(reader.damaged());
  EXPECT_EQ(records.size(), block.header().record_count);
  ExpectTheSameHot(block, records);
  return records;
}

TEST(CodecTest, AllocationsWithEveryCombinationOfFlagsComeBack) {
  SampleBlock block;
  std::vector<AllocRecord> expected;
  std::mt19937_64 random(1);
  uint64_t tsc = 1000;
  std::vector<uint64_t> times;
  for (int i = 0; i < 3000; ++i) {
    AllocRecord record;
    record.address = random() % 4 == 0 ? random() : 0x7f0000000000 + (random() % 100000) * 16;
    record.bytes = random() % 3 == 0 ? 10001 : random() >> (random() % 64);
    record.stack = random() % 2 == 0 ? 77 : static_cast<uint32_t>(random());
    record.is_realloc = random() % 5 == 0;
    const bool stamp = random() % 7 == 0;
    if (stamp) tsc += random() % 100000;
    ASSERT_TRUE(block.writer.Alloc(record, stamp ? tsc : 0));
    expected.push_back(record);
    times.push_back(tsc);
  }
  const std::vector<Record> records = ReadAll(block);
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].kind, RecordKind::kAlloc);
    EXPECT_EQ(records[i].alloc.address, expected[i].address);
    EXPECT_EQ(records[i].alloc.bytes, expected[i].bytes);
    EXPECT_EQ(records[i].alloc.stack, expected[i].stack);
    EXPECT_EQ(records[i].alloc.is_realloc, expected[i].is_realloc);
    EXPECT_EQ(records[i].tsc, times[i]);
  }
}

TEST(CodecTest, AllocAndFreeOfOneAddressCostFewBytes) {
  SampleBlock block;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(block.writer.Alloc({0x55550000u + 64u * static_cast<unsigned>(i), 48, 9, false}));
    ASSERT_TRUE(block.writer.Free({0x55550000u + 64u * static_cast<unsigned>(i), false}));
  }
  EXPECT_LT(block.payload().size(), 2000 * 3u);
}

TEST(CodecTest, AnAddressThatWasUsedLatelyIsOneByte) {
  SampleBlock block;
  std::vector<uint64_t> addresses;
  std::mt19937_64 random(5);
  for (int i = 0; i < 8; ++i) addresses.push_back(random() % (1u << 30) * 16 + (i == 7 ? 8 : 0));
  for (const uint64_t address : addresses) ASSERT_TRUE(block.writer.Alloc({address, 48, 9, false}));
  size_t before = block.payload().size();
  for (const uint64_t address : addresses) ASSERT_TRUE(block.writer.Free({address, false}));
  EXPECT_EQ(block.payload().size(), before + 2 * addresses.size());
  before = block.payload().size();
  for (const uint64_t address : addresses) ASSERT_TRUE(block.writer.Alloc({address, 48, 9, false}));
  EXPECT_EQ(block.payload().size(), before + 2 * addresses.size());
  const auto records = ReadAll(block);
  for (size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(records[8 + i].free.address, addresses[i]);
    EXPECT_EQ(records[16 + i].alloc.address, addresses[i]);
  }
}

TEST(CodecTest, FreesComeBack) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Free({0x1000, false}));
  ASSERT_TRUE(block.writer.Free({0x1003, true}, 5000));
  ASSERT_TRUE(block.writer.Free({0x10, false}));
  const auto records = ReadAll(block);
  EXPECT_EQ(records[0].free.address, 0x1000u);
  EXPECT_EQ(records[1].free.address, 0x1003u);
  EXPECT_TRUE(records[1].free.is_realloc);
  EXPECT_EQ(records[1].tsc, 5000u);
  EXPECT_TRUE(records[1].has_time);
  EXPECT_EQ(records[2].free.address, 0x10u);
  EXPECT_FALSE(records[2].has_time);
  EXPECT_EQ(records[2].tsc, 5000u);
}

TEST(CodecTest, AStackThatWasJustDefinedNeedsNoNumber) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Node({4000, 0, 7}));
  const size_t before = block.payload().size();
  ASSERT_TRUE(block.writer.Alloc({16, 100, 4000, false}));
  EXPECT_EQ(block.payload().size(), before + 3);  // tag, address, size
  EXPECT_EQ(ReadAll(block)[1].alloc.stack, 4000u);
}

TEST(CodecTest, PymallocEventsComeBackAndAreSmall) {
  SampleBlock block;
  std::mt19937 random(7);
  std::vector<AllocInRecord> allocs;
  for (uint32_t i = 0; i < 3000; ++i) {
    const uint64_t bytes = 16 + random() % 32 * 16 - random() % 3;
    const uint64_t address =
        0x7f0000000000 + bytes / 16 * 16384 + random() % 1024 * 16 + (random() % 100 == 0 ? 8 : 0);
    allocs.push_back({address, bytes, static_cast<uint32_t>(random() % 40)});
    ASSERT_TRUE(block.writer.AllocIn(allocs.back(), i % 32 == 0 ? 2000 + i : 0));
    ASSERT_TRUE(block.writer.FreeIn({address}));
  }
  EXPECT_LT(block.payload().size(), 2 * 3000 * 5u);
  const auto records = ReadAll(block);
  for (uint32_t i = 0; i < 3000; ++i) {
    const Record& alloc = records[2 * i];
    ASSERT_EQ(alloc.kind, RecordKind::kAllocIn);
    EXPECT_EQ(alloc.has_time, i % 32 == 0);
    EXPECT_EQ(alloc.tsc, 2000 + i / 32 * 32);
    EXPECT_EQ(alloc.alloc_in.address, allocs[i].address);
    EXPECT_EQ(alloc.alloc_in.bytes, allocs[i].bytes);
    EXPECT_EQ(alloc.alloc_in.stack, allocs[i].stack);
    ASSERT_EQ(records[2 * i + 1].kind, RecordKind::kFreeIn);
    EXPECT_EQ(records[2 * i + 1].free_in.address, allocs[i].address);
  }
}

TEST(CodecTest, EveryExtendedRecordComesBack) {
  SampleBlock block;
  BlockWriter& w = block.writer;
  const std::string nul("a\0b", 3);
  ASSERT_TRUE(w.Info("exe", nul));
  ASSERT_TRUE(w.Module({3, 0x400000, 0x401000, 0x2000, "/usr/lib/libtörch.so", "\x01\x02\xff"}));
  ASSERT_TRUE(w.ModuleGone(3));
  ASSERT_TRUE(w.Code({8, 0x030b, 57, "dataset.py", "Images.__getitem__", "\x80\x01"}));
  ASSERT_TRUE(w.PythonLocation({11, 8, 120}));
  ASSERT_TRUE(w.ThreadStart({4242, 1, 77, "loader"}));
  ASSERT_TRUE(w.ThreadEnd());
  ASSERT_TRUE(w.Map({0x7f0000000000, 1 << 20, 3, 0x22, MapKind::kAnonymous, 5}));
  ASSERT_TRUE(w.Unmap({0x7f0000001000, 4096}));
  ASSERT_TRUE(w.Remap({1, 2, 3, 4, 5}));
  ASSERT_TRUE(w.Break({0x5555, -4096, 6}));
  ASSERT_TRUE(w.Mark({MarkKind::kStep, MarkSource::kRecordFunction, 12, "Optimizer.step#AdamW.step"}));
  LedgerRecord ledger{};
  ledger.count = 2;
  ledger.fields[0] = {LedgerField::kRssAnonBytes, 123456789};
  ledger.fields[1] = {LedgerField::kOwnBytes, 1};
  ASSERT_TRUE(w.Ledger(ledger));
  ASSERT_TRUE(w.Drop({DropReason::kWrite, 10, 20}));
  ASSERT_TRUE(w.Rate({Mode::kDefault, 16384, 524288}));
  ASSERT_TRUE(w.Device({1, 2, 3, true, -1, 0xd000, 512, 7, 1024, 2048, 9, "cudaMalloc"}));
  ASSERT_TRUE(w.Tensor({0x1000, 4096}));
  ASSERT_TRUE(w.TensorGone(0x1000));
  ASSERT_TRUE(w.ReallocCancel());
  ASSERT_TRUE(w.Fork(99));
  ASSERT_TRUE(w.AllocIn({0x2000, 48, 3}));
  ASSERT_TRUE(w.FreeIn({0x2000}));
  ASSERT_TRUE(w.TotalsSnapshot({1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(w.FoldTotals({9, 256, 10001, 512, UINT64_MAX}));
  ASSERT_TRUE(w.CopiedPages("\x10\x03\x05\x01"));
  ASSERT_TRUE(w.Residency({RegionKind::kMap, 0x7f0000000000, uint64_t{1} << 30, 10001 * 4096, 123456789}));
  ASSERT_TRUE(w.HolderWalk({3, WalkReason::kRequest, WalkResult::kCutByMemory, 64, 1001919, 190000000,
                            50000000, 64, 60, 7, 70007, true, 12, uint64_t{1} << 30}));
  HolderPathWriter path;
  path.Add({SegmentKind::kModule, 0, "__main__"});
  path.Add({SegmentKind::kGlobal, 0, "cache"});
  path.Add({SegmentKind::kKey, 1, "pixel_values"});
  ASSERT_TRUE(w.Holder({3, 77, HolderEnd::kNativeBlock, 60, 64, 600060, 0x7f1000, 1240, 128, 2, 78, "dict",
                        "libleaky.so", path.bytes()}));
  ASSERT_TRUE(w.Attach({2, uint64_t{36720} * 1000000000, 3328599654, 20, 3, 4096, 1001, 101, 11, 868, 314, 2,
                        36000000, true}));

  const auto r = ReadAll(block);
  size_t i = 0;
  EXPECT_EQ(r[i].info.key, "exe");
  EXPECT_EQ(r[i++].info.value, nul);
  EXPECT_EQ(r[i].module.path, "/usr/lib/libtörch.so");
  EXPECT_EQ(r[i].module.begin, 0x401000u);
  EXPECT_EQ(r[i++].module.build_id, "\x01\x02\xff");
  EXPECT_EQ(r[i++].module_gone.module, 3u);
  EXPECT_EQ(r[i].code.first_line, 57u);
  EXPECT_EQ(r[i].code.python_version, 0x030b);
  EXPECT_EQ(r[i++].code.name, "Images.__getitem__");
  EXPECT_EQ(r[i].python_location.code, 8u);
  EXPECT_EQ(r[i++].python_location.offset, 120u);
  EXPECT_EQ(r[i].thread_start.creator_stack, 77u);
  EXPECT_EQ(r[i++].thread_start.name, "loader");
  EXPECT_EQ(r[i++].kind, RecordKind::kThreadEnd);
  EXPECT_EQ(r[i].map.kind, MapKind::kAnonymous);
  EXPECT_EQ(r[i++].map.bytes, 1u << 20);
  EXPECT_EQ(r[i++].unmap.bytes, 4096u);
  EXPECT_EQ(r[i].remap.old_address, 1u);
  EXPECT_EQ(r[i++].remap.new_bytes, 4u);
  EXPECT_EQ(r[i++].brk.change_bytes, -4096);
  EXPECT_EQ(r[i].mark.kind, MarkKind::kStep);
  EXPECT_EQ(r[i++].mark.name, "Optimizer.step#AdamW.step");
  EXPECT_EQ(r[i].ledger.count, 2u);
  EXPECT_EQ(r[i++].ledger.fields[0].value, 123456789u);
  EXPECT_EQ(r[i++].drop.events, 10u);
  EXPECT_EQ(r[i++].rate.sample_bytes, 524288u);
  EXPECT_EQ(r[i].device.device, -1);
  EXPECT_TRUE(r[i].device.graph);
  EXPECT_EQ(r[i++].device.api, "cudaMalloc");
  EXPECT_EQ(r[i++].tensor.bytes, 4096u);
  EXPECT_EQ(r[i++].kind, RecordKind::kTensorGone);
  EXPECT_EQ(r[i++].kind, RecordKind::kReallocCancel);
  EXPECT_EQ(r[i++].fork.child_pid, 99u);
  EXPECT_EQ(r[i++].alloc_in.bytes, 48u);
  EXPECT_EQ(r[i++].free_in.address, 0x2000u);
  EXPECT_EQ(r[i++].totals.totals.recorded_frees, 6u);
  EXPECT_EQ(r[i].fold_totals.alloc_bytes, 10001u);
  EXPECT_EQ(r[i].fold_totals.free_count_256, 512u);
  EXPECT_EQ(r[i++].fold_totals.free_bytes, UINT64_MAX);
  EXPECT_EQ(r[i].kind, RecordKind::kCopiedPages);
  EXPECT_EQ(r[i++].copied_pages.runs, "\x10\x03\x05\x01");
  EXPECT_EQ(r[i].residency.kind, RegionKind::kMap);
  EXPECT_EQ(r[i].residency.address, 0x7f0000000000u);
  EXPECT_EQ(r[i].residency.bytes, uint64_t{1} << 30);
  EXPECT_EQ(r[i].residency.resident_bytes, 10001u * 4096);
  EXPECT_EQ(r[i++].residency.birth_tsc, 123456789u);
  const HolderWalkRecord& walk = r[i++].holder_walk;
  EXPECT_EQ(walk.walk, 3u);
  EXPECT_EQ(walk.reason, WalkReason::kRequest);
  EXPECT_EQ(walk.result, WalkResult::kCutByMemory);
  EXPECT_EQ(walk.step, 64u);
  EXPECT_EQ(walk.objects, 1001919u);
  EXPECT_EQ(walk.elapsed_ns, 190000000u);
  EXPECT_EQ(walk.own_bytes, 50000000u);
  EXPECT_EQ(walk.targets_asked, 64u);
  EXPECT_EQ(walk.targets_found, 60u);
  EXPECT_EQ(walk.garbage_objects, 7u);
  EXPECT_EQ(walk.garbage_bytes, 70007u);
  EXPECT_TRUE(walk.gc_disabled);
  EXPECT_EQ(walk.frozen_objects, 12u);
  EXPECT_EQ(walk.limit, uint64_t{1} << 30);
  const HolderRecord& holder = r[i++].holder;
  EXPECT_EQ(holder.walk, 3u);
  EXPECT_EQ(holder.stack, 77u);
  EXPECT_EQ(holder.end, HolderEnd::kNativeBlock);
  EXPECT_EQ(holder.targets_found, 60u);
  EXPECT_EQ(holder.targets_asked, 64u);
  EXPECT_EQ(holder.bytes, 600060u);
  EXPECT_EQ(holder.container, 0x7f1000u);
  EXPECT_EQ(holder.container_length, 1240u);
  EXPECT_EQ(holder.container_bound, 128u);
  EXPECT_EQ(holder.container_segments, 2u);
  EXPECT_EQ(holder.native_stack, 78u);
  EXPECT_EQ(holder.container_type, "dict");
  EXPECT_EQ(holder.what, "libleaky.so");
  EXPECT_EQ(holder.path, path.bytes());
  const AttachRecord& attach = r[i++].attach;
  EXPECT_EQ(attach.number, 2u);
  EXPECT_EQ(attach.age_ns, uint64_t{36720} * 1000000000);
  EXPECT_EQ(attach.rss_anon_bytes, 3328599654u);
  EXPECT_EQ(attach.rss_file_bytes, 20u);
  EXPECT_EQ(attach.rss_shmem_bytes, 3u);
  EXPECT_EQ(attach.own_bytes, 4096u);
  EXPECT_EQ(attach.allocator_arena_bytes, 1001u);
  EXPECT_EQ(attach.allocator_free_bytes, 101u);
  EXPECT_EQ(attach.allocator_mmap_bytes, 11u);
  EXPECT_EQ(attach.words, 868u);
  EXPECT_EQ(attach.modules, 314u);
  EXPECT_EQ(attach.modules_left_out, 2u);
  EXPECT_EQ(attach.held_ns, 36000000u);
  EXPECT_TRUE(attach.program_imports);
  EXPECT_EQ(i, r.size());
}

TEST(CodecTest, FoldRowsAreRaisedInPlace) {
  SampleBlock block;
  FoldRow* const first = block.writer.FoldTableRow(0);
  FoldRow* const second = block.writer.FoldTableRow(77);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  second->alloc_count_256 = 256 * 300;
  second->alloc_bytes = 3000300;
  const auto records = ReadAll(block);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, RecordKind::kFoldRow);
  EXPECT_EQ(records[1].fold_totals.stack, 77u);
  EXPECT_EQ(records[1].fold_totals.alloc_count_256, 256u * 300);
  EXPECT_EQ(records[1].fold_totals.alloc_bytes, 3000300u);
  EXPECT_EQ(records[1].fold_totals.free_bytes, 0u);
}

TEST(CodecTest, UnknownKindsAreSkippedAndCounted) {
  SampleBlock block;
  ASSERT_TRUE(block.writer.Ext(30, "from the future"));
  ASSERT_TRUE(block.writer.Ext(4711, std::string(300, 'x')));
  ASSERT_TRUE(block.writer.Free({0x40, false}));
  RecordReader reader(block.header(), block.payload());
  Record record;
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.kind, RecordKind::kUnknown);
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.unknown_kind, 4711u);
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.free.address, 0x40u);
  EXPECT_EQ(reader.unknown_records(), 2u);
}

TEST(CodecTest, FieldsAppendedByALaterVersionAreIgnored) {
  SampleBlock block;
  std::string fork_with_more = "\x63";
  fork_with_more += "\x01\x02\x03";
  ASSERT_TRUE(block.writer.Ext(static_cast<uint32_t>(ExtKind::kFork), fork_with_more));
  ASSERT_TRUE(block.writer.Time(2000));
  const auto records = ReadAll(block);
  EXPECT_EQ(records[0].fork.child_pid, 99u);
  EXPECT_EQ(records[1].tsc, 2000u);
}

TEST(CodecTest, LongStringsAreCutNotRefused) {
  SampleBlock block;
  const std::string huge(1 << 20, 'p');
  ASSERT_TRUE(block.writer.Code({1, 0x030c, 1, huge, huge, huge}));
  const auto records = ReadAll(block);
  EXPECT_EQ(records[0].code.file.size(), kMaxNameBytes);
  EXPECT_EQ(records[0].code.line_table.size(), kMaxLineTableBytes);
}

TEST(CodecTest, TimeNeverRunsBackwards) {
  SampleBlock block(1, 0, 5000);
  ASSERT_TRUE(block.writer.Time(4000));
  ASSERT_TRUE(block.writer.Time(6000));
  const auto records = ReadAll(block);
  EXPECT_EQ(records[0].tsc, 5000u);
  EXPECT_EQ(records[1].tsc, 6000u);
}

TEST(CodecTest, FullBlockRefusesAndStaysReadable) {
  SampleBlock block(1, 0, 1000, 4096);
  uint32_t accepted = 0;
  while (block.writer.Alloc({accepted * 16u, accepted, accepted, false})) ++accepted;
  EXPECT_GT(accepted, 300u);
  const size_t bytes = block.payload().size();
  EXPECT_FALSE(block.writer.Alloc({1, 2, 3, false}));
  EXPECT_FALSE(block.writer.Info("key", std::string(50, 'v')));
  EXPECT_EQ(block.payload().size(), bytes);
  EXPECT_EQ(ReadAll(block).size(), accepted);
}

TEST(CodecTest, EveryCommittedLengthIsAWholeNumberOfRecords) {
  SampleBlock block;
  std::vector<uint32_t> committed = {0};
  for (uint32_t i = 0; i < 200; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(block.writer.Mark({MarkKind::kNote, MarkSource::kExplicit, i, "note"}));
    } else {
      ASSERT_TRUE(block.writer.Alloc({i * 32u, i * 1001u, i, false}, 1000 + i));
    }
    committed.push_back(block.header().payload_bytes);
  }
  for (size_t n = 0; n < committed.size(); ++n) {
    RecordReader reader(block.header(), block.payload().substr(0, committed[n]));
    Record record;
    size_t records = 0;
    while (reader.Next(&record)) ++records;
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(records, n);
  }
}

}  // namespace
}  // namespace plateau::trace
