#include "analyzer/process/device_summary.h"

#include <utility>

namespace plateau::process {

using replay::DevicePool;

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
    endings_.push_back(ending);
  }
}

}  // namespace plateau::process
