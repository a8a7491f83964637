// Allocates with every form of operator new: 1,000 blocks of 10001 and keeps 400, others once each.
#include <stdio.h>
#include <stdlib.h>

#include <new>

int main() {
  static char* blocks[1000];
  for (char*& block : blocks) block = new char[10001];
  for (int i = 0; i < 600; ++i) delete[] blocks[i];
  constexpr std::align_val_t kAlignment{64};
  void* aligned = operator new(10002, kAlignment);
  operator delete(aligned, kAlignment);
  operator delete(operator new(10003), static_cast<size_t>(10003));
  operator delete[](operator new[](10004, std::nothrow), std::nothrow);
  void* kept = operator new[](10005, kAlignment, std::nothrow);
  free(malloc(10006));
  bool has_thrown = false;
  try {
    volatile size_t too_many = size_t{1} << 62;
    kept = operator new(too_many);
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  void* none = operator new(static_cast<size_t>(1) << 61, std::nothrow);
  puts(has_thrown && none == nullptr && kept != nullptr ? "ok" : "wrong");
  return 0;
}
