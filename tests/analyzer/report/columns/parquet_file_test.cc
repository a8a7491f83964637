#include "analyzer/report/columns/parquet_file.h"

#include <string>
#include <variant>

#include "gtest/gtest.h"

// What readers make of the files, tests/e2e/columns_test.py asks DuckDB; here is what can be said without one.
namespace plateau::report {
namespace {

Table Sample(int rows) {
  Table table(
      "sample",
      {{"step", ColumnType::kInteger}, {"rate", ColumnType::kReal, true}, {"site", ColumnType::kText}});
  for (int i = 0; i < rows; ++i) {
    if (i % 3 == 0) {
      table.Add({i, std::monostate{}, "train.py:42"});
    } else {
      table.Add({i, 0.5 * i, "train.py:42"});
    }
  }
  return table;
}

size_t FooterBytes(const std::string& file) {
  size_t bytes = 0;
  for (size_t i = 0; i < 4; ++i)
    bytes |= size_t{static_cast<unsigned char>(file[file.size() - 8 + i])} << 8 * i;
  return bytes;
}

TEST(ParquetFileTest, BeginsAndEndsAsParquetDoes) {
  for (const int rows : {0, 1, 100}) {
    const auto file = ParquetOf(Sample(rows), {{"plateau.schema", "plateau-columns/1"}});
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->substr(0, 4), "PAR1");
    EXPECT_EQ(file->substr(file->size() - 4), "PAR1");
    EXPECT_LE(FooterBytes(*file), file->size() - 12);
    const std::string footer = file->substr(file->size() - 8 - FooterBytes(*file));
    for (const char* word : {"step", "rate", "site", "plateau-columns/1"})
      EXPECT_NE(footer.find(word), std::string::npos);
  }
}

TEST(ParquetFileTest, TheSameTableGivesTheSameBytes) {
  EXPECT_EQ(*ParquetOf(Sample(1000), {}), *ParquetOf(Sample(1000), {}));
}

TEST(ParquetFileTest, TextsThatRepeatAreStoredOnce) {
  EXPECT_LT(ParquetOf(Sample(2000), {})->size(), ParquetOf(Sample(1000), {})->size() + 8 * 1000);
}

}  // namespace
}  // namespace plateau::report
