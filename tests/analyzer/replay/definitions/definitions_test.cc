#include "analyzer/replay/definitions/definitions.h"

#include <gtest/gtest.h>

#include "tests/support/trace_text.h"

namespace plateau::replay {
namespace {

Definitions Collect(std::string_view text, int threads = 2) {
  const std::string path = testing::WriteTemporary("definitions.plt", testing::TraceFromText(text));
  const auto reader = reader::TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *CollectDefinitions(**reader, threads);
}

TEST(DefinitionsTest, DefinitionsOfLaterBlocksAndOtherStreamsAreFound) {
  const Definitions d = Collect(R"(
stream 1
alloc address=0x10 bytes=10001 stack=2
seal
node node=1 parent=0 location=5
stream 2
node node=2 parent=1 location=6
pc location=6 module=3 offset=0x40
module module=3 base=0x1000 begin=0x1000 bytes=4096 path="/opt/train" build_id=abcd
python_location location=5 code=1 offset=12
code code=1 python=0x30b line=10 file="train.py" name="main"
info key="exe" value="/opt/train"
thread_start thread=77 name="loader"
)");
  EXPECT_EQ(d.nodes[2].parent, 1u);
  EXPECT_EQ(d.modules[3].path, "/opt/train");
  EXPECT_EQ(d.modules[3].build_id, "\xab\xcd");
  EXPECT_EQ(d.locations[6].kind, Location::Kind::kNative);
  EXPECT_EQ(d.locations[5].kind, Location::Kind::kPython);
  EXPECT_EQ(d.codes[1].file, "train.py");
  EXPECT_EQ(d.Info("exe"), "/opt/train");
  ASSERT_EQ(d.threads.size(), 1u);
  EXPECT_EQ(d.threads[0].stream, 2u);
  EXPECT_EQ(d.event_count, 1u);
}

TEST(DefinitionsTest, NodesOfTheSamePathBecomeOne) {
  // 3 repeats 1, and 4 under 3 repeats 2 under 1; 5 is another path. Parents may have larger numbers than
  // children.
  const Definitions d = Collect(R"(
node node=2 parent=9 location=6
node node=9 parent=0 location=5
node node=3 parent=0 location=5
node node=4 parent=3 location=6
node node=5 parent=3 location=7
)");
  EXPECT_EQ(d.Canonical(9), d.Canonical(3));
  EXPECT_EQ(d.Canonical(2), d.Canonical(4));
  EXPECT_NE(d.Canonical(5), d.Canonical(4));
  EXPECT_EQ(d.Canonical(1000), 0u);
}

TEST(DefinitionsTest, MarksOfTheSameCallerHaveOneValue) {
  const Definitions d = Collect(R"(
node node=1 parent=0 location=5
node node=3 parent=0 location=5
node node=4 parent=0 location=6
@100 mark kind=step source=record_function value=1
@200 mark kind=step source=record_function value=3
@300 mark kind=step source=record_function value=4
@400 mark kind=explicit_step source=explicit value=3
@500 mark kind=step source=record_function value=77
)");
  ASSERT_EQ(d.marks.size(), 5u);
  EXPECT_EQ(d.marks[0].value, d.marks[1].value);
  EXPECT_NE(d.marks[0].value, d.marks[2].value);
  EXPECT_EQ(d.marks[3].value, 3u);   // the program's own number
  EXPECT_EQ(d.marks[4].value, 77u);  // a stack that was lost
}

TEST(DefinitionsTest, ALineOfPythonIsOneCallerWhateverTheInterpreterDoesBeneathIt) {
  const Definitions d = Collect(R"(
code code=1 python=3012 line=1 file="/home/user/loop.py" name="train"
python_location location=1 code=1 offset=14
python_location location=2 code=1 offset=24
pc location=3 module=0 offset=0x1000
pc location=4 module=0 offset=0x2000
node node=1 parent=0 location=1
node node=2 parent=1 location=3
node node=3 parent=1 location=4
node node=4 parent=0 location=2
node node=5 parent=4 location=3
@100 mark kind=step source=record_function value=2
@200 mark kind=step source=record_function value=3
@300 mark kind=step source=record_function value=5
)");
  ASSERT_EQ(d.marks.size(), 3u);
  EXPECT_EQ(d.marks[0].value, 1u);
  EXPECT_EQ(d.marks[1].value, 1u);
  EXPECT_EQ(d.marks[2].value, 4u);
}

TEST(DefinitionsTest, DropRecordsAreCountedWhenTheHeaderIsSilent) {
  const Definitions d = Collect(R"(
stream 1
drop reason=write_failed events=200 bytes=9000
seal
drop reason=write_failed events=50 bytes=1000
stream 2
drop reason=reentrant events=7 bytes=70
)");
  EXPECT_EQ(d.summary.dropped_events[static_cast<size_t>(trace::DropReason::kWrite)], 250u);
  EXPECT_EQ(d.summary.TotalDroppedEvents(), 257u);
  EXPECT_EQ(d.summary.TotalDroppedBytes(), 10070u);
  EXPECT_EQ(d.summary.Sentences().size(), 2u);
}

TEST(DefinitionsTest, DropsOfHeaderAndRecordsAreTheSameDrops) {
  const Definitions d = Collect(R"(
header dropped_write=250 dropped_write_bytes=500
drop reason=write_failed events=200 bytes=9000
)");
  EXPECT_EQ(d.summary.TotalDroppedEvents(), 250u);
  EXPECT_EQ(d.summary.TotalDroppedBytes(), 9000u);
}

TEST(DefinitionsTest, CopiedPagesOfAllRecordsAddUp) {
  // Pages 16-18 and 24; then 17-20 again with more, and a record that is cut inside a number.
  const Definitions d = Collect(R"(
copied_pages runs=10030501
seal
copied_pages runs=1104
copied_pages runs=4002ff
)");
  ASSERT_EQ(d.copied_pages.size(), 3u);
  EXPECT_EQ(d.copied_pages[0].first, 16u);
  EXPECT_EQ(d.copied_pages[0].count, 5u);
  EXPECT_EQ(d.copied_pages[1].first, 24u);
  EXPECT_EQ(d.copied_pages[1].count, 1u);
  EXPECT_EQ(d.copied_pages[2].first, 64u);
  EXPECT_EQ(d.copied_pages[2].count, 2u);
}

TEST(DefinitionsTest, CycleOfNodesIsCut) {
  const Definitions d = Collect("node node=1 parent=2 location=5\nnode node=2 parent=1 location=6\n");
  for (uint32_t node = d.Canonical(1), depth = 0; node != 0; node = d.nodes[node].parent)
    ASSERT_LT(++depth, 10u);
}

TEST(DefinitionsTest, MarksAndLedgerAreOrderedByTime) {
  const Definitions d = Collect(R"(
stream 1
@300 mark kind=step value=2
stream 2
@100 mark kind=step value=1
@50 ledger rss_anon=5
@150 ledger rss_anon=6
)");
  ASSERT_EQ(d.marks.size(), 2u);
  EXPECT_EQ(d.marks[0].value, 1u);
  ASSERT_EQ(d.ledger.size(), 2u);
  EXPECT_EQ(d.ledger[1].fields.at(trace::LedgerField::kRssAnonBytes), 6u);
}

TEST(DefinitionsTest, HugeIdsDoNotEatTheMemory) {
  const Definitions d =
      Collect("node node=4294967290 parent=4294967289 location=4294967288\npc location=4294967000\n");
  EXPECT_LT(d.nodes.size(), 1000u);
  EXPECT_LT(d.locations.size(), 1000u);
}

}  // namespace
}  // namespace plateau::replay
