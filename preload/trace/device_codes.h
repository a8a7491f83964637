// The codes in a DEVICE record: what happened, who saw it, which memory. Kept equal to the C enums of
// preload/recorder/device_event.h, which the recorder copies; a test compares them.
#ifndef PLATEAU_PRELOAD_TRACE_DEVICE_CODES_H_
#define PLATEAU_PRELOAD_TRACE_DEVICE_CODES_H_

#include <cstdint>

namespace plateau::trace {

enum class DeviceOp : uint8_t {
  kAlloc = 1,
  kFree = 2,
  kOutOfMemory = 3,
  kReserve = 4,
  kUnreserve = 5,
  kCreate = 6,
  kRelease = 7,
  kMap = 8,
  kUnmap = 9,
  kRetain = 10,
  kReset = 11,
  kCapture = 12,
  kPool = 13,
};

enum class DeviceLevel : uint8_t { kRuntime = 1, kDriver = 2, kTensor = 3 };

enum class DeviceMemory : uint8_t {
  kDevice = 1,
  kPinned = 2,
  kRegistered = 3,
  kManaged = 4,
  kArray = 5,
  kAsync = 6,
  kImported = 7,
};

}  // namespace plateau::trace

#endif  // PLATEAU_PRELOAD_TRACE_DEVICE_CODES_H_
