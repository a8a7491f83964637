#include "analyzer/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/cli/command.h"

namespace plateau::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Command kTable = {.name = "table",
                        .usage = "REC",
                        .options = {{.name = "top", .letter = 'n', .value = "N"},
                                    {.name = "size", .value = "BYTES"},
                                    {.name = "all", .letter = 'a'},
                                    {.name = "only", .value = "X", .repeated = true}},
                        .min_positional = 1,
                        .max_positional = 2};
const Command kProgram = {.name = "run",
                          .usage = "-- CMD",
                          .options = {{.name = "out", .letter = 'o', .value = "D"}},
                          .min_positional = 1,
                          .takes_program = true};

std::string Mistake(const Command& command, std::vector<std::string> words) {
  const auto arguments = Arguments::Parse(command, words);
  EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(arguments.status().message());
}

TEST(ArgumentsTest, EveryWayToGiveAValue) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--top=5", "rec"},
                                                                                     {"--top", "5", "rec"},
                                                                                     {"-n", "5", "rec"},
                                                                                     {"-n5", "rec"},
                                                                                     {"rec", "--top=5"}}) {
    const auto arguments = Arguments::Parse(kTable, words);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    EXPECT_EQ(*arguments->Integer("top", 20), 5);
    EXPECT_THAT(arguments->positional(), ElementsAre("rec"));
  }
}

TEST(ArgumentsTest, DefaultsAndRepeatedValues) {
  const auto arguments =
      Arguments::Parse(kTable, {"rec", "--only=a", "--only=b", "--top=1", "--top=2", "--size", "64KiB"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_FALSE(arguments->Has("all"));
  EXPECT_THAT(arguments->Values("only"), ElementsAre("a", "b"));
  EXPECT_EQ(*arguments->Integer("top", 20), 2);
  EXPECT_EQ(*arguments->Bytes("size", 0), 65536u);
  EXPECT_EQ(*arguments->Number("missing", 1.5), 1.5);
}

TEST(ArgumentsTest, MistakesNameTheOptionAndTheHelp) {
  EXPECT_THAT(Mistake(kTable, {"rec", "--topp=1"}),
              HasSubstr("unknown option --topp; did you mean '--top'?"));
  EXPECT_THAT(Mistake(kTable, {"rec", "--colour"}), HasSubstr("unknown option --colour (see"));
  EXPECT_THAT(Mistake(kTable, {"rec", "--top"}), HasSubstr("--top needs a value: --top=N"));
  EXPECT_THAT(Mistake(kTable, {"rec", "--all=1"}), HasSubstr("--all takes no value"));
  EXPECT_THAT(Mistake(kTable, {}), HasSubstr("missing REC"));
  EXPECT_THAT(Mistake(kTable, {"a", "b", "c"}), HasSubstr("unexpected argument 'c'"));
  EXPECT_THAT(Mistake(kTable, {"-x", "rec"}), HasSubstr("plateau table --help"));
}

TEST(ArgumentsTest, NumbersAreChecked) {
  const auto arguments = Arguments::Parse(kTable, {"rec", "--top=many", "--size=big"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->Integer("top", 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arguments->Bytes("size", 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ArgumentsTest, OptionsOfTheProgramAreTheProgramsOwn) {
  const auto dashes = Arguments::Parse(kProgram, {"-o", "d", "--", "python", "-o", "--help"});
  ASSERT_TRUE(dashes.ok());
  EXPECT_THAT(dashes->program(), ElementsAre("python", "-o", "--help"));
  EXPECT_EQ(dashes->Value("out"), "d");
  const auto bare = Arguments::Parse(kProgram, {"python", "-o", "x"});
  ASSERT_TRUE(bare.ok());
  EXPECT_THAT(bare->program(), ElementsAre("python", "-o", "x"));
  EXPECT_FALSE(bare->Has("out"));
}

}  // namespace
}  // namespace plateau::cli
