// Binds functions that got a newer symbol version in glibc 2.34 to their first one, so that one libplateau.so loads on
// every glibc since 2.17. They moved from libpthread and libdl into libc then and do the same as before.
//
// A file that calls one of them includes this header. tests/checks/symbol_versions.sh fails when the built library needs
// anything newer. The library names libpthread.so.0 and libdl.so.2 as needed, which hold the functions in older versions
// and are empty in newer ones.
#ifndef PLATEAU_PRELOAD_BASE_OLD_GLIBC_H_
#define PLATEAU_PRELOAD_BASE_OLD_GLIBC_H_

#if defined(__x86_64__)
#define PLATEAU_FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define PLATEAU_FIRST_VERSION "GLIBC_2.17"
#endif

#if defined(PLATEAU_FIRST_VERSION)
__asm__(".symver pthread_key_create,pthread_key_create@" PLATEAU_FIRST_VERSION);
__asm__(".symver pthread_setspecific,pthread_setspecific@" PLATEAU_FIRST_VERSION);
__asm__(".symver dlsym,dlsym@" PLATEAU_FIRST_VERSION);
#endif

#endif  // PLATEAU_PRELOAD_BASE_OLD_GLIBC_H_
