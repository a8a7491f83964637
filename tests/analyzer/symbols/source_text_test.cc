#include "analyzer/symbols/source_text.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace plateau::symbols {
namespace {

std::string Write(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << "first\n  second\n";
  return path;
}

TEST(SourceTextTest, LinesAreGivenWithoutTheirIndent) {
  SourceText text;
  const std::string path = Write("train.py");
  EXPECT_EQ(text.Line(path, 1), "first");
  EXPECT_EQ(text.Line(path, 2), "second");
  EXPECT_EQ(text.Line(path, 4), "");
  EXPECT_EQ(text.Line("/nowhere/x.py", 1), "");
}

TEST(SourceTextTest, AnExcerptKeepsIndentsAndEndsWithTheFile) {
  SourceText text;
  const std::string path = ::testing::TempDir() + "/excerpt.py";
  std::ofstream(path) << "one\n  two\n    three\r\nfour";
  int first = 0;
  EXPECT_EQ(text.Excerpt(path, 3, 1, &first), (std::vector<std::string>{"  two", "    three", "four"}));
  EXPECT_EQ(first, 2);
  EXPECT_EQ(text.Excerpt(path, 1, 2, &first).size(), 3u);
  EXPECT_EQ(first, 1);
  EXPECT_TRUE(text.Excerpt(path, 5, 2, &first).empty());
  EXPECT_TRUE(text.Excerpt(Write(".env"), 1, 2, &first).empty());
}

TEST(SourceTextTest, FilesWhoseNamesSuggestSecretsStayOut) {
  SourceText text;
  for (const char* name :
       {".env", ".env.local", "secrets.py", "my_credentials.json", "tokens.py", "Passwords.txt"})
    EXPECT_EQ(text.Line(Write(name), 1), "") << name;
  for (const char* name :
       {"tokenizer.py", "tokenization_bert.py", "environment.py", "keyboard.py", "monkeys.py"})
    EXPECT_EQ(text.Line(Write(name), 1), "first") << name;
}

}  // namespace
}  // namespace plateau::symbols
