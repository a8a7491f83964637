#include "analyzer/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/cli/command.h"

namespace plateau::cli {
namespace {

using testing::HasSubstr;

std::string Shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  char part[4096];
  while (const size_t size = fread(part, 1, sizeof(part), pipe)) out.append(part, size);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << out;
  return out;
}

std::string WriteTemporary(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(testing::TempDir(), "/plateau-", getpid(), "-", name);
  std::ofstream(path) << text;
  return path;
}

TEST(CompletionTest, BashCompletesCommandsAndOptions) {
  const std::string path = WriteTemporary("bash", BashCompletion());
  const std::string ask =
      absl::StrCat("bash -c 'source ", path,
                   "; COMP_WORDS=(plateau %s); COMP_CWORD=%d; _plateau; echo ${COMPREPLY[@]}' 2>&1");
  char line[1000];
  std::snprintf(line, sizeof(line), ask.c_str(), "rep", 1);
  EXPECT_THAT(Shell(line), HasSubstr("report"));
  std::snprintf(line, sizeof(line), ask.c_str(), "check --max-g", 2);
  EXPECT_THAT(Shell(line), HasSubstr("--max-growth"));
  std::remove(path.c_str());
}

TEST(CompletionTest, EveryCommandAndOptionIsInEveryText) {
  const std::string bash = BashCompletion(), zsh = ZshCompletion(), man = ManPage();
  for (const Command* command : CommandTable()) {
    for (const std::string* text : {&bash, &zsh, &man}) EXPECT_THAT(*text, HasSubstr(command->name));
    for (const Option& option : command->options) {
      EXPECT_THAT(bash, HasSubstr(absl::StrCat("--", option.name)));
      EXPECT_THAT(zsh, HasSubstr(absl::StrCat("--", option.name)));
    }
  }
}

TEST(ManPageTest, GroffReadsItWithoutComplaint) {
  if (std::system("command -v groff >/dev/null 2>&1") != 0) GTEST_SKIP() << "no groff";
  const std::string path = WriteTemporary("man", ManPage());
  const std::string complaints = Shell(absl::StrCat("groff -man -Tutf8 -ww ", path, " 2>&1 >/dev/null"));
  EXPECT_EQ(complaints, "");
  EXPECT_THAT(Shell(absl::StrCat("groff -man -Tascii -P-cbou ", path, " 2>/dev/null")),
              HasSubstr("EXIT STATUS"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace plateau::cli
