// Maps, unmaps in part, remaps and moves the break; ends with known ranges, which it prints: "address bytes".
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char* Map(size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS) {
  return static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0));
}

int main() {
  char* whole = Map(16 * 4096);
  char* split = Map(16 * 4096);
  munmap(split + 4 * 4096, 4 * 4096);
  char* gone = Map(64 * 4096);
  munmap(gone, 64 * 4096);
  char* moved = static_cast<char*>(mremap(Map(4096), 4096, 33 * 4096, MREMAP_MAYMOVE));
  char* shared = Map(8 * 4096, MAP_SHARED | MAP_ANONYMOUS);
  char* over = Map(32 * 4096);
  mmap(over + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  sbrk(123 * 4096);
  printf("%p %d\n%p %d\n%p %d\n%p %d\n%p %d\n%p %d\n", static_cast<void*>(whole), 16 * 4096,
         static_cast<void*>(split), 4 * 4096, static_cast<void*>(split + 8 * 4096), 8 * 4096,
         static_cast<void*>(moved), 33 * 4096, static_cast<void*>(shared), 8 * 4096, static_cast<void*>(over),
         32 * 4096);
  return 0;
}
