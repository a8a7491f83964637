// What is said about each device beyond its pools: how full it was when the training ended, how torn its free
// memory, whether torch's own totals agree with ours, and every request that was refused with the state of
// the device at that moment.
//
// It stands before the ledger, because the state of interest is the one before the teardown that follows the
// last step. Not thread-safe. Records must come in the order of time.
#ifndef PLATEAU_ANALYZER_PROCESS_DEVICE_SUMMARY_H_
#define PLATEAU_ANALYZER_PROCESS_DEVICE_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/device/device_ledger.h"

namespace plateau::process {

struct DeviceEnding {
  int32_t device = -1;
  replay::DeviceState state;
  uint64_t tensor_peak_bytes = 0;
  uint64_t reserved_peak_bytes = 0;
  uint64_t graph_private_bytes = 0;
  std::optional<replay::TorchCheck> check;  // absent where torch reported no block
};

class DeviceSummary {
 public:
  // `listener` as for the ledger. The state is taken when the first event behind `last_bucket` comes.
  DeviceSummary(replay::DevicePoolListener* listener, uint32_t last_bucket)
      : ledger_(listener), last_bucket_(last_bucket) {}

  void Apply(const trace::DeviceRecord& record, uint64_t time, uint32_t bucket);
  // Call after the last record.
  void Finish();

  const replay::DeviceLedger& ledger() const { return ledger_; }
  const std::vector<DeviceEnding>& endings() const { return endings_; }

 private:
  void TakeEndings();

  replay::DeviceLedger ledger_;
  const uint32_t last_bucket_;
  bool has_ended_ = false;
  std::vector<DeviceEnding> endings_;
};

}  // namespace plateau::process

#endif  // PLATEAU_ANALYZER_PROCESS_DEVICE_SUMMARY_H_
