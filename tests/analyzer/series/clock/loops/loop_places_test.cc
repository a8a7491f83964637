#include "analyzer/series/clock/loops/loop_places.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/trace_text.h"

namespace plateau::series {
namespace {

TEST(DecodeLoops, PairsAreInBytes) {
  // Two loops: units 2 to 9 and 4 to 6.
  const auto spans = DecodeLoops(std::string("\x02\x02\x07\x02\x02", 5));
  ASSERT_TRUE(spans.has_value());
  ASSERT_EQ(spans->size(), 2u);
  EXPECT_EQ((*spans)[0].head, 4u);
  EXPECT_EQ((*spans)[0].tail, 18u);
  EXPECT_EQ((*spans)[1].head, 8u);
  EXPECT_EQ((*spans)[1].tail, 12u);
}

TEST(DecodeLoops, NothingIsKnownOfAnEmptyOrDamagedField) {
  EXPECT_FALSE(DecodeLoops("").has_value());
  EXPECT_FALSE(DecodeLoops("\x02\x02\x07").has_value());
  EXPECT_FALSE(DecodeLoops("\xff\xff\xff\xff\xff\x01").has_value());
  EXPECT_FALSE(DecodeLoops(std::string("\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01", 11)).has_value());
}

TEST(DecodeLoops, NoLoopsAreKnownToo) {
  const auto spans = DecodeLoops(std::string("\0", 1));
  ASSERT_TRUE(spans.has_value());
  EXPECT_TRUE(spans->empty());
}

class Fixture {
 public:
  explicit Fixture(const std::string& text)
      : path_(testing::WriteTemporary("loop_places.plt", testing::TraceFromText(text))),
        reader_(*reader::TraceReader::Open(path_)),
        definitions_(*replay::CollectDefinitions(*reader_)),
        paths_(&definitions_),
        places(&definitions_, &paths_, [](uint32_t location) { return location; }) {}

 private:
  std::string path_;
  std::unique_ptr<reader::TraceReader> reader_;
  replay::Definitions definitions_;
  FunctionPaths paths_;

 public:
  LoopPlaces places;
};

// Code 1 has a loop of bytes 4 to 18 and one of 8 to 12 in it; node 3 is native code called inside both.
constexpr char kNested[] = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=1 file="/home/user/loop.py" name="<module>" loops=0202070202
python_location location=1 code=1 offset=10
python_location location=2 code=1 offset=16
pc location=3 module=0 offset=0x1000
node node=1 parent=0 location=1
node node=2 parent=0 location=2
node node=3 parent=1 location=3
@1 alloc address=0x1000 bytes=10 stack=1
)";

TEST(LoopPlaces, LoopsAroundAPlaceAreGivenFromTheInsideOut) {
  Fixture f(kNested);
  const uint32_t inner = f.places.PlaceOf(1);
  std::vector<uint32_t> heads;
  f.places.ForEachLoopAround(inner, [&](uint32_t loop, uint32_t place) {
    EXPECT_EQ(place, inner);
    heads.push_back(f.places.loops()[loop].span.head);
    return true;
  });
  EXPECT_EQ(heads, (std::vector<uint32_t>{8, 4}));
  EXPECT_FALSE(f.places.IsNative());
}

TEST(LoopPlaces, WhatNativeCodeDoesHappensAtThePlaceOfItsPythonFrame) {
  Fixture f(kNested);
  EXPECT_EQ(f.places.PlaceOf(3), f.places.PlaceOf(1));
}

TEST(LoopPlaces, TheLoopThatSpansTwoOffsetsIsTheOuterOne) {
  Fixture f(kNested);
  const uint32_t inner = f.places.PlaceOf(1);
  EXPECT_EQ(f.places.loops()[f.places.OwnLoopAround(inner, 12)].span.head, 8u);
  EXPECT_EQ(f.places.loops()[f.places.OwnLoopAround(inner, 16)].span.head, 4u);
  EXPECT_EQ(f.places.OwnLoopAround(inner, 30), 0u);
}

TEST(LoopPlaces, WithoutPythonEveryFunctionIsALoop) {
  Fixture f(R"(
header mode=exact clean_exit=1
pc location=1 module=0 offset=0x1000
pc location=2 module=0 offset=0x2000
node node=1 parent=0 location=1
node node=2 parent=1 location=2
@1 alloc address=0x1000 bytes=10 stack=2
)");
  size_t loops = 0;
  f.places.ForEachLoopAround(f.places.PlaceOf(2), [&](uint32_t, uint32_t) { return ++loops > 0; });
  EXPECT_EQ(loops, 2u);
  EXPECT_TRUE(f.places.IsNative());
}

}  // namespace
}  // namespace plateau::series
