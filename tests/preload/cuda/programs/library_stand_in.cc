// A library that carries its own CUDA runtime, as NCCL and cuBLAS do: it asks the driver, found by dlsym, for
// memory of its own. Called from Python by tests/e2e/cuda_report_test.py.
#include <dlfcn.h>
#include <stddef.h>

extern "C" int library_workspace(size_t bytes) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return -1;
  auto* init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto* retain = reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
  auto* use = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"));
  auto* alloc = reinterpret_cast<int (*)(void**, size_t)>(dlsym(driver, "cuMemAlloc_v2"));
  void* context = nullptr;
  void* memory = nullptr;
  if (init(0) != 0 || retain(&context, 0) != 0 || use(context) != 0) return -2;
  return alloc(&memory, bytes) == 0 ? 0 : -3;
}
