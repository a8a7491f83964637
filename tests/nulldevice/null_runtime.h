// How the null libcudart reaches the driver: as the real one does, by dlopen("libcuda.so.1"), dlsym() of
// cuGetProcAddress_v2, and that for all the rest.
#ifndef PLATEAU_TESTS_NULLDEVICE_NULL_RUNTIME_H_
#define PLATEAU_TESTS_NULLDEVICE_NULL_RUNTIME_H_

#include <cstddef>
#include <cstdint>

#define NULL_EXPORT extern "C" __attribute__((visibility("default")))

namespace nulldevice {

inline constexpr int kInsufficientDriver = 35;
inline constexpr uint64_t kPerThreadStream = 2;

// A driver function by name, null without a driver.
void* DriverFunction(const char* name, uint64_t flags = 0);

// The driver's own answer to a program's question.
int AskDriver(const char* name, void** function, int version, uint64_t flags, int* status);

// Makes the thread's device current, keeps the result for cudaGetLastError() and passes it on.
void EnsureContext();
int Remember(int result);

// Calls driver function `name`; the found pointer is kept per call site.
#define NULL_DRIVER(type, name, ...)                                                      \
  [&]() -> int {                                                                          \
    static auto* function = reinterpret_cast<type*>(nulldevice::DriverFunction(name));    \
    return function == nullptr ? nulldevice::kInsufficientDriver : function(__VA_ARGS__); \
  }()

}  // namespace nulldevice

#endif  // PLATEAU_TESTS_NULLDEVICE_NULL_RUNTIME_H_
