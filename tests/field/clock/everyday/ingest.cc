// C++: reads generated lines in blocks, parses them and counts; keeps all records, those of the last 4 blocks, or none. ok|leak|last ; 250 blocks
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct Record {
  std::string name;
  double value;
};

std::string ReadBlock(int block) {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text +=
        "station-number-" + std::to_string((block * 31 + i) % 500) + ";" + std::to_string(i * 0.25) + "\n";
  return text;
}

std::vector<Record> Parse(std::string_view text) {
  std::vector<Record> records;
  while (!text.empty()) {
    const size_t end = text.find('\n'), middle = text.find(';');
    std::string name(text.substr(0, middle));  // HOLD
    const double value = std::stod(std::string(text.substr(middle + 1, end - middle - 1)));
    records.push_back({std::move(name), value});  // HOLD
    text.remove_prefix(end + 1);
  }
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  std::unordered_map<std::string, double> sums;
  std::deque<std::vector<Record>> kept;
  for (int block = 0; block < 250; ++block) {
    std::vector<Record> records = Parse(ReadBlock(block));
    for (const Record& one : records) sums[one.name] += one.value;
    if (kind != "ok") kept.push_back(std::move(records));
    if (kind == "last" && kept.size() > 4) kept.pop_front();
  }
  std::printf("COUNT blocks=250 stations=%zu\n", sums.size());
}
