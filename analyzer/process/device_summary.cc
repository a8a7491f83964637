#include "analyzer/process/device_summary.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/process/process_pass.h"
#include "preload/trace/device_codes.h"

namespace plateau::report {
namespace {

using replay::DevicePool;

const char* LevelName(uint8_t level) {
  switch (static_cast<trace::DeviceLevel>(level)) {
    case trace::DeviceLevel::kRuntime:
      return "runtime";
    case trace::DeviceLevel::kDriver:
      return "driver";
    case trace::DeviceLevel::kTensor:
      return "torch";
  }
  return "unknown";
}

DeviceLevels LevelsOf(const replay::DeviceState& state) {
  DeviceLevels levels;
  levels.tensor_bytes = static_cast<int64_t>(state.tensor_bytes);
  levels.reserved_bytes = static_cast<int64_t>(state.reserved_bytes);
  levels.torch_reserved_bytes = static_cast<int64_t>(state.torch_reserved_bytes);
  levels.free_in_segments_bytes = static_cast<int64_t>(state.free_in_segments_bytes);
  levels.largest_free_bytes = static_cast<int64_t>(state.largest_free_bytes);
  levels.async_reserved_bytes = static_cast<int64_t>(state.pool_reserved_bytes);
  levels.async_used_bytes = static_cast<int64_t>(state.pool_used_bytes);
  levels.limit_bytes = static_cast<int64_t>(state.limit_bytes);
  levels.driver_used_bytes = static_cast<int64_t>(state.driver_used_bytes);
  levels.fragmentation = state.fragmentation();
  return levels;
}

}  // namespace

void DeviceSummary::Apply(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket) {
  if (bucket > last_bucket_ && !has_ended_) TakeEndings();
  ledger_.Apply(record, time, bucket);
}

void DeviceSummary::Finish() {
  ledger_.Finish();
  if (!has_ended_) TakeEndings();
}

void DeviceSummary::TakeEndings() {
  has_ended_ = true;
  for (const int32_t device : ledger_.devices()) {
    DeviceEnding ending;
    ending.device = device;
    ending.state = ledger_.StateOf(device);
    const auto level = [&](DevicePool::Kind kind) {
      const auto it = ledger_.pools().find({kind, device});
      return it == ledger_.pools().end() ? replay::DevicePoolLevel() : it->second;
    };
    ending.tensor_peak_bytes = level(DevicePool::Kind::kTensors).peak_bytes;
    ending.reserved_peak_bytes = level(DevicePool::Kind::kReserved).peak_bytes;
    ending.graph_private_bytes = level(DevicePool::Kind::kReserved).graph_private_bytes;
    if (const replay::TorchCheck* check = ledger_.CheckOf(device)) ending.check = *check;
    endings_.push_back(std::move(ending));
  }
}

std::vector<Device> DevicesOf(const ProcessPass& pass) {
  std::vector<Device> devices;
  for (const DeviceEnding& ending : pass.device_summary->endings()) {
    Device device;
    device.device = ending.device;
    device.levels = LevelsOf(ending.state);
    device.tensor_peak_bytes = static_cast<int64_t>(ending.tensor_peak_bytes);
    device.reserved_peak_bytes = static_cast<int64_t>(ending.reserved_peak_bytes);
    device.graph_private_bytes = static_cast<int64_t>(ending.graph_private_bytes);
    if (ending.check) {
      device.torch_check = TorchCheck{
          static_cast<int64_t>(ending.check->compared), static_cast<int64_t>(ending.check->mismatches),
          ending.check->last_difference, static_cast<int64_t>(ending.check->blocks_outside_segments),
          static_cast<int64_t>(ending.check->reserved_exceeded)};
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<OutOfMemory> RefusalsOf(const ProcessPass& pass) {
  std::vector<OutOfMemory> refusals;
  for (const replay::DeviceOutOfMemory& event : pass.device_summary->ledger().out_of_memory()) {
    OutOfMemory out;
    out.time_seconds = pass.Seconds(event.time);
    out.step = std::min(event.bucket, pass.clock.last_bucket());
    out.device = event.device;
    out.level = LevelName(event.level);
    out.call = event.api;
    out.requested_bytes = static_cast<int64_t>(event.bytes);
    out.levels = LevelsOf(event.state);
    const uint32_t node = pass.definitions.Canonical(event.stack);
    if (node != 0) {
      const uint32_t site = pass.site_table->SiteNode(node);
      const Frame& frame = pass.names->Shown(pass.definitions.nodes[site].location);
      out.site = SiteTitle(frame);
      out.file = frame.file;
      out.line = frame.line;
    } else {
      out.site = "[no stack]";
    }
    refusals.push_back(std::move(out));
  }
  return refusals;
}

}  // namespace plateau::report
