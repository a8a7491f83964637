// Blocks say whether anything in them must be known before the heap is replayed.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "preload/trace/encoder.h"
#include "tests/support/sample_block.h"

namespace plateau::trace {
namespace {

bool IsSealedHeapOnly(const SampleBlock& block) {
  BlockHeader header;
  std::memcpy(&header, block.Sealed().data(), sizeof(header));
  return IsHeapOnly(header);
}

void AddEvents(BlockWriter* writer) {
  ASSERT_TRUE(writer->Alloc({0x1000, 10001, 7, false}, 2000));
  ASSERT_TRUE(writer->Free({0x1000, false}));
}

using Write = std::function<bool(BlockWriter&)>;

TEST(HeapOnlyTest, EventsOfTheHeapLeaveABlockHeapOnly) {
  SampleBlock block;
  BlockWriter& w = block.writer;
  AddEvents(&w);
  ASSERT_TRUE(w.FreeIn({0x2000}, 3000));
  ASSERT_TRUE(w.Time(3000));
  ASSERT_TRUE(w.Map({0x10000, 4096, 3, 34, MapKind::kAnonymous, 7}));
  ASSERT_TRUE(w.Unmap({0x10000, 4096}));
  ASSERT_TRUE(w.Remap({0x10000, 4096, 0x20000, 8192, 7}));
  ASSERT_TRUE(w.Break({0x30000, 4096, 7}));
  ASSERT_TRUE(w.Device({}));
  ASSERT_TRUE(w.Tensor({0x1000, 64}));
  ASSERT_TRUE(w.TensorGone(0x1000));
  ASSERT_TRUE(w.ReallocCancel());
  EXPECT_TRUE(IsSealedHeapOnly(block));
}

TEST(HeapOnlyTest, AnyOtherRecordMakesTheBlockOneThatIsReadFirst) {
  const std::vector<std::pair<const char*, Write>> others = {
      {"alloc_in",
       [](BlockWriter& w) {
         return w.AllocIn({0x2000, 32, 7});
       }},
      {"node",
       [](BlockWriter& w) {
         return w.Node({1, 0, 1});
       }},
      {"pc",
       [](BlockWriter& w) {
         return w.Pc({1, 1, 64});
       }},
      {"python location",
       [](BlockWriter& w) {
         return w.PythonLocation({1, 1, 2});
       }},
      {"info", [](BlockWriter& w) { return w.Info("exe", "/opt/train"); }},
      {"module",
       [](BlockWriter& w) {
         return w.Module({1, 0, 0, 4096, "/opt/train", ""});
       }},
      {"code",
       [](BlockWriter& w) {
         return w.Code({1, 0x30b, 1, "train.py", "main", ""});
       }},
      {"thread_start",
       [](BlockWriter& w) {
         return w.ThreadStart({7, 1, 0, "loader"});
       }},
      {"mark",
       [](BlockWriter& w) {
         return w.Mark({MarkKind::kStep, MarkSource::kExplicit, 1, ""});
       }},
      {"ledger", [](BlockWriter& w) { return w.Ledger({}); }},
      {"drop",
       [](BlockWriter& w) {
         return w.Drop({DropReason::kLimit, 1, 10001});
       }},
      {"rate",
       [](BlockWriter& w) {
         return w.Rate({Mode::kDefault, 16384, 524288});
       }},
      {"copied_pages", [](BlockWriter& w) { return w.CopiedPages("\x01\x02"); }},
      {"residency",
       [](BlockWriter& w) {
         return w.Residency({RegionKind::kBlock, 0x10, 1 << 20, 4096, 7});
       }},
      {"fork", [](BlockWriter& w) { return w.Fork(99); }},
      {"fold row", [](BlockWriter& w) { return w.FoldTableRow(7) != nullptr; }},
      {"a later kind", [](BlockWriter& w) { return w.Ext(29, "from the future"); }},
  };
  for (const auto& [name, write] : others) {
    SampleBlock block;
    AddEvents(&block.writer);
    ASSERT_TRUE(write(block.writer)) << name;
    AddEvents(&block.writer);
    EXPECT_FALSE(IsSealedHeapOnly(block)) << name;
  }
}

TEST(HeapOnlyTest, AnOpenBlockPromisesNothing) {
  SampleBlock block;
  AddEvents(&block.writer);
  EXPECT_FALSE(IsHeapOnly(block.header()));
}

TEST(HeapOnlyTest, TheNextBlockBeginsAnew) {
  BlockHeader header{};
  std::vector<uint8_t> payload(4096);
  BlockWriter writer;
  writer.Start(&header, payload.data(), payload.size(), 1, 0, 1000);
  ASSERT_TRUE(writer.Node({1, 0, 1}));
  EXPECT_FALSE(IsHeapOnly(SealedHeader(header, payload.data(), 2000)));
  writer.Start(&header, payload.data(), payload.size(), 1, 1, 2000);
  AddEvents(&writer);
  EXPECT_TRUE(IsHeapOnly(SealedHeader(header, payload.data(), 3000)));
}

}  // namespace
}  // namespace plateau::trace
