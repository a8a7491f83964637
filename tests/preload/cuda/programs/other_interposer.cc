// Another preloaded library of the same trade: wraps dlsym and cudaMalloc and passes both on to whoever is
// next.
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

namespace {

using Dlsym = void*(void*, const char*);
using Malloc = int(void**, size_t);

Dlsym* NextDlsym() {
  static auto* next = reinterpret_cast<Dlsym*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return next;
}

int g_lookups = 0;
int g_mallocs = 0;

__attribute__((destructor)) void Tell() {
  fprintf(stderr, "other: %d lookups, %d mallocs\n", g_lookups, g_mallocs);
}

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) {
  ++g_lookups;
  return NextDlsym()(handle, name);
}

extern "C" int cudaMalloc(void** pointer, size_t bytes) {
  ++g_mallocs;
  auto* next = reinterpret_cast<Malloc*>(NextDlsym()(RTLD_NEXT, "cudaMalloc"));
  return next == nullptr ? 35 : next(pointer, bytes);
}
