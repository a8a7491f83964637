// Blocks that the first pass does not read, as far as their headers can be believed.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"
#include "preload/trace/checksum.h"
#include "preload/trace/format.h"
#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

using trace::BlockHeader;

// Both passes over a file.
struct Passes {
  Definitions definitions;
  ReplayResult replay;

  reader::ReadSummary Summary() const {
    reader::ReadSummary sum = definitions.summary;
    sum.Add(replay.damage);
    return sum;
  }
};

Passes Read(const std::string& file, int threads = 1) {
  const auto reader = reader::TraceReader::Open(testing::WriteTemporary("heap_only.plt", file));
  EXPECT_TRUE(reader.ok()) << reader.status();
  Passes passes;
  passes.definitions = *CollectDefinitions(**reader, threads);
  ReplayOptions options;
  options.threads = threads;
  options.site_of = [](Pool, uint32_t node) { return node; };
  passes.replay = ReplayHeap(**reader, passes.definitions, options);
  return passes;
}

// Changes what the header of every block says, or its payload, and seals it again.
template <typename Change>
std::string Resealed(std::string file, Change&& change) {
  for (size_t at = trace::kHeaderBytes; at + sizeof(BlockHeader) <= file.size(); at += trace::kBlockAlign) {
    BlockHeader header;
    std::memcpy(&header, file.data() + at, sizeof(header));
    if (header.magic != trace::kBlockMagic) continue;
    char* const payload = file.data() + at + sizeof(header);
    change(&header, payload);
    header.crc32c = 0;
    header.crc32c = trace::Crc32c(trace::Crc32c(0, &header, sizeof(header)), payload, header.payload_bytes);
    std::memcpy(file.data() + at, &header, sizeof(header));
  }
  return file;
}

void SayHeapOnly(BlockHeader* header, const char*) { header->flags |= trace::kBlockHeapOnly; }
void SayNothing(BlockHeader* header, const char*) { header->flags = 0; }

// Three blocks: definitions, events, events.
constexpr char kText[] = R"(
node node=1 parent=0 location=5
pc location=5 module=1 offset=64
@1000 alloc address=0x10000 bytes=10001 stack=1
seal
@2000 alloc address=0x20000 bytes=10002 stack=1
@2500 map address=0x700000 bytes=8192 kind=anonymous prot=3 stack=1
@2600 free address=0x20000
seal
@3000 alloc address=0x30000 bytes=10003 stack=1
@9000 time
seal
)";

TEST(HeapOnlyBlocksTest, AreCountedAsIfTheFirstPassHadReadThem) {
  const std::string file = testing::TraceFromText(kText);
  const Passes all_read = Read(Resealed(file, SayNothing));
  for (const int threads : {1, 3}) {
    const Passes passes = Read(file, threads);
    EXPECT_EQ(passes.definitions.summary.records, all_read.definitions.summary.records);
    EXPECT_EQ(passes.definitions.first_tsc, all_read.definitions.first_tsc);
    EXPECT_EQ(passes.definitions.last_tsc, 9000u);
    EXPECT_EQ(passes.definitions.last_tsc, all_read.definitions.last_tsc);
    EXPECT_EQ(passes.replay.events, all_read.replay.events);
    ASSERT_EQ(passes.replay.stacks.size(), all_read.replay.stacks.size());
    EXPECT_EQ(passes.replay.peak_bytes, all_read.replay.peak_bytes);
    EXPECT_FALSE(passes.Summary().HasDamage());
  }
  EXPECT_FALSE(all_read.Summary().HasDamage());
}

TEST(HeapOnlyBlocksTest, DefinitionsThatTheHeaderDeniesAreDamageAndTheEventsStillCount) {
  const Passes passes = Read(Resealed(testing::TraceFromText(kText), SayHeapOnly));
  EXPECT_FALSE(passes.definitions.summary.HasDamage());  // nobody has looked yet
  const reader::ReadSummary summary = passes.Summary();
  EXPECT_EQ(summary.damaged_records, 1u);
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_NE(summary.notes[0].find("2 records that its header says are not there; they are not used"),
            std::string::npos)
      << summary.notes[0];
  EXPECT_EQ(passes.definitions.nodes.size(), 1u);  // the root
  EXPECT_EQ(passes.replay.live_objects, 2u);
}

TEST(HeapOnlyBlocksTest, ARecordThatCannotBeReadIsCountedWithTheSameNote) {
  // The last record of the last block becomes one whose number does not end.
  const auto damage = [](BlockHeader* header, char* payload) {
    if (header->seq == 2) payload[header->payload_bytes - 1] = '\x80';
  };
  const std::string file = Resealed(testing::TraceFromText(kText), damage);
  const reader::ReadSummary by_second = Read(file).Summary();
  const reader::ReadSummary by_first = Read(Resealed(file, SayNothing)).Summary();
  EXPECT_EQ(by_first.damaged_records, 1u);
  EXPECT_EQ(by_second.damaged_records, 1u);
  EXPECT_EQ(by_second.notes, by_first.notes);
}

TEST(HeapOnlyBlocksTest, APackedOneThatCannotBeUnpackedIsCountedWithTheSameNote) {
  const auto garbage = [](BlockHeader* header, const char*) {
    if (header->seq == 1) header->type = trace::BlockType::kColumns;
  };
  const std::string file = Resealed(testing::TraceFromText(kText), garbage);
  const reader::ReadSummary by_second = Read(file).Summary();
  const reader::ReadSummary by_first = Read(Resealed(file, SayNothing)).Summary();
  EXPECT_EQ(by_first.damaged_blocks, 1u);
  EXPECT_EQ(by_second.damaged_blocks, 1u);
  EXPECT_EQ(by_second.damaged_bytes, by_first.damaged_bytes);
  EXPECT_EQ(by_second.notes, by_first.notes);
}

TEST(HeapOnlyBlocksTest, AWrongNumberOfRecordsAloneIsNoDamage) {
  const auto miscount = [](BlockHeader* header, const char*) { ++header->record_count; };
  EXPECT_FALSE(Read(Resealed(testing::TraceFromText(kText), miscount)).Summary().HasDamage());
}

TEST(HeapOnlyBlocksTest, AnOpenBlockIsReadWhateverItsFlagsSay) {
  std::string file = testing::TraceFromText(std::string(kText) + "node node=2 parent=1 location=5\nopen\n");
  for (size_t at = trace::kHeaderBytes; at + sizeof(BlockHeader) <= file.size(); at += trace::kBlockAlign) {
    BlockHeader header;
    std::memcpy(&header, file.data() + at, sizeof(header));
    if (header.magic != trace::kBlockMagic || !(header.flags & trace::kBlockOpen)) continue;
    file[at + offsetof(BlockHeader, flags)] = trace::kBlockOpen | trace::kBlockHeapOnly;
  }
  const Passes passes = Read(file);
  EXPECT_EQ(passes.definitions.nodes[2].parent, 1u);
  EXPECT_FALSE(passes.Summary().HasDamage());
}

}  // namespace
}  // namespace plateau::replay
