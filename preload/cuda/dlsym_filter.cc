#include "preload/cuda/dlsym_filter.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/base/module_walk.h"
#include "preload/base/real_symbol.h"
#include "preload/cuda/loader_state.h"
#include "preload/cuda/wrapper_slots.h"

constinit PlateauDlsym* plateau_cuda_real_dlsym = nullptr;

namespace plateau::cuda {
namespace {

constexpr char kDriverLibrary[] = "libcuda.so";

// Answers when there is no dlsym behind us, which no libc should make possible.
void* NothingFound(void*, const char*) { return nullptr; }

void FindRealDlsym() {
  auto* real = reinterpret_cast<PlateauDlsym*>(FindRealSymbol("dlsym", nullptr));
  __atomic_store_n(&plateau_cuda_real_dlsym, real != nullptr ? real : &NothingFound, __ATOMIC_RELEASE);
}

__attribute__((constructor)) void FindEarly() {
  PrepareModuleWalks();
  FindRealDlsym();
}

}  // namespace
}  // namespace plateau::cuda

void* plateau_cuda_dlsym_filter(void* handle, const char* name, const void* return_address) {
  using namespace plateau::cuda;
  if (__atomic_load_n(&plateau_cuda_real_dlsym, __ATOMIC_ACQUIRE) == nullptr) FindRealDlsym();
  if (name == nullptr || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return nullptr;
  if (name[0] != 'c' || name[1] != 'u' || !IsWrappedName(name)) return nullptr;
  if (IsInLibrary(return_address, kDriverLibrary)) return nullptr;
  const int saved_errno = errno;
  void* real = plateau_cuda_real_dlsym(handle, name);
  if (real == nullptr) {
    errno = saved_errno;
    return nullptr;
  }
  return WrapByName(name, real);
}
