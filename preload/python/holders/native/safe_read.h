// Reads of memory that another thread may give back at any moment: through the kernel, which answers instead of
// letting the program fault.
//
// Allocates: never. Locks: never. False where the memory is gone, or the kernel or a filter forbids the call.
#ifndef PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_SAFE_READ_H_
#define PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_SAFE_READ_H_

#include <cstddef>
#include <cstdint>

#include "preload/base/system_call.h"

namespace plateau::python::holders {

inline bool SafeRead(uintptr_t address, void* out, size_t bytes) {
  if (bytes == 0) return true;
  iovec here = {out, bytes};
  iovec there = {reinterpret_cast<void*>(address), bytes};
  const long got = sys::Call(SYS_process_vm_readv, sys::Getpid(), sys::Arg(&here), 1, sys::Arg(&there), 1, 0);
  return got == static_cast<long>(bytes);
}

}  // namespace plateau::python::holders

#endif  // PLATEAU_PRELOAD_PYTHON_HOLDERS_NATIVE_SAFE_READ_H_
