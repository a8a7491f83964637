// Tensors and device memory: how full each device is, and which requests were refused. Part of report_model.h.
#ifndef PLATEAU_ANALYZER_REPORT_MODEL_DEVICES_H_
#define PLATEAU_ANALYZER_REPORT_MODEL_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plateau::report {

// Live tensors by step in one pool: "host", or "device 0 tensors".
struct TensorCurve {
  std::string pool;
  std::vector<int64_t> live_count;  // at the end of each bucket of ReportModel::axis_steps
  std::vector<int64_t> live_bytes;
};

// How full a device is at one moment. Tensors lie inside torch's segments, these inside what is reserved.
struct DeviceLevels {
  int64_t tensor_bytes = 0;            // live blocks of torch's caching allocator
  int64_t reserved_bytes = 0;          // what the driver has given to this process
  int64_t torch_reserved_bytes = 0;    // as torch says; 0 when it says nothing
  int64_t free_in_segments_bytes = 0;  // torch's, held and unused
  int64_t largest_free_bytes = 0;      // the largest piece of it
  int64_t async_reserved_bytes = 0;    // of the pools of stream-ordered memory
  int64_t async_used_bytes = 0;
  int64_t limit_bytes = 0;        // memory of the device; 0 while unknown: asked when a request is refused
  int64_t driver_used_bytes = 0;  // of it in use then, by all processes
  double fragmentation = 0;       // share of the free bytes outside the largest piece, 0 to 1
};

// The totals torch passes along with each of its blocks, against ours.
struct TorchComparison {
  int64_t compared = 0;
  int64_t mismatches = 0;  // times the difference changed; 0: equal all along
  int64_t last_difference_bytes = 0;
  int64_t blocks_outside_segments = 0;
  int64_t reserved_exceeded = 0;  // times torch claimed more than the driver level shows
};

// A device when the training ended.
struct Device {
  int device = -1;
  DeviceLevels levels;
  int64_t tensor_peak_bytes = 0;
  int64_t reserved_peak_bytes = 0;
  int64_t graph_private_bytes = 0;  // of CUDA graphs
  std::optional<TorchComparison> torch_check;
};

// A request for device memory that was refused, with the device's state at that moment.
struct OutOfMemory {
  double time_seconds = 0;
  double step = 0;
  int device = -1;
  std::string level;  // who was refused: "runtime", "driver", "torch"
  std::string call;
  int64_t requested_bytes = 0;
  DeviceLevels levels;
  std::string site;  // "train.py:42 in forward"
  std::string file;
  int line = 0;
};

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_MODEL_DEVICES_H_
