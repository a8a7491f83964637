#include "analyzer/symbols/unit_functions.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/symbols/elf_image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::symbols {
namespace {

// A program or library with its debug information.
class Program {
 public:
  explicit Program(const char* path = "/proc/self/exe") : dwfl_(dwfl_begin(&Callbacks())) {
    module_ = dwfl_report_elf(dwfl_, "test", path, open(path, O_RDONLY | O_CLOEXEC), 0, true);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    dwarf_ = dwfl_module_getdwarf(module_, &bias_);
  }
  ~Program() { dwfl_end(dwfl_); }

  // In the file, of code in this process.
  static uint64_t AddressOf(uintptr_t code) {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(code), &info) != 0
               ? code - reinterpret_cast<uintptr_t>(info.dli_fbase)
               : 0;
  }

  // Calls `visit` with each unit and each range of its code. What the linker left out is at 0.
  void ForEachUnit(const std::function<void(Dwarf_Die*, Dwarf_Addr, Dwarf_Addr)>& visit) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      Dwarf_Addr base, begin, end;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
        if (begin != 0) visit(&die, begin, end);
      }
    }
  }

 private:
  static const Dwfl_Callbacks& Callbacks() {
    static Dwfl_Callbacks callbacks{};
    callbacks.find_elf = dwfl_build_id_find_elf;
    callbacks.find_debuginfo = dwfl_build_id_find_debuginfo;
    callbacks.section_address = dwfl_offline_section_address;
    return callbacks;
  }
  Dwfl* dwfl_;
  Dwfl_Module* module_;
  Dwarf* dwarf_ = nullptr;
  Dwarf_Addr bias_ = 0;
};

// What libdw's walk over the unit says.
std::vector<Dwarf_Off> ByLibdw(Dwarf_Die* unit, Dwarf_Addr address) {
  std::vector<Dwarf_Off> found;
  Dwarf_Die *at = nullptr, *around = nullptr;
  if (dwarf_getscopes(unit, address, &at) > 0) {
    const int count = dwarf_getscopes_die(&at[0], &around);
    for (int i = 0; i < count; ++i) {
      const int tag = dwarf_tag(&around[i]);
      if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
        found.push_back(dwarf_dieoffset(&around[i]));
      if (tag == DW_TAG_subprogram) break;
    }
  }
  std::free(at);
  std::free(around);
  return found;
}

std::vector<Dwarf_Off> ByIndex(const UnitFunctions& functions, Dwarf_Addr address) {
  std::vector<Dwarf_Off> found;
  for (Dwarf_Die& die : functions.At(address)) found.push_back(dwarf_dieoffset(&die));
  return found;
}

struct Asked {
  size_t addresses = 0, known = 0, inlined = 0;
};

Asked Compare(const char* path, size_t addresses_of_a_range) {
  Program program(path);
  std::map<const void*, std::unique_ptr<UnitFunctions>> units;
  Asked asked;
  program.ForEachUnit([&](Dwarf_Die* unit, Dwarf_Addr begin, Dwarf_Addr end) {
    std::unique_ptr<UnitFunctions>& functions = units[unit->addr];
    if (functions == nullptr) functions = std::make_unique<UnitFunctions>(*unit);
    const Dwarf_Addr step = std::max<Dwarf_Addr>(1, (end - begin) / addresses_of_a_range);
    for (Dwarf_Addr address = begin; address < end && asked.addresses < 4000; address += step) {
      const std::vector<Dwarf_Off> expected = ByLibdw(unit, address), found = ByIndex(*functions, address);
      // libdw does not look for functions inside of functions.
      if (!expected.empty()) {
        ASSERT_EQ(found, expected) << std::hex << address;
      }
      ++asked.addresses;
      asked.known += !found.empty();
      asked.inlined += found.size() > 1;
    }
  });
  return asked;
}

TEST(UnitFunctionsTest, SaysWhatAWalkOverTheUnitSays) {
  const Asked asked = Compare("/proc/self/exe", 40);
  EXPECT_GT(asked.addresses, 500u);
  EXPECT_GT(asked.known, asked.addresses / 2);
  EXPECT_GT(asked.inlined, 20u);
}

TEST(UnitFunctionsTest, FunctionsWithoutCodeHideNoOthers) {
  const Asked asked = Compare(EMPTY_FUNCTIONS, 1000);
  EXPECT_GT(asked.known, 50u);
  EXPECT_GT(asked.inlined, 10u);
}

// Ends with the address of its own code.
[[gnu::noinline]] uintptr_t Here() { return reinterpret_cast<uintptr_t>(__builtin_return_address(0)); }

TEST(UnitFunctionsTest, FindsFunctionsInsideOfFunctions) {
  struct Local {
    [[gnu::noinline]] static uintptr_t Code() { return Here() + (getpid() == 0); }
  };
  const auto lambda = [pid = getpid()]() __attribute__((noinline)) { return Here() + (pid == 0); };
  Program program;
  for (const auto& [code, name] : {std::pair(Local::Code(), "Code"), std::pair(lambda(), "operator()")}) {
    const std::string expected = name;
    const uint64_t address = program.AddressOf(code);
    bool is_found = false;
    program.ForEachUnit([&](Dwarf_Die* unit, Dwarf_Addr begin, Dwarf_Addr end) {
      if (address < begin || address >= end) return;
      std::vector<Dwarf_Die> functions = UnitFunctions(*unit).At(address);
      ASSERT_FALSE(functions.empty()) << expected;
      EXPECT_EQ(dwarf_diename(&functions.back()), expected);
      is_found = true;
    });
    EXPECT_TRUE(is_found) << expected;
  }
}

// A function may have any number of ranges, and any number of functions the same ones.
TEST(UnitFunctionsTest, SharedListsOfRangesTakeLittleMemory) {
  const auto image = ElfImage::Open(MANY_RANGES, "");
  ASSERT_TRUE(image.ok()) << image.status();
  void* const library = dlopen(MANY_RANGES, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  void* const code = dlsym(library, "plateau_code_with_many_ranges");
  ASSERT_NE(code, nullptr);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const std::vector<SourceFrame> frames =
      (*image)->Resolve(Program::AddressOf(reinterpret_cast<uintptr_t>(code)));
  getrusage(RUSAGE_SELF, &after);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "plateau_code_with_many_ranges");  // by its symbol
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 512 << 10);
  dlclose(library);
}

TEST(UnitFunctionsTest, NothingIsOutsideOfTheCode) {
  Program program;
  program.ForEachUnit([](Dwarf_Die* unit, Dwarf_Addr, Dwarf_Addr) {
    const UnitFunctions functions(*unit);
    EXPECT_TRUE(functions.At(0).empty());
    EXPECT_TRUE(functions.At(UINT64_MAX).empty());
  });
}

}  // namespace
}  // namespace plateau::symbols
