#include "preload/python/line_table.h"

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/symbols/python_lines.h"
#include "gtest/gtest.h"

namespace plateau::python {
namespace {

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string Without(const std::string& table, size_t capacity = 40 * 1024) {
  std::vector<char> buffer(capacity + 1, '\x55');
  const std::string result(WithoutColumns(table, buffer.data(), capacity));
  EXPECT_LE(result.size(), capacity);
  EXPECT_EQ(buffer[capacity], '\x55');
  return result;
}

// The tables were printed by the interpreters themselves.
TEST(LineTableTest, EveryOffsetKeepsItsLine) {
  std::ifstream file(PLATEAU_LINE_TABLES);
  size_t tables = 0, bytes = 0, left = 0;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string version_text, table_text;
    int first_line = 0;
    line >> version_text >> first_line >> table_text;
    const auto version = static_cast<uint16_t>(std::stoi(version_text, nullptr, 16));
    if (version < kFirstVersionWithColumns) continue;
    const std::string table = FromHex(table_text), lines = Without(table);
    ++tables;
    bytes += table.size();
    left += lines.size();
    for (uint32_t offset = 0; offset < 4 * table.size() + 20; offset += 2) {
      ASSERT_EQ(symbols::PythonLine(version, first_line, lines, offset),
                symbols::PythonLine(version, first_line, table, offset))
          << text << " at " << offset;
    }
  }
  EXPECT_GT(tables, 30u);
  EXPECT_LT(left, bytes / 2);
}

TEST(LineTableTest, LongAndBackwardStepsAreKept) {
  // 8 units 100 lines on, long form; 3 without a line; 1 unit 70 lines back, without columns.
  const std::string table = FromHex("f7480300010000fae9cd02");
  EXPECT_EQ(symbols::PythonLine(0x30b, 10, table, 0), 10 + 100);
  for (uint32_t offset = 0; offset < 30; offset += 2) {
    EXPECT_EQ(symbols::PythonLine(0x30b, 10, Without(table), offset),
              symbols::PythonLine(0x30b, 10, table, offset));
  }
}

TEST(LineTableTest, NonsenseEndsAndStaysInside) {
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    std::string table(random() % 60, '\0');
    for (char& c : table) c = static_cast<char>(random());
    Without(table, random() % 40);
  }
  EXPECT_EQ(Without(""), "");
  EXPECT_EQ(Without(FromHex("f0")), "");  // ends within its entry
}

TEST(LineTableTest, WhatDoesNotFitIsCutBetweenEntries) {
  std::string table;
  for (int i = 0; i < 100; ++i) table += FromHex("e802");  // a line on each
  const std::string cut = Without(table, 50);
  EXPECT_EQ(cut, table.substr(0, cut.size()));
  EXPECT_GT(cut.size(), 40u);
  EXPECT_EQ(cut.size() % 2, 0u);
}

}  // namespace
}  // namespace plateau::python
