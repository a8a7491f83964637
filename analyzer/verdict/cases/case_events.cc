#include "analyzer/verdict/cases/case_events.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/series/series_accumulator.h"

namespace plateau::verdict {
namespace {

struct Block {
  uint32_t site = 0;
  int64_t birth_step = 0;
  double bytes = 0;
};

}  // namespace

absl::StatusOr<std::unordered_map<std::string, series::SiteSeries>> AccumulateEvents(std::string_view lines,
                                                                                     const std::string& name,
                                                                                     int64_t steps) {
  series::SeriesAccumulator accumulator({.max_buckets = std::max<int64_t>(steps, 1024)});
  std::unordered_map<std::string, uint32_t> sites;
  std::unordered_map<int64_t, Block> blocks;
  int64_t step = 0;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(lines.data(), lines.size()), '\n')) {
    ++line_number;
    if (line.empty()) continue;
    const auto bad = [&](absl::string_view what) {
      return absl::DataLossError(absl::StrCat(name, ": line ", line_number, ": ", what));
    };
    try {
      const auto event = nlohmann::json::parse(line.begin(), line.end());
      const std::string op = event.at("op").get<std::string>();
      if (op == "step") {
        const int64_t next = event.at("n").get<int64_t>();
        if (next < step || next > steps) return bad("the step is out of order");
        step = next;
      } else if (op == "a") {
        const auto [site, is_new] =
            sites.try_emplace(event.at("site").get<std::string>(), static_cast<uint32_t>(sites.size()));
        const double bytes = event.at("size").get<double>();
        const int64_t id = event.at("id").get<int64_t>();
        if (bytes < 0 || !blocks.try_emplace(id, Block{site->second, step, bytes}).second) {
          return bad("a block is allocated twice or has a negative size");
        }
        accumulator.OnAlloc(site->second, bytes, 1, step);
      } else if (op == "f") {
        const auto block = blocks.find(event.at("id").get<int64_t>());
        if (block == blocks.end()) return bad("a block is freed that was never allocated");
        accumulator.OnFree(block->second.site, block->second.birth_step, block->second.bytes, 1, step);
        blocks.erase(block);
      } else {
        return bad(absl::StrCat("unknown op \"", op, "\""));
      }
    } catch (const nlohmann::json::exception& error) {
      return bad(error.what());
    }
  }
  accumulator.Finish(steps);
  std::unordered_map<std::string, series::SiteSeries> result;
  for (const auto& [site_name, index] : sites) accumulator.Load(index, &result[site_name]);
  return result;
}

}  // namespace plateau::verdict
