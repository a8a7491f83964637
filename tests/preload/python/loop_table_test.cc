#include "preload/python/loop_table.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace plateau::python {
namespace {

// shim_test.py compares with dis on every interpreter; here is what no interpreter makes.
std::string Loops(unsigned minor, const std::vector<uint8_t>& code, size_t capacity = 2048) {
  std::vector<char> buffer(capacity + 1, '\x55');
  const std::string result(FindLoops(minor, code.data(), code.size() / 2, buffer.data(), capacity));
  EXPECT_EQ(buffer[capacity], '\x55');
  return result;
}

constexpr uint8_t kNop = 9, kForIter12 = 93, kBackward12 = 140, kLine12 = 254, kPopExcept = 89,
                  kExtended = 144;

TEST(LoopTableTest, AForLoopGoesFromItsIteratorToItsJump) {
  // FOR_ITER with one cache, NOP, JUMP_BACKWARD by four.
  EXPECT_EQ(Loops(12, {kNop, 0, kForIter12, 2, 0, 0, kNop, 0, kBackward12, 4, kNop, 0}),
            std::string("\x01\x01\x03", 3));
}

TEST(LoopTableTest, CachesAreNoInstructions) {
  EXPECT_EQ(Loops(12, {kForIter12, 2, kBackward12, 1, kNop, 0}), std::string("\0", 1));
}

TEST(LoopTableTest, AJumpOutOfAHandlerIsNoLoop) {
  EXPECT_EQ(Loops(12, {kNop, 0, kNop, 0, kPopExcept, 0, kBackward12, 3}), std::string("\0", 1));
}

TEST(LoopTableTest, AHandlerInsideALoopMayGoBackToItsHead) {
  EXPECT_EQ(Loops(12, {kNop, 0, kBackward12, 2, kPopExcept, 0, kBackward12, 4}),
            std::string("\x01\0\x03", 3));
}

TEST(LoopTableTest, ExtendedArgumentsReachFarBack) {
  std::vector<uint8_t> code(2 * 300, 0);
  for (size_t i = 0; i < code.size(); i += 2) code[i] = kNop;
  code.insert(code.end(), {kExtended, 1, kBackward12, 0x2e});  // 302 units from behind it: the begin
  EXPECT_EQ(Loops(12, code), std::string("\x01\0\xad\x02", 4));
}

TEST(LoopTableTest, AbsoluteJumpsOfOlderVersionsCountBytesOrUnits) {
  EXPECT_EQ(Loops(8, {kNop, 0, kNop, 0, 113, 2}), std::string("\x01\x01\x01", 3));
  EXPECT_EQ(Loops(10, {kNop, 0, kNop, 0, 113, 1}), std::string("\x01\x01\x01", 3));
}

TEST(LoopTableTest, HiddenInstructionsAndOtherVersionsAreNotKnown) {
  EXPECT_EQ(Loops(12, {kNop, 0, kLine12, 0, kBackward12, 2}), "");
  EXPECT_EQ(Loops(7, {kNop, 0}), "");
  EXPECT_EQ(Loops(14, {kNop, 0}), "");
  EXPECT_EQ(Loops(12, {kBackward12, 9}), "");  // before the code
}

TEST(LoopTableTest, WhatDoesNotFitIsNotKnown) { EXPECT_EQ(Loops(12, {kNop, 0, kBackward12, 2}, 8), ""); }

TEST(LoopTableTest, AnyBytesAreReadInsideTheirBounds) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> code(2 * (random() % 40));
    for (uint8_t& byte : code) byte = static_cast<uint8_t>(random());
    Loops(8 + random() % 7, code, 1 + random() % 2048);
  }
}

}  // namespace
}  // namespace plateau::python
