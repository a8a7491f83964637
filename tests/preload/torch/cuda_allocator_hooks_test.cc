#include "preload/torch/cuda_allocator_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>

#include <vector>

#include "preload/recorder/device_event.h"

namespace {
std::vector<struct plateau_device_event>& Events() {
  static auto* events = new std::vector<struct plateau_device_event>;
  return *events;
}
}  // namespace

// Stands in for libplateau.so.
extern "C" void plateau_device_event(const struct plateau_device_event* event) {
  Events().push_back(*event);
  errno = 5;  // a careless recorder must not be seen by torch
}

namespace plateau {
namespace {

using ReportFunction = void(int, void*, int64_t, int64_t, int64_t, uint64_t);

class CudaAllocatorHooksTest : public testing::Test {
 protected:
  void SetUp() override {
    void* caller = dlopen(LIBRARY_DIR "/libfake_c10_cuda.so", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(caller, nullptr) << dlerror();
    report_ = reinterpret_cast<ReportFunction*>(dlsym(caller, "fake_c10_cuda_report"));
    seen_ = reinterpret_cast<int64_t*>(dlsym(caller, "fake_c10_seen"));
    calls_ = reinterpret_cast<int*>(dlsym(caller, "fake_c10_calls"));
    *calls_ = 0;
    Events().clear();
  }

  void ExpectForwarded(std::vector<int64_t> expected) {
    EXPECT_EQ(*calls_, 1);
    EXPECT_EQ(std::vector<int64_t>(seen_, seen_ + 6), expected);
  }

  ReportFunction* report_ = nullptr;
  int64_t* seen_ = nullptr;
  int* calls_ = nullptr;
};

constexpr uint64_t kCuda3 = 0x0301;
void* const kBlock = reinterpret_cast<void*>(0x7f0000001000);

TEST_F(CudaAllocatorHooksTest, UnsignedSignatureRecordsTotalsAndForwards) {
  errno = 77;
  report_(3, kBlock, 10240, 20480, 2097152, kCuda3);
  EXPECT_EQ(errno, 77);
  ASSERT_EQ(Events().size(), 1u);
  const struct plateau_device_event& event = Events()[0];
  EXPECT_EQ(event.op, PLATEAU_DEVICE_ALLOC);
  EXPECT_EQ(event.level, PLATEAU_LEVEL_TENSOR);
  EXPECT_EQ(event.device, 3);
  EXPECT_EQ(event.address, 0x7f0000001000u);
  EXPECT_EQ(event.bytes, 10240u);
  EXPECT_EQ(event.total_bytes, 20480u);
  EXPECT_EQ(event.reserved_bytes, 2097152u);
  EXPECT_NE(event.frame, nullptr);
  ExpectForwarded({3, 0x7f0000001000, 10240, 20480, 2097152, 0x0301});
}

TEST_F(CudaAllocatorHooksTest, NegativeSizeIsAFreeOfThatManyBytes) {
  report_(2, kBlock, -512, 0, 2097152, kCuda3);
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(Events()[0].op, PLATEAU_DEVICE_FREE);
  EXPECT_EQ(Events()[0].bytes, 512u);
  EXPECT_EQ(Events()[0].reserved_bytes, 2097152u);
  ExpectForwarded({2, 0x7f0000001000, -512, 0, 2097152, 0x0301});
}

TEST_F(CudaAllocatorHooksTest, OldestSignatureHasNoTotals) {
  report_(1, kBlock, 512, 111, 222, kCuda3);
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_EQ(Events()[0].bytes, 512u);
  EXPECT_EQ(Events()[0].total_bytes, 0u);
  EXPECT_EQ(Events()[0].reserved_bytes, 0u);
  ExpectForwarded({1, 0x7f0000001000, 512, 0, 0, 0x0301});
}

TEST_F(CudaAllocatorHooksTest, OutOfMemoryIsAnEventWithTheStateAtThatMoment) {
  for (int which : {4, 5}) {
    *calls_ = 0;
    Events().clear();
    report_(which, nullptr, 1 << 30, 4096, 8192, kCuda3);
    ASSERT_EQ(Events().size(), 1u);
    EXPECT_EQ(Events()[0].op, PLATEAU_DEVICE_OOM);
    EXPECT_EQ(Events()[0].bytes, 1u << 30);
    EXPECT_EQ(Events()[0].total_bytes, 4096u);
    EXPECT_EQ(Events()[0].reserved_bytes, 8192u);
    ExpectForwarded({which, 0, 1 << 30, 4096, 8192, 0x0301});
  }
}

TEST_F(CudaAllocatorHooksTest, OtherDevicesAreForwardedOnly) {
  report_(3, kBlock, 512, 0, 0, 0xff00);  // CPU, index -1
  EXPECT_TRUE(Events().empty());
  ExpectForwarded({3, 0x7f0000001000, 512, 0, 0, 0xff00});
}

TEST_F(CudaAllocatorHooksTest, AllHooksAreExported) {
  for (const char* symbol : kCudaAllocatorHookSymbols) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, symbol), nullptr) << symbol;
  }
}

}  // namespace
}  // namespace plateau
