#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace plateau::symbols {
namespace {

constexpr size_t kMaxMangledBytes = 4096;

// Rust's older scheme ends in a hash that says nothing to a reader: "::h0123456789abcdef".
void DropRustHash(std::string* name) {
  constexpr size_t kHashBytes = 19;
  if (name->size() <= kHashBytes || name->compare(name->size() - kHashBytes, 3, "::h") != 0) return;
  for (size_t i = name->size() - kHashBytes + 3; i < name->size(); ++i) {
    if (!absl::ascii_isxdigit((*name)[i])) return;
  }
  name->resize(name->size() - kHashBytes);
}

}  // namespace

std::string Demangle(const std::string& name) {
  if (!absl::StartsWith(name, "_Z") || name.size() > kMaxMangledBytes) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return name;
  std::string demangled = text.get();
  DropRustHash(&demangled);
  return demangled;
}

bool IsLibraryPlumbing(const std::string& mangled) {
  for (const char* prefix :
       {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_Znw", "_Zna", "_ZNSa", "_ZNSs"}) {
    if (absl::StartsWith(mangled, prefix)) return true;
  }
  return mangled == "malloc" || mangled == "calloc" || mangled == "realloc";
}

}  // namespace plateau::symbols
