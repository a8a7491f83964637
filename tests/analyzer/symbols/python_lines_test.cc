#include "analyzer/symbols/python_lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>

namespace plateau::symbols {
namespace {

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// python_line_tables.txt was printed by the interpreters themselves: make_python_line_tables.py.
TEST(PythonLinesTest, AgreesWithTheInterpreters) {
  std::ifstream file(PLATEAU_TEST_DIR "/python_line_tables.txt");
  std::set<int> versions;
  size_t pairs = 0;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string version_text, table_text;
    int first_line = 0;
    line >> version_text >> first_line >> table_text;
    const int version = std::stoi(version_text, nullptr, 16);
    versions.insert(version);
    const std::string table = FromHex(table_text);
    for (std::string pair; line >> pair; ++pairs) {
      const uint32_t offset = static_cast<uint32_t>(std::stoul(pair));
      const int expected = std::stoi(pair.substr(pair.find(':') + 1));
      ASSERT_EQ(PythonLine(static_cast<uint16_t>(version), first_line, table, offset), expected)
          << version_text << " code at line " << first_line << " offset " << offset;
    }
  }
  EXPECT_EQ(versions, (std::set<int>{0x308, 0x309, 0x30a, 0x30b, 0x30c, 0x30d, 0x30e}));
  EXPECT_GT(pairs, 3000u);
}

TEST(PythonLinesTest, FrameThatHasNotStartedIsAtItsFirstLine) {
  for (const uint16_t version : {0x308, 0x30a, 0x30b}) {
    EXPECT_EQ(PythonLine(version, 7, std::string_view("\x02\x01\x02\x01", 4), 0xffffffff), 7) << version;
  }
}

TEST(PythonLinesTest, NonsenseTablesEnd) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    std::string table(random() % 40, '\0');
    for (char& c : table) c = static_cast<char>(random());
    for (const uint16_t version : {0x308, 0x30a, 0x30b, 0x30d})
      PythonLine(version, 1, table, random() % 4096);
  }
  EXPECT_EQ(PythonLine(0x30b, 7, "", 100), 7);
}

}  // namespace
}  // namespace plateau::symbols
