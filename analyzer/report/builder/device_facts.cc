#include "analyzer/report/builder/device_facts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "preload/trace/device_codes.h"

namespace plateau::report {
namespace {

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

std::vector<Device> DevicesOf(const process::DeviceSummary& summary) {
  std::vector<Device> devices;
  for (const process::DeviceEnding& ending : summary.endings()) {
    Device device;
    device.device = ending.device;
    device.levels = LevelsOf(ending.state);
    device.tensor_peak_bytes = static_cast<int64_t>(ending.tensor_peak_bytes);
    device.reserved_peak_bytes = static_cast<int64_t>(ending.reserved_peak_bytes);
    device.graph_private_bytes = static_cast<int64_t>(ending.graph_private_bytes);
    if (ending.check) {
      device.torch_check = TorchComparison{
          static_cast<int64_t>(ending.check->compared), static_cast<int64_t>(ending.check->mismatches),
          ending.check->last_difference, static_cast<int64_t>(ending.check->blocks_outside_segments),
          static_cast<int64_t>(ending.check->reserved_exceeded)};
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<OutOfMemory> RefusalsOf(const process::ProcessAnalysis& process) {
  std::vector<OutOfMemory> refusals;
  for (const replay::DeviceOutOfMemory& event : process.memory.device_summary->ledger().out_of_memory()) {
    OutOfMemory out;
    out.time_seconds = process.trace.Seconds(event.time);
    out.step = std::min(event.bucket, process.clock.steps.last_bucket());
    out.device = event.device;
    out.level = LevelName(event.level);
    out.call = event.api;
    out.requested_bytes = static_cast<int64_t>(event.bytes);
    out.levels = LevelsOf(event.state);
    const uint32_t node = process.trace.definitions.Canonical(event.stack);
    if (node != 0) {
      const uint32_t site = process.sites.table->SiteNode(node);
      const Frame& frame = process.sites.names->Shown(process.trace.definitions.nodes[site].location);
      out.site = process::SiteTitle(frame);
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
