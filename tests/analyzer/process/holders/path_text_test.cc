#include "analyzer/process/holders/path_text.h"

#include <gtest/gtest.h>

#include <string>

namespace plateau::process {
namespace {

using replay::PathSegment;
using trace::SegmentKind;

std::string Text(const std::vector<PathSegment>& path) { return TextOfPath(path, 0).text; }

TEST(PathTextTest, AVariableOfTheProgramReadsAsItIsWritten) {
  const PathText words = TextOfPath({{SegmentKind::kModule, 0, "__main__"},
                                     {SegmentKind::kGlobal, 0, "trainer"},
                                     {SegmentKind::kAttribute, 0, "callbacks"},
                                     {SegmentKind::kIndex, 3, ""},
                                     {SegmentKind::kAttribute, 0, "seen"},
                                     {SegmentKind::kIndex, 0, ""},
                                     {SegmentKind::kKey, 1, "pixel_values"}},
                                    5);
  EXPECT_EQ(words.text, "trainer.callbacks[2].seen[*]['pixel_values']");
  EXPECT_EQ(words.container, "trainer.callbacks[2].seen");
  EXPECT_EQ(words.root, "module __main__");
  ASSERT_EQ(words.links.size(), 6u);
  EXPECT_EQ(words.container_links, 4u);
  EXPECT_EQ(words.links[3].kind, "attribute");
  EXPECT_FALSE(words.links[3].is_user_data);
  EXPECT_TRUE(words.links[5].is_user_data);
}

TEST(PathTextTest, ALocalNamesItsFunctionAndLine) {
  const PathText words = TextOfPath({{SegmentKind::kFrame, 31, "main"},
                                     {SegmentKind::kFile, 0, "train.py"},
                                     {SegmentKind::kLocal, 0, "history"}},
                                    3);
  EXPECT_EQ(words.text, "history");
  EXPECT_EQ(words.container, "history");
  EXPECT_EQ(words.root, "a local of main() (train.py:31)");
}

TEST(PathTextTest, AModuleIsPartOfTheName) {
  EXPECT_EQ(Text({{SegmentKind::kModule, 0, "client.cache"}, {SegmentKind::kGlobal, 0, "ALL"}}),
            "client.cache.ALL");
}

TEST(PathTextTest, AStoredExceptionLeadsThroughItsFrames) {
  EXPECT_EQ(Text({{SegmentKind::kModule, 0, "sys"},
                  {SegmentKind::kGlobal, 0, "last_exc"},
                  {SegmentKind::kTraceback, 0, ""},
                  {SegmentKind::kFrame, 12, "step"},
                  {SegmentKind::kFile, 0, "train.py"},
                  {SegmentKind::kLocal, 0, "batch"}}),
            "sys.last_exc -> traceback -> step() (train.py:12).batch");
}

TEST(PathTextTest, AGraphIsSaidOnce) {
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "losses"},
                  {SegmentKind::kIndex, 0, ""},
                  {SegmentKind::kGraph, 0, "AddBackward0"},
                  {SegmentKind::kGraph, 0, "ReluBackward0"}}),
            "losses[*] -> autograd graph -> AddBackward0 -> ReluBackward0");
}

TEST(PathTextTest, ClosuresHooksAndGenerators) {
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "model"},
                  {SegmentKind::kAttribute, 0, "_forward_hooks"},
                  {SegmentKind::kKey, 0, ""},
                  {SegmentKind::kCell, 0, "kept"}}),
            "model._forward_hooks[*] -> closure's kept");
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "it"},
                  {SegmentKind::kGenerator, 9, "batches"},
                  {SegmentKind::kFile, 0, "data.py"},
                  {SegmentKind::kLocal, 0, "pending"}}),
            "it -> generator batches (data.py:9).pending");
}

TEST(PathTextTest, KeysAreEscaped) {
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "d"}, {SegmentKind::kKey, 1, "a'b\n\x1b[31m"}}),
            "d['a\\'b\\n\\033[31m']");
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "d"}, {SegmentKind::kKey, 2, "\xff\x01"}}), "d[b'\\377\\001']");
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "d"}, {SegmentKind::kKey, 3, "17"}}), "d[17]");
}

TEST(PathTextTest, ManyAttributesAndLongListsAreSaidOnce) {
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "model"}, {SegmentKind::kAttribute, 1, ""}}), "model.*");
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "head"},
                  {SegmentKind::kSlot, 0, "next"},
                  {SegmentKind::kRepeat, 0, ""},
                  {SegmentKind::kSlot, 0, "data"}}),
            "head.next (repeated).data");
}

TEST(PathTextTest, AKindOfALaterVersionShowsItsText) {
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "x"}, {static_cast<SegmentKind>(200), 0, "soon"}}), "x -> soon");
  EXPECT_EQ(Text({{SegmentKind::kGlobal, 0, "x"}, {static_cast<SegmentKind>(200), 0, ""}}), "x");
}

TEST(PathTextTest, EveryKindHasWordsAndNoPathHasNone) {
  EXPECT_EQ(Text({}), "");
  for (int kind = 1; kind <= 29; ++kind) {
    const PathText words =
        TextOfPath({{SegmentKind::kGlobal, 0, "x"}, {static_cast<SegmentKind>(kind), 4, "t"}}, 1);
    EXPECT_EQ(words.container, "x") << kind;
    const bool is_silent = static_cast<SegmentKind>(kind) == SegmentKind::kFile;
    EXPECT_EQ(words.text.size() > 1, !is_silent) << kind;
  }
}

}  // namespace
}  // namespace plateau::process
