// The sorted table against libdwfl's own search, on the files that every test process has loaded.
#include "analyzer/symbols/symbol_table.h"

#include <elfutils/libdwfl.h>
#include <gtest/gtest.h>
#include <link.h>

#include <random>
#include <string>
#include <vector>

namespace plateau::symbols {
namespace {

std::vector<std::string> LoadedFiles() {
  std::vector<std::string> files = {"/proc/self/exe"};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/')
          static_cast<std::vector<std::string>*>(out)->push_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

class Module {
 public:
  explicit Module(const std::string& path) : dwfl_(dwfl_begin(&callbacks_)) {
    dwfl_report_begin(dwfl_);
    module_ = dwfl_report_elf(dwfl_, path.c_str(), path.c_str(), -1, 0, true);
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }
  ~Module() { dwfl_end(dwfl_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Dwfl_Module* get() const { return module_; }

 private:
  static constexpr Dwfl_Callbacks callbacks_ = {.find_elf = dwfl_build_id_find_elf,
                                                .find_debuginfo = dwfl_standard_find_debuginfo,
                                                .section_address = dwfl_offline_section_address,
                                                .debuginfo_path = nullptr};
  Dwfl* dwfl_;
  Dwfl_Module* module_ = nullptr;
};

bool IsCode(Dwfl_Module* module, uint64_t address) {
  Dwarf_Addr relative = address, bias = 0;
  Elf_Scn* const section = dwfl_module_address_section(module, &relative, &bias);
  GElf_Shdr header;
  return section != nullptr && gelf_getshdr(section, &header) != nullptr && (header.sh_flags & SHF_EXECINSTR);
}

// Addresses of code, around the edges of symbols and anywhere.
std::vector<uint64_t> Addresses(Dwfl_Module* module, size_t count) {
  std::mt19937_64 random(7);
  GElf_Addr low = 0, high = 0;
  dwfl_module_info(module, nullptr, &low, &high, nullptr, nullptr, nullptr, nullptr);
  const int symbols = dwfl_module_getsymtab(module);
  std::vector<uint64_t> addresses;
  while (addresses.size() < count) {
    addresses.push_back(low + random() % (high - low + 64));
    if (symbols < 2) continue;
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    const int index = static_cast<int>(random() % static_cast<uint64_t>(symbols));
    if (dwfl_module_getsym_info(module, index, &symbol, &begin, nullptr, nullptr, nullptr) == nullptr)
      continue;
    for (const uint64_t address : {begin - 1, begin, begin + symbol.st_size / 2, begin + symbol.st_size}) {
      addresses.push_back(address);
    }
  }
  std::erase_if(addresses, [module](uint64_t address) { return !IsCode(module, address); });
  return addresses;
}

TEST(SymbolTableTest, AnswersAsASearchThroughAllSymbols) {
  size_t named = 0, unnamed = 0;
  for (const std::string& file : LoadedFiles()) {
    const Module module(file);
    ASSERT_NE(module.get(), nullptr) << file;
    SymbolTable table(module.get());
    for (const uint64_t address : Addresses(module.get(), 1500)) {
      GElf_Off offset = 0;
      GElf_Sym symbol{};
      const char* expected =
          dwfl_module_addrinfo(module.get(), address, &offset, &symbol, nullptr, nullptr, nullptr);
      const auto found = table.At(address);
      ASSERT_EQ(found.has_value(), expected != nullptr) << file << "+" << address;
      ++(found ? named : unnamed);
      if (!found) continue;
      EXPECT_STREQ(found->name, expected) << file << "+" << address;
      EXPECT_EQ(found->offset, offset) << file << "+" << address;
      EXPECT_EQ(found->has_length, symbol.st_size != 0) << file << "+" << address;
    }
  }
  EXPECT_GT(named, 1000u);
  EXPECT_GT(unnamed, 100u);
}

}  // namespace
}  // namespace plateau::symbols
