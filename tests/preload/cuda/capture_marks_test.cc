#include "preload/cuda/capture_marks.h"

#include <gtest/gtest.h>

namespace plateau::cuda {
namespace {

const char kStreams[64] = {};
const char kMe = 0;
const char kOther = 0;

TEST(CaptureMarksTest, AGlobalCaptureMarksAllThreads) {
  CaptureMarks marks;
  EXPECT_FALSE(marks.IsCapturing(&kMe));
  marks.Begin(&kStreams[0], true, &kMe);
  EXPECT_TRUE(marks.IsCapturing(&kMe));
  EXPECT_TRUE(marks.IsCapturing(&kOther));
  marks.End(&kStreams[0]);
  EXPECT_FALSE(marks.IsCapturing(&kMe));
}

TEST(CaptureMarksTest, AThreadLocalCaptureMarksItsThreadUntilAnyoneEndsIt) {
  CaptureMarks marks;
  marks.Begin(&kStreams[0], false, &kMe);
  marks.Begin(&kStreams[1], false, &kOther);
  EXPECT_TRUE(marks.IsCapturing(&kMe));
  marks.End(&kStreams[0]);
  EXPECT_FALSE(marks.IsCapturing(&kMe));
  EXPECT_TRUE(marks.IsCapturing(&kOther));
}

TEST(CaptureMarksTest, EndsWithoutBeginAreIgnored) {
  CaptureMarks marks;
  marks.End(&kStreams[0]);
  marks.Begin(&kStreams[1], true, &kMe);
  marks.End(&kStreams[0]);
  EXPECT_TRUE(marks.IsCapturing(&kMe));
}

TEST(CaptureMarksTest, MoreCapturesThanPlacesGoUnmarkedAndDoNoHarm) {
  CaptureMarks marks;
  for (int i = 0; i < CaptureMarks::kMaxCaptures + 1; ++i) marks.Begin(&kStreams[i], true, &kMe);
  for (int i = 0; i < CaptureMarks::kMaxCaptures + 1; ++i) marks.End(&kStreams[i]);
  EXPECT_FALSE(marks.IsCapturing(&kMe));
}

}  // namespace
}  // namespace plateau::cuda
