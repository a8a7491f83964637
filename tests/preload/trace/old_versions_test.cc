// Bytes that earlier versions wrote are read as they were meant.
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "preload/trace/decoder.h"

namespace plateau::trace {
namespace {

// Bytes that version 1 wrote: a NODE did not move the base of stack deltas, pymalloc had extended records.
TEST(OldVersionsTest, BlocksOfVersion1AreRead) {
  static constexpr char kPayload[] =
      "\x0b\x02\x0a"          // NODE 1, location 5
      "\x1b\x02"              // NODE 2 of 1, location 6
      "\x01\x80\x14\x64\x04"  // ALLOC 0x5000, 100 bytes, stack 2
      "\x1b\xec\x0a"          // NODE 3 of 2, location 700
      "\x99\x04\xf4\x03"      // ALLOC 0x5020, same size, same stack, at 1500
      "\x01\x04\x40\x02"      // ALLOC 0x5040, 64 bytes, stack 3
      "\x05\x64"              // TIME 1600
      "\xa8\x8a\x80\x00\x01\x80\xa0\x80\x80\x80\xe0\x1f\x30\x03"  // ALLOC_IN
      "\xb0\x88\x80\x00\x01\x80\xa0\x80\x80\x80\xe0\x1f"          // FREE_IN
      "\x02\x07";                                                 // FREE 0x5000
  BlockHeader header{};
  header.first_tsc = 1000;
  header.delta_rules = DeltaRules::kVersion1;
  RecordReader reader(header, {kPayload, sizeof(kPayload) - 1});
  std::vector<Record> r;
  for (Record record; reader.Next(&record);) r.push_back(record);
  ASSERT_FALSE(reader.damaged());
  ASSERT_EQ(r.size(), 10u);
  EXPECT_EQ(r[2].alloc.stack, 2u);
  EXPECT_EQ(r[4].alloc.stack, 2u);
  EXPECT_EQ(r[4].alloc.address, 0x5020u);
  EXPECT_EQ(r[4].tsc, 1500u);
  EXPECT_EQ(r[5].alloc.stack, 3u);
  EXPECT_EQ(r[7].alloc_in.address, 0x7f0000001000u);
  EXPECT_EQ(r[7].alloc_in.stack, 3u);
  EXPECT_EQ(r[8].free_in.address, 0x7f0000001000u);
  EXPECT_EQ(r[9].free.address, 0x5000u);
}

// Bytes that version 2 wrote: nodes with flags, all PYTHON_LOCATIONs extended, unaligned addresses in bytes.
TEST(OldVersionsTest, BlocksOfVersion2AreRead) {
  static constexpr char kPayload[] =
      "\x04\x0e\x01\xe8\x48"                  // PC 7 = module 1 + 0x1234
      "\x28\x84\x80\x00\x08\x03\x78\x00"      // PYTHON_LOCATION 8 = code 3 + 120
      "\x03\xc8\x01\xc8\x01\x0e"              // NODE 100 of the root, location 7
      "\x1b\x02\x1b\x02"                      // NODE 101 of 100, 8; NODE 102 of 101, 9
      "\x0b\xce\x01\x03"                      // NODE 103 of the root, 7
      "\x7b"                                  // a run of two: 104, 8 and 105, 9
      "\x0b\x06\x04"                          // NODE 106 of 103, 11
      "\x0b\xd6\x01\x07\x1b\x06"              // NODE 107 of the root, 7; NODE 108 of 107, 10
      "\x0b\xda\x01\x05\x5b"                  // NODE 109; NODE 110 of 109 by the second guess, 8
      "\x11\x80\x14\x64"                      // ALLOC 0x5000, 100 bytes, the same stack
      "\xe9\x10\x09\xf4\x03"                  // ALLOC 0x5008, stack 105, realloc, at 1500
      "\x0a\x0f"                              // FREE 0x5000
      "\x16\x30\x80\x84\x80\x80\x80\xfc\x03"  // ALLOC_IN of 48 bytes
      "\x27\x00\x64";                         // FREE_IN at 1600
  BlockHeader header{};
  header.first_tsc = 1000;
  header.delta_rules = DeltaRules::kVersion2;
  RecordReader reader(header, {kPayload, sizeof(kPayload) - 1});
  std::vector<Record> r;
  for (Record record; reader.Next(&record);) r.push_back(record);
  ASSERT_FALSE(reader.damaged());
  ASSERT_EQ(r.size(), 18u);
  EXPECT_EQ(r[0].pc.offset, 0x1234u);
  EXPECT_EQ(r[1].python_location.location, 8u);
  EXPECT_EQ(r[1].python_location.offset, 120u);
  const NodeRecord nodes[] = {{100, 0, 7},    {101, 100, 8}, {102, 101, 9},  {103, 0, 7},
                              {104, 103, 8},  {105, 104, 9}, {106, 103, 11}, {107, 0, 7},
                              {108, 107, 10}, {109, 0, 7},   {110, 109, 8}};
  for (size_t i = 0; i < std::size(nodes); ++i) {
    ASSERT_EQ(r[2 + i].kind, RecordKind::kNode) << i;
    EXPECT_EQ(r[2 + i].node.node, nodes[i].node) << i;
    EXPECT_EQ(r[2 + i].node.parent, nodes[i].parent) << i;
    EXPECT_EQ(r[2 + i].node.location, nodes[i].location) << i;
  }
  EXPECT_EQ(r[13].alloc.address, 0x5000u);
  EXPECT_EQ(r[13].alloc.stack, 110u);
  EXPECT_EQ(r[14].alloc.address, 0x5008u);
  EXPECT_EQ(r[14].alloc.stack, 105u);
  EXPECT_EQ(r[14].tsc, 1500u);
  EXPECT_EQ(r[15].free.address, 0x5000u);
  EXPECT_EQ(r[16].alloc_in.address, 0x7f0000001000u);
  EXPECT_EQ(r[16].alloc_in.stack, 105u);
  EXPECT_EQ(r[17].free_in.address, 0x7f0000001000u);
  EXPECT_EQ(r[17].tsc, 1600u);
}

}  // namespace
}  // namespace plateau::trace
