// Device and pinned memory per call stack and site, beside the heap's rows.
//
// Listens to the device ledger, keeps one row per (pool, stack) and feeds the sites' series. Device pools
// overlap (tensors lie in what is reserved) and are not host memory, so they have their own curves and are
// never added to the host's totals. What a CUDA graph holds for itself is counted in the rows but not judged,
// and neither are the segments of torch's caching allocator: it keeps them for reuse. The pool "device N
// reserved" is judged as an allocator is: by what it holds beyond the tensors and the memory of others in it.
// Memory that came from the driver alone and is not torch's (cuBLAS, cuDNN, NCCL) has its library as site.
#ifndef PLATEAU_ANALYZER_PROCESS_DEVICE_ROWS_H_
#define PLATEAU_ANALYZER_PROCESS_DEVICE_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/device/device_ledger.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/site_table.h"
#include "analyzer/replay/stack_rows.h"
#include "analyzer/series/series_accumulator.h"
#include "analyzer/series/tensor_series.h"
#include "analyzer/verdict/evidence_bundle.h"

namespace plateau::process {

class DeviceRows final : public replay::DevicePoolListener {
 public:
  // All must outlive this object. Events of buckets after `last_bucket` change nothing that is retained.
  DeviceRows(const replay::Definitions* definitions, replay::SiteTable* sites,
             series::SeriesAccumulator* series, series::TensorSeries* tensors, uint32_t last_bucket)
      : definitions_(*definitions),
        sites_(*sites),
        series_(*series),
        tensors_(*tensors),
        last_bucket_(last_bucket) {}

  void OnBorn(const replay::DeviceObject& object) override;
  void OnDied(const replay::DeviceObject& object, uint32_t bucket) override;

  const std::vector<replay::StackRow>& rows() const { return rows_; }
  // Name of a site's pool: "device 0 tensors". `pool` is one of the rows'.
  std::string PoolName(replay::Pool pool) const;
  // Live bytes per pool over the buckets 0..last.
  std::vector<verdict::PoolCurve> Curves(uint32_t last) const;
  // Live bytes of all pools of a kind at the end of a bucket.
  double LiveAt(replay::DevicePool::Kind kind, uint32_t bucket) const;

 private:
  struct Curve {
    replay::DevicePool pool;
    std::vector<double> live;  // at the end of each bucket so far
    std::vector<double> peak;
    double now = 0;
  };
  static bool IsJudged(const replay::DeviceObject& object) {
    return !object.is_graph_private && !object.is_torch_segment;
  }
  static void Move(Curve& curve, uint32_t bucket, double change);
  // What is used of a reserved pool: tensors, and what is not torch's.
  void SetUsed(const Curve& reserved, verdict::PoolCurve* curve) const;
  size_t PoolIndex(const replay::DevicePool& pool);
  size_t RowOf(const replay::DeviceObject& object);

  const replay::Definitions& definitions_;
  replay::SiteTable& sites_;
  series::SeriesAccumulator& series_;
  series::TensorSeries& tensors_;
  const uint32_t last_bucket_;
  std::vector<Curve> pools_;
  std::vector<replay::StackRow> rows_;
  std::map<std::tuple<size_t, uint32_t, bool>, size_t> index_;  // (pool, node, is it a library's) -> row
  std::map<int32_t, Curve> torch_segments_;                     // by device
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_DEVICE_ROWS_H_
