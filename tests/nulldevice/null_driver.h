// What the two halves of the null driver share: null_driver.cc (contexts, lookup) and null_driver_memory.cc.
#ifndef PLATEAU_TESTS_NULLDEVICE_NULL_DRIVER_H_
#define PLATEAU_TESTS_NULLDEVICE_NULL_DRIVER_H_

#include <cstddef>
#include <cstdint>

#include "tests/nulldevice/null_memory.h"

#define NULL_EXPORT extern "C" __attribute__((visibility("default")))

namespace nulldevice {

int DeviceCount();
int DeviceOf(const void* context);
void* CurrentContext();
// A handle that is like no other.
void* NewObject();

}  // namespace nulldevice

#endif  // PLATEAU_TESTS_NULLDEVICE_NULL_DRIVER_H_
