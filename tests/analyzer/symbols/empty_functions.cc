// Functions that can never be reached have no code: others begin at their addresses.
#include <cstdlib>

namespace {

[[gnu::always_inline]] inline void* Inlined(int bytes) { return std::malloc(static_cast<size_t>(bytes) + 1); }

}  // namespace

void* g_kept;

[[gnu::noinline]] void Before(int n) {
  g_kept = Inlined(n);
  g_kept = Inlined(n * 2);
}
[[gnu::noinline]] void Never() { __builtin_unreachable(); }
[[gnu::noinline]] void After(int n) {
  g_kept = Inlined(n);
  g_kept = Inlined(n * 3);
}
[[gnu::noinline]] void NeverEither() { __builtin_unreachable(); }
[[gnu::noinline]] void Last(int n) {
  Before(n);
  After(n);
}
