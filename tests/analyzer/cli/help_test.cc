#include "analyzer/cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace plateau::cli {
namespace {

TEST(HelpTest, EveryCommandIsDescribedWithAnExample) {
  std::set<std::string> names;
  for (const Command* command : CommandTable()) {
    SCOPED_TRACE(command->name);
    EXPECT_TRUE(names.insert(command->name).second);
    EXPECT_NE(command->run, nullptr);
    EXPECT_NE(std::string(command->summary), "");
    EXPECT_FALSE(command->examples.empty());
    std::set<std::string> options;
    std::set<char> letters;
    for (const Option& option : command->options) {
      SCOPED_TRACE(option.name);
      EXPECT_TRUE(options.insert(option.name).second);
      EXPECT_TRUE(option.letter == 0 || (option.letter != 'h' && letters.insert(option.letter).second));
      EXPECT_NE(std::string(option.help), "");
      EXPECT_TRUE(option.value == nullptr || option.default_value != nullptr)
          << "an option with a value names its default";
    }
  }
}

TEST(HelpTest, LinesFitTheTerminal) {
  for (const Command* command : CommandTable()) {
    std::istringstream lines(CommandHelpText(*command));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(HelpTest, ReferencePageIsUpToDate) {
  std::ifstream file(PLATEAU_SOURCE_DIR "/docs/cli.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(page, MarkdownReference()) << "run: plateau help --markdown > docs/cli.md";
}

}  // namespace
}  // namespace plateau::cli
