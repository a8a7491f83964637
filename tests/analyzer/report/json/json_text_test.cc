#include "analyzer/report/json/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace plateau::report {
namespace {

using Json = nlohmann::ordered_json;

Json Sample() {
  Json sample;
  sample["plain"] = "collate <lambda>";
  sample["quoted \"key\""] = "a\\b\n\t\x01 \x7f";
  sample["not ASCII"] = "gr\u00fc\u00dfe";
  sample["not UTF-8"] = std::string("a\xff\xc3z");
  sample["numbers"] = {0, -1, 12345678901234, UINT64_MAX, INT64_MIN, 0.0, -0.0, 0.1, 1e-7, 1e22, 22625074.68};
  sample["no numbers"] = {std::nan(""), std::numeric_limits<double>::infinity()};
  sample["words"] = {true, false, nullptr};
  sample["empty"] = {{"array", Json::array()}, {"object", Json::object()}, {"text", ""}};
  sample["nested"] = {{{"a", {1, {2, 3}}}}, Json::array({Json::array(), Json::array({4})})};
  return sample;
}

// Lists of numbers are in one line each, where there are lines.
std::string Dumped(const Json& value, int indent) {
  std::string text = value.dump(indent, ' ', false, Json::error_handler_t::replace);
  static const std::regex row(
      R"(\[\n *((?:-?[0-9][-+.0-9e]*|null)(?:,\n *(?:-?[0-9][-+.0-9e]*|null))*)\n *\])");
  static const std::regex next(",\n *");
  for (std::smatch found; indent >= 0 && std::regex_search(text, found, row);) {
    text = found.prefix().str() + "[" + std::regex_replace(found[1].str(), next, ", ") + "]" +
           found.suffix().str();
  }
  return text;
}

TEST(JsonTextTest, WritesWhatDumpWrites) {
  for (const int indent : {-1, 0, 2}) {
    JsonText text(indent);
    text.Tree(Sample());
    EXPECT_EQ(text.Take(), Dumped(Sample(), indent));
  }
}

TEST(JsonTextTest, ValuesThatComeOneByOneAreTheSame) {
  for (const int indent : {-1, 2}) {
    JsonText text(indent);
    text.Begin('{');
    text.Key("list");
    text.Begin('[');
    for (const int64_t value : {int64_t{7}, INT64_MIN}) text.Value(value);
    text.Value(2.5);
    text.Value(true);
    text.Value(nullptr);
    text.Begin('{');
    text.End('}');
    text.End(']');
    text.Key("name\n");
    text.Value("\"x\"");
    text.End('}');
    const Json same = {{"list", {7, INT64_MIN, 2.5, true, nullptr, Json::object()}}, {"name\n", "\"x\""}};
    EXPECT_EQ(text.Take(), Dumped(same, indent));
  }
}

TEST(JsonTextTest, ARowIsOneLine) {
  JsonText text(2);
  text.Begin('{');
  text.Key("curve");
  text.BeginRow();
  for (const int value : {1, 2, 3}) text.Value(value);
  text.EndRow();
  text.Key("empty");
  text.BeginRow();
  text.EndRow();
  text.Key("frames");
  text.Begin('[');
  text.BeginRow();
  text.Value("f");
  text.Value(7);
  text.EndRow();
  text.End(']');
  text.End('}');
  EXPECT_EQ(text.Take(), R"({
  "curve": [1, 2, 3],
  "empty": [],
  "frames": [
    ["f", 7]
  ]
})");
}

TEST(JsonTextTest, NumbersAreWhatDumpWrites) {
  std::vector<double> numbers = {0.0,
                                 -0.0,
                                 1,
                                 -1,
                                 999999999999999,
                                 -999999999999999,
                                 1e15,
                                 -1e15,
                                 1e14,
                                 1e16,
                                 1e-9,
                                 123456.5,
                                 4503599627370497,
                                 1e300,
                                 1e-310,
                                 0.1,
                                 1e15 - 0.125,
                                 100000000000000.5};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double whole = static_cast<double>(static_cast<int64_t>(random()) >> (random() % 64));
    numbers.insert(numbers.end(), {whole, -whole, whole * 0.5, whole * 1000});
  }
  for (const double number : numbers) {
    JsonText text(2);
    text.Value(number);
    ASSERT_EQ(text.Take(), Json(number).dump());
  }
}

TEST(JsonTextTest, DeepLevelsAreIndented) {
  Json deep = 1;
  for (int i = 0; i < 60; ++i) deep = Json::array({deep, Json::object({{"a", 2}})});
  JsonText text(3);
  text.Tree(deep);
  EXPECT_EQ(text.Take(), Dumped(deep, 3));
}

TEST(JsonTextTest, TextOfAnotherWriterFitsIn) {
  JsonText text(2);
  text.Begin('[');
  JsonText part(2, text.level());
  part.Tree(Sample());
  const std::string word = part.Take();
  text.Word(word);
  text.Word(word);
  text.End(']');
  EXPECT_EQ(text.Take(), Dumped(Json::array({Sample(), Sample()}), 2));
}

}  // namespace
}  // namespace plateau::report
