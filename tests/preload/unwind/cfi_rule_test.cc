#include "preload/unwind/cfi_rule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "preload/unwind/dwarf_expression.h"
#include "tests/preload/unwind/eh_frame_builder.h"

namespace plateau::unwind {
namespace {

using Bytes = EhFrameBuilder::Bytes;

constexpr int32_t kCode = 0x10000;

// The row of an address (an offset from the image's start), and its rule.
struct Lookup {
  CfiStatus status;
  CfiRow row;
  CfiRule rule;
};
Lookup Find(const Bytes& image, int32_t address) {
  Lookup result;
  const ByteSpan readable{image.data(), image.data() + image.size()};
  const auto absolute = reinterpret_cast<uintptr_t>(image.data()) + static_cast<uintptr_t>(intptr_t{address});
  result.status = FindCfiRow(readable, image.data(), absolute, &result.row);
  if (result.status == CfiStatus::kFound) result.rule = RuleFromRow(result.row, absolute);
  return result;
}
CfiRule RuleOf(const Bytes& program, int32_t offset = 0x20) {
  EhFrameBuilder builder;
  builder.AddFunction(kCode, 0x100, program);
  const Lookup result = Find(builder.Build(), kCode + offset);
  EXPECT_EQ(result.status, CfiStatus::kFound);
  return result.rule;
}

TEST(CfiRuleTest, PrologueIsFollowedInstructionByInstruction) {
  // push %rbp at 0, mov %rsp,%rbp at 1, ... leave at 0x30, ret at 0x31
  const Bytes program = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x40 | 0x2d, 0x0c, 7, 8};
  CfiRule rule = RuleOf(program, 0);
  EXPECT_EQ(rule.kind, RuleKind::kRsp);
  EXPECT_EQ(rule.cfa_offset, 8);
  EXPECT_EQ(rule.rbp_slot, 0);
  rule = RuleOf(program, 1);
  EXPECT_EQ(rule.kind, RuleKind::kRsp);
  EXPECT_EQ(rule.cfa_offset, 16);
  EXPECT_EQ(rule.rbp_slot, -2);
  rule = RuleOf(program, 4);
  EXPECT_EQ(rule.kind, RuleKind::kRbp);
  EXPECT_EQ(rule.cfa_offset, 16);
  rule = RuleOf(program, 0x31);
  EXPECT_EQ(rule.kind, RuleKind::kRsp);
  EXPECT_EQ(rule.cfa_offset, 8);
}

TEST(CfiRuleTest, RememberedStateComesBack) {
  const Bytes program = {0x0e, 32, 0x0a, 0x44, 0x0e, 8, 0x44, 0x0b, 0x41, 0x0e, 64};
  EXPECT_EQ(RuleOf(program, 0).cfa_offset, 32);
  EXPECT_EQ(RuleOf(program, 4).cfa_offset, 8);
  EXPECT_EQ(RuleOf(program, 8).cfa_offset, 32);
  EXPECT_EQ(RuleOf(program, 9).cfa_offset, 64);
}

TEST(CfiRuleTest, RealignedStackReadsTheCfaFromASlot) {
  // What gcc writes: CFA = *(rbp - 8), rbp at (rbp + 0).
  CfiRule rule = RuleOf({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  EXPECT_EQ(rule.kind, RuleKind::kRealignRbp);
  EXPECT_EQ(rule.cfa_offset, -8);
  EXPECT_TRUE(rule.rbp_slot_from_rbp);
  EXPECT_EQ(rule.rbp_slot, 0);
  // Hand-written code: CFA = *(rsp + 40) + 8.
  rule = RuleOf({0x0f, 5, 0x77, 40, 0x06, 0x23, 8});
  EXPECT_EQ(rule.kind, RuleKind::kRealignRsp);
  EXPECT_EQ(rule.cfa_offset, 40);
  EXPECT_EQ(rule.cfa_addend, 8);
}

TEST(CfiRuleTest, PltEntryIsAConstantOncePcIsKnown) {
  const Bytes plt = {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  EhFrameBuilder builder;
  builder.AddFunction(kCode, 0x100, plt);
  const Bytes image = builder.Build();
  const auto misalignment = static_cast<int32_t>(reinterpret_cast<uintptr_t>(image.data()) & 15);
  const Lookup early = Find(image, kCode + 16 - misalignment);
  EXPECT_EQ(early.rule.kind, RuleKind::kRsp);
  EXPECT_EQ(early.rule.cfa_offset, 8);
  EXPECT_EQ(Find(image, kCode + 16 - misalignment + 11).rule.cfa_offset, 16);
}

TEST(CfiRuleTest, UndefinedReturnAddressIsTheOutermostFrame) {
  EXPECT_EQ(RuleOf({0x07, 16}).kind, RuleKind::kOutermost);
}

TEST(CfiRuleTest, WhatDoesNotFitIsComplex) {
  EXPECT_EQ(RuleOf({0x0c, 13, 16}).kind, RuleKind::kComplex);         // CFA on r13
  EXPECT_EQ(RuleOf({0x09, 6, 3}).kind, RuleKind::kComplex);           // rbp in rbx
  EXPECT_EQ(RuleOf({0x10, 6, 2, 0x77, 0}).kind, RuleKind::kComplex);  // rbp at an expression
  EXPECT_EQ(RuleOf({0x0f, 2, 0x73, 8}).kind, RuleKind::kComplex);     // CFA an expression on rbx
  EXPECT_EQ(RuleOf({0x05, 16, 3}).kind, RuleKind::kComplex);          // return address elsewhere
  EXPECT_EQ(RuleOf({0x0e, 0}).kind, RuleKind::kComplex);              // CFA at rsp itself
  EXPECT_EQ(RuleOf({0x14, 7, 2}).kind, RuleKind::kComplex);           // rsp is not the CFA
}

TEST(CfiRuleTest, BinarySearchFindsEachFunctionAndTheGaps) {
  EhFrameBuilder builder;
  for (int32_t i = 0; i < 100; ++i) {
    builder.AddFunction(kCode + i * 0x100, 0x80, {0x0e, static_cast<uint8_t>(16 + i)});
  }
  for (const bool with_table : {true, false}) {
    builder.with_table = with_table;
    const Bytes image = builder.Build();
    for (int32_t i = 0; i < 100; ++i) {
      const Lookup inside = Find(image, kCode + i * 0x100 + 0x7f);
      EXPECT_EQ(inside.status, CfiStatus::kFound);
      EXPECT_EQ(inside.rule.cfa_offset, 16 + i);
      EXPECT_EQ(Find(image, kCode + i * 0x100 + 0x80).status, CfiStatus::kNoEntry);
    }
    EXPECT_EQ(Find(image, kCode - 1).status, CfiStatus::kNoEntry);
  }
}

TEST(CfiRuleTest, SignalFramesAreMarked) {
  EhFrameBuilder builder;
  builder.augmentation = "zRS";
  builder.AddFunction(kCode, 0x100, {});
  EXPECT_TRUE(Find(builder.Build(), kCode).row.is_signal_frame);
}

TEST(CfiRuleTest, UnknownThingsAreUnsupportedNotGuessed) {
  EhFrameBuilder builder;
  builder.AddFunction(kCode, 0x100, {0x3f});
  EXPECT_EQ(Find(builder.Build(), kCode).status, CfiStatus::kUnsupported);
  builder.version = 9;
  EXPECT_EQ(Find(builder.Build(), kCode).status, CfiStatus::kUnsupported);
  builder.version = 1;
  builder.return_register = 14;
  EXPECT_EQ(Find(builder.Build(), kCode).status, CfiStatus::kUnsupported);
  builder.return_register = 16;
  builder.augmentation = "eh";
  EXPECT_EQ(Find(builder.Build(), kCode).status, CfiStatus::kUnsupported);
}

TEST(CfiRuleTest, ImageCutAtEveryLengthIsHarmless) {
  EhFrameBuilder builder;
  builder.AddFunction(kCode, 0x100, {0x0e, 32, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  const Bytes whole = builder.Build();
  size_t found = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    // A copy of exactly this size, so that a sanitizer sees the first byte too many.
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    if (Find(cut, kCode + 4).status == CfiStatus::kFound) ++found;
  }
  EXPECT_LE(found, 5u);  // only the terminator and padding may be missing
}

TEST(CfiRuleTest, FlippedBitsAreHarmless) {
  EhFrameBuilder builder;
  for (int32_t i = 0; i < 4; ++i) {
    builder.AddFunction(kCode + i * 0x100, 0x80,
                        {0x0e, 32, 0x0a, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x42, 0x0b});
  }
  const Bytes whole = builder.Build();
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    Bytes damaged = whole;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    }
    Find(damaged, kCode + static_cast<int32_t>(random() % 0x400));
  }
}

TEST(DwarfExpressionTest, Computes) {
  const auto evaluate = [](Bytes bytes, uint64_t* result) {
    RegisterFile registers;
    registers.Set(7, 1000);
    WordReader memory;
    return EvaluateExpression(ByteReader(bytes.data(), bytes.data() + bytes.size()), registers, true, 5,
                              &memory, result);
  };
  uint64_t result = 0;
  EXPECT_TRUE(evaluate({0x77, 8}, &result));
  EXPECT_EQ(result, 1008u);
  EXPECT_TRUE(evaluate({0x33, 0x24, 0x23, 2}, &result));  // 5 << 3, + 2
  EXPECT_EQ(result, 42u);
  EXPECT_TRUE(evaluate({0x0b, 0xfe, 0xff, 0x22}, &result));  // + -2
  EXPECT_EQ(result, 3u);
  EXPECT_TRUE(evaluate({0x12, 0x31, 0x2d, 0x28, 1, 0, 0x34, 0x16}, &result));  // dup lit1 lt bra +1
  EXPECT_FALSE(evaluate({0x2f, 0xfd, 0xff}, &result));                         // jumps to itself for ever
  EXPECT_FALSE(evaluate({0x13, 0x13}, &result));                               // nothing left to drop
  EXPECT_FALSE(evaluate({0x70, 0}, &result));                                  // rax is not known
  EXPECT_FALSE(evaluate({0x30, 0x06}, &result));                               // nothing at address 0
  EXPECT_FALSE(evaluate({0xff}, &result));
  uint64_t word = 77;
  Bytes load = {0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0x06};
  const auto address = reinterpret_cast<uint64_t>(&word);
  std::memcpy(load.data() + 1, &address, 8);
  EXPECT_TRUE(evaluate(load, &result));
  EXPECT_EQ(result, 77u);
}

}  // namespace
}  // namespace plateau::unwind
