#include "analyzer/reader/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "analyzer/reader/trace_reader.h"
#include "tests/support/trace_text.h"

namespace plateau::reader {
namespace {

namespace fs = std::filesystem;
using ::plateau::testing::TraceFromText;
using ::plateau::testing::WriteTemporary;

std::string FreshDirectory(const std::string& name) {
  const fs::path path = fs::path(WriteTemporary("anchor", "")).parent_path() / name;
  fs::create_directory(path);
  return path;
}

void ExpectOneLineAbout(const absl::Status& status, absl::StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status;
  const std::string message(status.message());
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(RecordingTest, MissingPathIsNotFound) {
  ExpectOneLineAbout(OpenRecording({"/nonexistent"}).status(), absl::StatusCode::kNotFound,
                     "/nonexistent: no such file");
}

TEST(RecordingTest, DirectoryWithoutTracesSaysSo) {
  const std::string directory = FreshDirectory("no-traces");
  WriteTemporary("no-traces/notes.txt", "hello");
  ExpectOneLineAbout(OpenRecording({directory}).status(), absl::StatusCode::kFailedPrecondition,
                     "no traces in this directory");
}

TEST(RecordingTest, TextFileIsNotATrace) {
  const std::string path = WriteTemporary("text.plt", "just some text, longer than a magic number\n");
  ExpectOneLineAbout(TraceReader::Open(path).status(), absl::StatusCode::kFailedPrecondition,
                     "not a Plateau trace");
}

TEST(RecordingTest, EmptyFileIsNamedAsSuch) {
  const std::string path = WriteTemporary("empty.plt", "");
  ExpectOneLineAbout(TraceReader::Open(path).status(), absl::StatusCode::kFailedPrecondition, "empty file");
}

TEST(RecordingTest, NewerVersionIsUnimplemented) {
  const std::string bytes = TraceFromText("header version=99\n");
  const std::string path = WriteTemporary("newer.plt", bytes);
  ExpectOneLineAbout(TraceReader::Open(path).status(), absl::StatusCode::kUnimplemented, "newer Plateau");
  const std::string directory = FreshDirectory("newer");
  WriteTemporary("newer/a.plt", bytes);
  ExpectOneLineAbout(OpenRecording({directory}).status(), absl::StatusCode::kUnimplemented, "newer Plateau");
}

TEST(RecordingTest, HeaderCutShortSaysHowMuchIsLeft) {
  const std::string path =
      WriteTemporary("cut.plt", TraceFromText("info key=\"a\" value=\"b\"\n").substr(0, 1000));
  ExpectOneLineAbout(TraceReader::Open(path).status(), absl::StatusCode::kFailedPrecondition,
                     "truncated: 1000 bytes");
}

TEST(RecordingTest, UnreadableFilesAreNamedBesideReadableOnes) {
  const std::string directory = FreshDirectory("unreadable");
  WriteTemporary("unreadable/good.plt", TraceFromText("header pid=7\n"));
  WriteTemporary("unreadable/empty.plt", "");
  WriteTemporary("unreadable/byte.plt", "x");
  WriteTemporary("unreadable/cut.plt", TraceFromText("header pid=8\n").substr(0, 300));
  WriteTemporary("unreadable/random.plt", std::string(5000, '\x5a'));
  WriteTemporary("unreadable/unborn.plt", std::string(4096, '\0'));
  WriteTemporary("unreadable/notes.txt", "");
  fs::remove(directory + "/moved.plt");
  fs::create_symlink("/nonexistent/trace.plt", directory + "/moved.plt");
  const auto recording = OpenRecording({directory});
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->traces.size(), 1u);
  EXPECT_THAT(
      recording->skipped,
      ::testing::UnorderedElementsAre(
          ::testing::HasSubstr("empty.plt: 0 bytes"), ::testing::HasSubstr("byte.plt: 1 bytes"),
          ::testing::HasSubstr("cut.plt: 300 bytes"), ::testing::HasSubstr("random.plt: named as a trace"),
          ::testing::HasSubstr("moved.plt: named as a trace, but it is no file"),
          ::testing::HasSubstr("unborn.plt: the process was killed before")));
}

TEST(RecordingTest, WhatAKilledPackLeftIsNoProcessOfItsOwn) {
  const std::string directory = FreshDirectory("half_packed");
  WriteTemporary("half_packed/a.plt", TraceFromText("header pid=7\n"));
  WriteTemporary("half_packed/a.plt.packing", TraceFromText("header pid=7\n"));
  WriteTemporary("half_packed/b.plt.packing", TraceFromText("header pid=8\n"));  // all that there is of it
  const auto recording = OpenRecording({directory});
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->traces.size(), 2u);
  EXPECT_EQ(recording->traces[0].header.pid + recording->traces[1].header.pid, 15u);
}

TEST(RecordingTest, PathsOfOneTimeAreOneRun) {
  const auto write = [](const std::string& directory, const std::string& times) {
    FreshDirectory(directory);
    return WriteTemporary(directory + "/trace.plt", TraceFromText("header clean_exit=1 " + times + "\n"));
  };
  const std::string first = write("run_a", "start_realtime_ns=1000 clock_realtime_ns=5000");
  const std::string rank = write("run_b", "start_realtime_ns=1500 clock_realtime_ns=5500");
  const std::string later = write("run_c", "start_realtime_ns=9000 clock_realtime_ns=9900");
  const auto runs = OpenRuns({later, first, rank});
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_THAT((*runs)[0].paths, ::testing::UnorderedElementsAre(first, rank));
  EXPECT_THAT((*runs)[1].paths, ::testing::ElementsAre(later));
  EXPECT_EQ(OpenRuns({first})->size(), 1u);
}

TEST(RecordingTest, ProcessesAreOrderedByStartTimeAndOtherFilesIgnored) {
  const std::string directory = FreshDirectory("tree");
  WriteTemporary("tree/child.plt", TraceFromText("header pid=7 start_realtime_ns=200\n"));
  WriteTemporary("tree/parent.plt", TraceFromText("header pid=9 start_realtime_ns=100\n"));
  WriteTemporary("tree/report.html", "<html>");
  const auto recording = OpenRecording({directory});
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->traces.size(), 2u);
  EXPECT_EQ(recording->traces[0].header.pid, 9u);
  EXPECT_EQ(recording->traces[1].header.pid, 7u);
}

}  // namespace
}  // namespace plateau::reader
