#include "analyzer/process/device_rows.h"

#include <algorithm>

namespace plateau::process {

using replay::DeviceObject;
using replay::DevicePool;
using replay::Pool;

size_t DeviceRows::PoolIndex(const DevicePool& pool) {
  for (size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].pool == pool) return i;
  }
  pools_.push_back({.pool = pool});
  return pools_.size() - 1;
}

size_t DeviceRows::RowOf(const DeviceObject& object) {
  const size_t pool = PoolIndex(object.pool);
  const uint32_t node = definitions_.Canonical(object.stack);
  // What a library takes from the driver for itself is the library's; all else has the user's line.
  const bool is_librarys = object.is_from_driver && !object.is_torch_segment;
  const auto [it, is_new] = index_.try_emplace({pool, node, is_librarys}, rows_.size());
  if (is_new) {
    // Numbers behind the heap's pools, so that sites of different pools stay apart.
    const Pool number = static_cast<Pool>(replay::kPools + std::min<size_t>(pool, 200));
    const uint32_t site = is_librarys ? sites_.LibrarySiteOf(number, node) : sites_.SiteOf(number, node);
    rows_.push_back({.node = node, .site = site, .pool = number});
  }
  return it->second;
}

void DeviceRows::Move(Curve& curve, uint32_t bucket, double change) {
  if (curve.live.size() <= bucket) {
    curve.live.resize(bucket + 1, curve.now);
    curve.peak.resize(bucket + 1, curve.now);
  }
  curve.now += change;
  curve.live[bucket] = curve.now;
  curve.peak[bucket] = std::max(curve.peak[bucket], curve.now);
}

void DeviceRows::OnBorn(const DeviceObject& object) {
  replay::StackRow& row = rows_[RowOf(object)];
  const double bytes = static_cast<double>(object.bytes);
  row.alloc_bytes += bytes;
  row.alloc_count += 1;
  Move(pools_[PoolIndex(object.pool)], object.birth_bucket, bytes);
  if (object.is_torch_segment) Move(torch_segments_[object.device], object.birth_bucket, bytes);
  if (object.birth_bucket > last_bucket_) return;
  row.live_bytes += bytes;
  row.live_count += 1;
  row.peak_bytes = std::max(row.peak_bytes, row.live_bytes);
  if (object.pool.kind == DevicePool::Kind::kTensors) {
    tensors_.OnTensor(row.site, 1, bytes, object.birth_bucket);
  }
  if (IsJudged(object)) series_.OnAlloc(row.site, bytes, 1, object.birth_bucket);
}

void DeviceRows::OnDied(const DeviceObject& object, uint32_t bucket) {
  replay::StackRow& row = rows_[RowOf(object)];
  const double bytes = static_cast<double>(object.bytes);
  row.free_count += 1;
  if (object.birth_bucket == bucket) row.temporary_bytes += bytes;
  Move(pools_[PoolIndex(object.pool)], bucket, -bytes);
  if (object.is_torch_segment) Move(torch_segments_[object.device], bucket, -bytes);
  if (bucket > last_bucket_ || object.birth_bucket > last_bucket_) return;
  row.live_bytes -= bytes;
  row.live_count -= 1;
  if (object.pool.kind == DevicePool::Kind::kTensors) tensors_.OnTensor(row.site, -1, -bytes, bucket);
  if (IsJudged(object)) series_.OnFree(row.site, object.birth_bucket, bytes, 1, bucket);
}

std::string DeviceRows::PoolName(Pool pool) const {
  const size_t index = static_cast<size_t>(pool) - replay::kPools;
  return index < pools_.size() ? replay::DevicePoolName(pools_[index].pool) : "device";
}

std::vector<verdict::PoolCurve> DeviceRows::Curves(uint32_t last) const {
  std::vector<verdict::PoolCurve> curves;
  for (const Curve& pool : pools_) {
    verdict::PoolCurve curve;
    curve.name = replay::DevicePoolName(pool.pool);
    for (uint32_t bucket = 0; bucket <= last; ++bucket) {
      const bool is_known = bucket < pool.live.size();
      curve.step.push_back(bucket);
      curve.live.push_back(is_known ? pool.live[bucket] : pool.now);
      curve.live_peak.push_back(is_known ? pool.peak[bucket] : pool.now);
    }
    if (pool.pool.kind == DevicePool::Kind::kReserved) SetUsed(pool, &curve);
    curves.push_back(std::move(curve));
  }
  return curves;
}

void DeviceRows::SetUsed(const Curve& reserved, verdict::PoolCurve* curve) const {
  const auto segments = torch_segments_.find(reserved.pool.device);
  if (segments == torch_segments_.end()) return;
  const Curve* tensors = nullptr;
  for (const Curve& pool : pools_) {
    const bool is_inside = pool.pool == DevicePool{DevicePool::Kind::kTensors, reserved.pool.device};
    if (is_inside) tensors = &pool;
  }
  if (tensors == nullptr) return;
  curve->reserved = curve->live;
  for (size_t bucket = 0; bucket < curve->live.size(); ++bucket) {
    const auto at = [bucket](const Curve& c, const std::vector<double>& values) {
      return bucket < values.size() ? values[bucket] : c.now;
    };
    const double others = curve->reserved[bucket] - at(segments->second, segments->second.live);
    curve->live[bucket] = others + at(*tensors, tensors->live);
    curve->live_peak[bucket] = others + at(*tensors, tensors->peak);
  }
}

double DeviceRows::LiveAt(DevicePool::Kind kind, uint32_t bucket) const {
  double bytes = 0;
  for (const Curve& pool : pools_) {
    if (pool.pool.kind != kind) continue;
    bytes += bucket < pool.live.size() ? pool.live[bucket] : pool.now;
  }
  return bytes;
}

}  // namespace plateau::process
