// The one trick of the CUDA shim: our dlsym() gives wrappers for the names of cuda_calls.inc and is
// transparent for all others.
//
// libcudart, cuBLAS, cuDNN, NCCL and PyTorch find the driver by dlopen("libcuda.so.1") and dlsym(). Linking
// order has no say there, so this is the only place to stand. The rules, each learned from a program that
// broke without it:
//   - exact names only: cudnnCreate and cublasCreate begin with "cu" as well;
//   - the real dlsym is asked first and a null answer stays null;
//   - RTLD_NEXT and RTLD_DEFAULT are never answered: they depend on the caller's place in the search order,
//   so
//     dlsym_entry.S jumps to the real dlsym with the caller's return address untouched;
//   - lookups made by libcuda itself are left alone;
//   - an answer that is one of our own exported functions stays as it is.
//
// Allocates: never. Locks: the loader's list lock. Throws: never. errno and dlerror(): as the real dlsym
// leaves them.
#ifndef PLATEAU_PRELOAD_CUDA_DLSYM_FILTER_H_
#define PLATEAU_PRELOAD_CUDA_DLSYM_FILTER_H_

// The next dlsym in the process: libc's, or another interposer's that comes after us. Found before first use.
using PlateauDlsym = void*(void* handle, const char* name);
extern "C" __attribute__((visibility("hidden"))) PlateauDlsym* plateau_cuda_real_dlsym;

// Called by dlsym_entry.S. Returns the wrapper for the program, or null when the real dlsym shall answer.
extern "C" __attribute__((visibility("hidden"))) void* plateau_cuda_dlsym_filter(void* handle,
                                                                                 const char* name,
                                                                                 const void* return_address);

#endif  // PLATEAU_PRELOAD_CUDA_DLSYM_FILTER_H_
