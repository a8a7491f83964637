#include "analyzer/process/names/symbols_ahead.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

namespace plateau::process {
namespace {

constexpr size_t kModulesReadAhead = 3;  // the others are small

std::vector<replay::Module> MostCalledModules(const replay::Definitions& definitions) {
  std::vector<std::pair<uint32_t, uint32_t>> counts(definitions.modules.size());  // and the number
  for (uint32_t i = 0; i < counts.size(); ++i) counts[i].second = i;
  for (const replay::Location& location : definitions.locations) {
    if (location.kind == replay::Location::Kind::kNative && location.owner < counts.size())
      ++counts[location.owner].first;
  }
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::vector<replay::Module> modules;
  for (const auto& [count, module] : counts) {
    if (count > 0 && modules.size() < kModulesReadAhead) modules.push_back(definitions.modules[module]);
  }
  return modules;
}

}  // namespace

void SymbolsAhead::Read(const replay::Definitions& definitions) {
  readers_.emplace_back([this, modules = MostCalledModules(definitions)](const std::stop_token& stop) {
    for (const replay::Module& module : modules) {
      if (stop.stop_requested()) return;
      symbolizer_.ReadAhead(module.path, module.build_id);
    }
  });
}

void SymbolsAhead::Stop() {
  for (std::jthread& reader : readers_) reader.request_stop();
}

}  // namespace plateau::process
