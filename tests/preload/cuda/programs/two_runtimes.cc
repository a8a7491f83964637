// usage: two_runtimes PLUGIN_12 PLUGIN_13 ROUNDS: two plugins with two different libcudarts in one process,
// both RTLD_LOCAL, loaded and unloaded ROUNDS times. Each must reach its own runtime: the error that one
// causes is remembered by that one alone.
#include "tests/preload/cuda/programs/program.h"

namespace {

struct Plugin {
  explicit Plugin(const char* path) : handle(Open(path)) {}
  template <typename Type>
  Type* Get(const char* name) const {
    return reinterpret_cast<Type*>(dlsym(handle, name));
  }
  void* handle;
};

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 4);
  using Alloc = int(void**, size_t);
  using Free = int(void*);
  using Ask = int();
  for (int round = 0; round < atoi(argv[3]); ++round) {
    const Plugin twelve(argv[1]);
    const Plugin thirteen(argv[2]);
    REQUIRE(twelve.Get<Ask>("plugin_version")() == 12040);
    REQUIRE(thirteen.Get<Ask>("plugin_version")() == 13000);
    void* p = nullptr;
    REQUIRE(twelve.Get<Alloc>("plugin_alloc")(&p, size_t{1} << 40) == 1002);
    REQUIRE(thirteen.Get<Ask>("plugin_last_error")() == 1000);
    REQUIRE(twelve.Get<Ask>("plugin_last_error")() == 1002);
    REQUIRE(thirteen.Get<Alloc>("plugin_alloc")(&p, 10013) == 1000);
    REQUIRE(twelve.Get<Free>("plugin_free")(p) == 1000);
    REQUIRE(twelve.Get<Alloc>("plugin_alloc")(&p, 10012) == 1000);
    REQUIRE(thirteen.Get<Free>("plugin_free")(p) == 1000);
    dlclose(twelve.handle);
    dlclose(thirteen.handle);
  }
}
