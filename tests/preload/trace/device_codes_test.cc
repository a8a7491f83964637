#include "preload/trace/device_codes.h"

#include <gtest/gtest.h>

#include "preload/recorder/device_event.h"

namespace plateau::trace {
namespace {

template <typename Code>
constexpr int Number(Code code) {
  return static_cast<int>(code);
}

TEST(DeviceCodesTest, AreThoseOfTheEventsTheyComeFrom) {
  EXPECT_EQ(Number(DeviceOp::kAlloc), PLATEAU_DEVICE_ALLOC);
  EXPECT_EQ(Number(DeviceOp::kFree), PLATEAU_DEVICE_FREE);
  EXPECT_EQ(Number(DeviceOp::kOutOfMemory), PLATEAU_DEVICE_OOM);
  EXPECT_EQ(Number(DeviceOp::kReserve), PLATEAU_DEVICE_RESERVE);
  EXPECT_EQ(Number(DeviceOp::kUnreserve), PLATEAU_DEVICE_UNRESERVE);
  EXPECT_EQ(Number(DeviceOp::kCreate), PLATEAU_DEVICE_CREATE);
  EXPECT_EQ(Number(DeviceOp::kRelease), PLATEAU_DEVICE_RELEASE);
  EXPECT_EQ(Number(DeviceOp::kMap), PLATEAU_DEVICE_MAP);
  EXPECT_EQ(Number(DeviceOp::kUnmap), PLATEAU_DEVICE_UNMAP);
  EXPECT_EQ(Number(DeviceOp::kRetain), PLATEAU_DEVICE_RETAIN);
  EXPECT_EQ(Number(DeviceOp::kReset), PLATEAU_DEVICE_RESET);
  EXPECT_EQ(Number(DeviceOp::kCapture), PLATEAU_DEVICE_CAPTURE);
  EXPECT_EQ(Number(DeviceOp::kPool), PLATEAU_DEVICE_POOL);
  EXPECT_EQ(Number(DeviceLevel::kRuntime), PLATEAU_LEVEL_RUNTIME);
  EXPECT_EQ(Number(DeviceLevel::kDriver), PLATEAU_LEVEL_DRIVER);
  EXPECT_EQ(Number(DeviceLevel::kTensor), PLATEAU_LEVEL_TENSOR);
  EXPECT_EQ(Number(DeviceMemory::kDevice), PLATEAU_MEMORY_DEVICE);
  EXPECT_EQ(Number(DeviceMemory::kPinned), PLATEAU_MEMORY_PINNED);
  EXPECT_EQ(Number(DeviceMemory::kRegistered), PLATEAU_MEMORY_REGISTERED);
  EXPECT_EQ(Number(DeviceMemory::kManaged), PLATEAU_MEMORY_MANAGED);
  EXPECT_EQ(Number(DeviceMemory::kArray), PLATEAU_MEMORY_ARRAY);
  EXPECT_EQ(Number(DeviceMemory::kAsync), PLATEAU_MEMORY_ASYNC);
  EXPECT_EQ(Number(DeviceMemory::kImported), PLATEAU_MEMORY_IMPORTED);
}

}  // namespace
}  // namespace plateau::trace
