#include "preload/trace/holder_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plateau::trace {
namespace {

std::vector<std::string> Texts(std::string_view bytes) {
  std::vector<std::string> texts;
  HolderPathReader reader(bytes);
  for (HolderSegment segment; reader.Next(&segment);) texts.emplace_back(segment.text);
  return texts;
}

TEST(HolderPathTest, SegmentsComeBackInOrder) {
  HolderPathWriter path;
  path.Add({SegmentKind::kModule, 0, "__main__"});
  path.Add({SegmentKind::kFrame, 1000, "main"});
  path.Add({SegmentKind::kIndex, 0, ""});
  HolderPathReader reader(path.bytes());
  HolderSegment segment;
  ASSERT_TRUE(reader.Next(&segment));
  EXPECT_EQ(segment.kind, SegmentKind::kModule);
  EXPECT_EQ(segment.text, "__main__");
  ASSERT_TRUE(reader.Next(&segment));
  EXPECT_EQ(segment.number, 1000u);
  ASSERT_TRUE(reader.Next(&segment));
  EXPECT_EQ(segment.kind, SegmentKind::kIndex);
  EXPECT_FALSE(reader.Next(&segment));
  EXPECT_EQ(path.count(), 3u);
}

TEST(HolderPathTest, LongTextsAreCutBetweenCharacters) {
  HolderPathWriter path;
  path.Add({SegmentKind::kKey, 1, std::string(100, 'k')});
  path.Add({SegmentKind::kKey, 1, std::string(39, 'k') + "\xc3\xb6" + "rest"});
  const auto texts = Texts(path.bytes());
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], std::string(40, 'k'));
  EXPECT_EQ(texts[1], std::string(39, 'k'));
}

TEST(HolderPathTest, SegmentsWithoutRoomAreLeftOut) {
  HolderPathWriter path;
  for (size_t i = 0; i < kMaxSegments; ++i)
    path.Add({SegmentKind::kAttribute, UINT64_MAX, std::string(40, 'a')});
  EXPECT_TRUE(path.full() || path.count() == kMaxSegments);
  path.Add({SegmentKind::kAttribute, 0, "one more"});
  EXPECT_TRUE(path.full());
  EXPECT_EQ(Texts(path.bytes()).size(), path.count());
  path.Clear();
  EXPECT_FALSE(path.full());
  EXPECT_TRUE(path.bytes().empty());
}

TEST(HolderPathTest, AnyCutOfTheBytesIsReadWithoutHarm) {
  HolderPathWriter path;
  path.Add({SegmentKind::kGlobal, 300, "trainer"});
  path.Add({SegmentKind::kAttribute, 0, "meter"});
  for (size_t cut = 0; cut < path.bytes().size(); ++cut) {
    const std::string bytes(path.bytes().substr(0, cut));
    EXPECT_LE(Texts(bytes).size(), 1u) << cut;
  }
}

}  // namespace
}  // namespace plateau::trace
