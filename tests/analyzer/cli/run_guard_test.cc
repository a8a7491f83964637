// What the options mean; what a guard does to a program is in tests/e2e/guarded_runs_test.py.
#include "analyzer/cli/run_guard.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace plateau::cli {
namespace {

absl::StatusOr<GuardOptions> Parse(const std::vector<std::string>& words) {
  static const Command command = {.name = "run", .options = GuardOptionRows()};
  const auto arguments = Arguments::Parse(command, words);
  if (!arguments.ok()) return arguments.status();
  return ParseGuard(*arguments);
}

TEST(RunGuardTest, NothingIsDoneUnlessItWasAskedFor) {
  const auto options = Parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->IsIdle());
}

TEST(RunGuardTest, ConditionsAndActionsBelongTogether) {
  const auto both = Parse({"--on", "leak", "--on=oom-soon=50", "--signal", "USR1", "--do", "true"});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->conditions.size(), 2u);
  EXPECT_EQ(both->conditions[1].steps, 50);
  EXPECT_EQ(both->signal, SIGUSR1);
  EXPECT_FALSE(Parse({"--on", "leak"}).ok());
  EXPECT_FALSE(Parse({"--do", "true"}).ok());
  EXPECT_FALSE(Parse({"--on", "leak", "--signal", "NOPE"}).ok());
  EXPECT_FALSE(Parse({"--on", "leak", "--webhook", "ftp://example.org"}).ok());
  EXPECT_FALSE(Parse({"--on", "leak", "--do", "true", "--judge-every", "0"}).ok());
}

TEST(RunGuardTest, TheLimitIsAShareOrASize) {
  EXPECT_DOUBLE_EQ(*Parse({"--stop-before-oom", "95%"})->stop_share, 0.95);
  EXPECT_EQ(*Parse({"--stop-before-oom=30GiB"})->stop_bytes, uint64_t{30} << 30);
  for (const char* wrong : {"0%", "100%", "x%", "0", "", "95 percent"})
    EXPECT_FALSE(Parse({std::string("--stop-before-oom=") + wrong}).ok()) << wrong;
  EXPECT_FALSE(Parse({"--stop-before-oom=95%", "--grace=-1"}).ok());
}

}  // namespace
}  // namespace plateau::cli
