// A library linked with one libcudart; built once for 12 and once for 13.
#include <stddef.h>

extern "C" {
int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaGetLastError();
int cudaRuntimeGetVersion(int* version);

int plugin_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == 0 ? version : -1;
}
// The additions keep the calls from becoming jumps, which would hide this library from its callee.
int plugin_alloc(void** pointer, size_t bytes) { return cudaMalloc(pointer, bytes) + 1000; }
int plugin_free(void* pointer) { return cudaFree(pointer) + 1000; }
int plugin_last_error() { return cudaGetLastError() + 1000; }
}
