#include "preload/base/options.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "preload/base/raw_log.h"

namespace plateau {
namespace {

// The environment is overwritten before the options are used, as programs do that set their process title.
Options Read(std::vector<std::string> variables, int* bad = nullptr) {
  std::vector<char*> environment;
  for (std::string& text : variables) environment.push_back(text.data());
  environment.push_back(nullptr);
  Options options = {};
  const int count = ReadOptions(environment.data(), &options);
  for (std::string& text : variables) text.assign(text.size(), 't');
  if (bad != nullptr) *bad = count;
  return options;
}

TEST(Options, DefaultsComeFromTheTable) {
  const Options options = Read({});
  EXPECT_STREQ(options.out.c_str(), "plateau-out");
  EXPECT_EQ(options.mode, trace::Mode::kDefault);
  EXPECT_EQ(options.sample_bytes, 512u * 1024);
  EXPECT_EQ(options.exact_from, 16u * 1024);
  EXPECT_EQ(options.max_trace, 1u << 30);
  EXPECT_TRUE(options.python);
  EXPECT_EQ(options.python_alloc, PythonAlloc::kSample);
  EXPECT_TRUE(options.follow);
  EXPECT_FALSE(options.quiet);
}

TEST(Options, ValuesAreRead) {
  const Options options =
      Read({"PLATEAU_MODE=exact", "PLATEAU_SAMPLE_BYTES=1M", "PLATEAU_FOLLOW=0:123", "PLATEAU_OUT=/tmp/x",
            "PLATEAU_MAX_TRACE=0", "XPLATEAU_PYTHON=0", "PLATEAU_PYTHON_ALLOC=exact"});
  EXPECT_EQ(options.python_alloc, PythonAlloc::kExact);
  EXPECT_EQ(options.mode, trace::Mode::kExact);
  EXPECT_EQ(options.sample_bytes, 1u << 20);
  EXPECT_FALSE(options.follow);
  EXPECT_STREQ(options.out.c_str(), "/tmp/x");
  EXPECT_EQ(options.max_trace, 0u);
  EXPECT_TRUE(options.python);
}

TEST(Options, ALimitThatNoTraceFitsIntoIsRaisedAndSaidSo) {
  ::testing::internal::CaptureStderr();
  int bad = 0;
  const Options options = Read({"PLATEAU_MAX_TRACE=1"}, &bad);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(bad, 1);
  EXPECT_EQ(options.max_trace, kLeastTraceBytes);
  EXPECT_NE(log.find("PLATEAU_MAX_TRACE=1 is less than a trace needs, using 1152K"), std::string::npos)
      << log;
}

TEST(Options, WhatIsNotUnderstoodGivesTheDefault) {
  ::testing::internal::CaptureStderr();
  int bad = 0;
  const Options options = Read(
      {"PLATEAU_MODE=fast", "PLATEAU_SAMPLE_BYTES=-1", "PLATEAU_PYTHON=maybe", "PLATEAU_PYTHON_ALLOC=all"},
      &bad);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(bad, 4);
  EXPECT_EQ(options.python_alloc, PythonAlloc::kSample);
  EXPECT_THAT(log, ::testing::HasSubstr("PLATEAU_PYTHON_ALLOC=all is not understood, using sample"));
  EXPECT_EQ(options.mode, trace::Mode::kDefault);
  EXPECT_EQ(options.sample_bytes, 512u * 1024);
  EXPECT_TRUE(options.python);
  EXPECT_THAT(log, ::testing::HasSubstr("PLATEAU_MODE=fast is not understood, using default"));
}

TEST(Options, ATextThatIsTooLongForAPathGivesTheDefault) {
  ::testing::internal::CaptureStderr();
  int bad = 0;
  const Options options = Read({"PLATEAU_OUT=/" + std::string(5000, 'x')}, &bad);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("is not understood"));
  EXPECT_EQ(bad, 1);
  EXPECT_STREQ(options.out.c_str(), "plateau-out");
}

TEST(Options, ByteNumbers) {
  uint64_t bytes = 0;
  EXPECT_TRUE(ParseBytes("4096", &bytes) && bytes == 4096);
  EXPECT_TRUE(ParseBytes("16K", &bytes) && bytes == 16384);
  EXPECT_TRUE(ParseBytes("2GiB", &bytes) && bytes == uint64_t{2} << 30);
  for (const char* wrong : {"", "K", "12X", "1.5M", "99999999999999999999", "18014398509481984G", "1KB"}) {
    EXPECT_FALSE(ParseBytes(wrong, &bytes)) << wrong;
  }
}

// docs/options.md is what this prints.
TEST(Options, PageListsEveryRow) {
  std::ostringstream page;
  page << "# Options of the shim\n\n"
          "`libplateau.so` reads these environment variables once, when the process starts; `plateau run` "
          "sets them from its\n"
          "flags. A value that cannot be read gives one line on stderr and the default. Sizes take the "
          "suffixes K, M, G and T.\n\n"
          "| variable | default | meaning |\n|---|---|---|\n";
  for (size_t i = 0; i < kOptionRowCount; ++i) {
    const OptionRow& row = kOptionRows[i];
    page << "| `" << row.name << "` | `" << row.default_value << "` | " << row.help << " |\n";
  }
  std::ifstream file(std::string(PLATEAU_SOURCE_DIR) + "/docs/options.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, page.str()) << "docs/options.md should be:\n" << page.str();
}

}  // namespace
}  // namespace plateau
