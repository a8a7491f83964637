#include "analyzer/report/builder/tensor_curves.h"

#include <string>
#include <utility>

#include "analyzer/base/whole_number.h"

namespace plateau::report {
namespace {

std::string PoolName(const process::ProcessAnalysis& process, size_t site) {
  return process.sites.IsOfDevice(site) ? process.PoolOf(site) : "host";
}

// A pool's exact sums; rounded once, at the end.
struct PoolLevels {
  std::string name;
  series::TensorLevels levels;
};

void Add(std::vector<double>* to, const std::vector<double>& from) {
  if (to->size() < from.size()) to->resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] += from[i];
}

series::TensorLevels LevelsOf(const process::ProcessAnalysis& process, size_t site) {
  return process.memory.tensors->Levels(site, process.memory.series->bucket_steps(),
                                        process.memory.series->buckets());
}

}  // namespace

std::vector<TensorCurve> TensorCurvesOf(const process::ProcessAnalysis& process) {
  std::vector<PoolLevels> pools = {{"host", {}}};
  for (size_t site = 0; site < process.memory.tensors->site_count(); ++site) {
    const series::TensorLevels levels = LevelsOf(process, site);
    if (levels.empty()) continue;
    const std::string name = PoolName(process, site);
    size_t at = 0;
    while (at < pools.size() && pools[at].name != name) ++at;
    if (at == pools.size()) pools.push_back({name, {}});
    Add(&pools[at].levels.count, levels.count);
    Add(&pools[at].levels.bytes, levels.bytes);
  }
  std::vector<TensorCurve> curves;
  for (const PoolLevels& pool : pools) {
    if (pool.levels.empty()) continue;
    curves.push_back({pool.name, Rounded(pool.levels.count), Rounded(pool.levels.bytes)});
  }
  return curves;
}

TensorCurve TensorCurveOf(const process::ProcessAnalysis& process, size_t site) {
  const series::TensorLevels levels = LevelsOf(process, site);
  return {PoolName(process, site), Rounded(levels.count), Rounded(levels.bytes)};
}

}  // namespace plateau::report
