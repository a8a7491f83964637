// The corners of the malloc family, printed with results and errno, to be compared with a run without the
// shim.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Walloc-size-larger-than="
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern "C" void* reallocarray(void*, size_t, size_t) noexcept;

static void Show(const char* what, long result) {
  printf("%s: %ld errno %d\n", what, result, errno);
  errno = 4242;
}
static long Has(const void* p) { return p != nullptr; }

int main() {
  volatile size_t huge = SIZE_MAX / 2;
  errno = 4242;
  void* p = malloc(0);
  Show("malloc 0", Has(p));
  free(p);
  Show("free", 0);
  free(nullptr);
  Show("free null", 0);
  Show("malloc huge", Has(malloc(huge)));
  Show("calloc overflow", Has(calloc(huge, 4)));
  Show("calloc huge", Has(calloc(huge, 1)));
  p = calloc(100, 100);
  long sum = 0;
  for (int i = 0; i < 10000; ++i) sum += static_cast<char*>(p)[i];
  Show("calloc is zero", sum);
  memset(p, 7, 10000);
  Show("realloc huge", Has(realloc(p, huge)));
  Show("block survives", static_cast<char*>(p)[9999]);
  p = realloc(p, 20000);
  Show("realloc grows", static_cast<char*>(p)[9999]);
  Show("reallocarray overflow", Has(reallocarray(p, huge, 8)));
  Show("block survives", static_cast<char*>(p)[9999]);
  p = reallocarray(p, 10, 3000);
  Show("reallocarray", static_cast<char*>(p)[9999]);
  Show("realloc to 0", Has(realloc(p, 0)));
  Show("realloc null", Has(p = realloc(nullptr, 10001)));
  free(p);
  p = reinterpret_cast<void*>(77);
  Show("posix_memalign bad alignment", posix_memalign(&p, 3, 100));
  Show("out is left alone", reinterpret_cast<long>(p));
  Show("posix_memalign huge", posix_memalign(&p, 64, huge));
  Show("out is left alone", reinterpret_cast<long>(p));
  Show("posix_memalign", posix_memalign(&p, 4096, 10001));
  Show("aligned", reinterpret_cast<long>(p) % 4096);
  free(p);
  p = aligned_alloc(256, 10240);
  Show("aligned_alloc", reinterpret_cast<long>(p) % 256);
  free(p);
  p = memalign(512, 10001);
  Show("memalign", reinterpret_cast<long>(p) % 512);
  free(p);
  p = valloc(10001);
  Show("valloc", reinterpret_cast<long>(p) % 4096);
  free(p);
  p = pvalloc(10001);
  Show("pvalloc", reinterpret_cast<long>(p) % 4096 + (malloc_usable_size(p) >= 12288 ? 0 : 1));
  free(p);
  Show("memalign huge", Has(memalign(64, huge)));
  p = malloc(24);
  Show("usable size", static_cast<long>(malloc_usable_size(p)));
  memset(p, 1, malloc_usable_size(p));
  free(p);
  Show("mmap bad", mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  Show("munmap bad", munmap(reinterpret_cast<void*>(1), 4096));
  p = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Show("mmap", p != MAP_FAILED);
  Show("munmap middle", munmap(static_cast<char*>(p) + 4096, 4096));
  Show("mremap bad", mremap(reinterpret_cast<void*>(4096), 4096, 8192, 0) == MAP_FAILED);
  p = mremap(p, 4096, 1 << 20, MREMAP_MAYMOVE);
  Show("mremap", p != MAP_FAILED);
  Show("munmap", munmap(p, 1 << 20));
  char* before = static_cast<char*>(sbrk(0));
  Show("sbrk grows", static_cast<char*>(sbrk(65536)) - before);
  Show("brk shrinks", brk(before));
  Show("sbrk huge", sbrk(INTPTR_MAX) == reinterpret_cast<void*>(-1));
  return 0;
}
