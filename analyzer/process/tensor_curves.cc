#include "analyzer/process/tensor_curves.h"

#include <string>
#include <utility>

#include "analyzer/report/whole_number.h"

namespace plateau::report {
namespace {

std::string PoolName(const ProcessPass& pass, size_t site) {
  return pass.IsDeviceSite(site) ? pass.PoolOf(site) : "host";
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

series::TensorLevels LevelsOf(const ProcessPass& pass, size_t site) {
  return pass.tensors.Levels(site, pass.series->bucket_steps(), pass.series->buckets());
}

}  // namespace

std::vector<TensorCurve> TensorCurvesOf(const ProcessPass& pass) {
  std::vector<PoolLevels> pools = {{"host", {}}};
  for (size_t site = 0; site < pass.tensors.site_count(); ++site) {
    const series::TensorLevels levels = LevelsOf(pass, site);
    if (levels.empty()) continue;
    const std::string name = PoolName(pass, site);
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

TensorCurve TensorCurveOf(const ProcessPass& pass, size_t site) {
  const series::TensorLevels levels = LevelsOf(pass, site);
  return {PoolName(pass, site), Rounded(levels.count), Rounded(levels.bytes)};
}

}  // namespace plateau::report
