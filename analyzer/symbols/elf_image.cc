#include "analyzer/symbols/elf_image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/symbols/unit_functions.h"

namespace plateau::symbols {
namespace {

constexpr size_t kMaxInlineDepth = 128;

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Whether there is a file where libdwfl looks for the one that a debuglink names: beside the module, in
// ".debug" there, and under /usr/lib/debug in the module's folder or any end of its path.
bool MayHaveDebugFile(const char* file, const char* debuglink) {
  if (file == nullptr) return true;
  std::vector<std::string> spellings = {file};
  if (char* const real = realpath(file, nullptr); real != nullptr) {
    if (spellings[0] != real) spellings.push_back(real);
    std::free(real);
  }
  for (const std::string& spelling : spellings) {
    const size_t slash = spelling.rfind('/');
    if (slash == std::string::npos) return true;
    std::string folder = spelling.substr(0, slash);
    const std::string name =
        debuglink != nullptr ? debuglink : absl::StrCat(spelling.substr(slash + 1), ".debug");
    if (Exists(absl::StrCat(folder, "/", name)) || Exists(absl::StrCat(folder, "/.debug/", name)))
      return true;
    for (size_t next = 0; next != std::string::npos; folder.erase(0, next)) {
      if (Exists(absl::StrCat("/usr/lib/debug", folder, "/", name))) return true;
      next = folder.find('/', 1);
    }
    if (Exists(absl::StrCat("/usr/lib/debug/", name))) return true;
  }
  return false;
}

std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* bits = nullptr;
  GElf_Addr where = 0;
  const int bytes = dwfl_module_build_id(module, &bits, &where);
  return std::string(reinterpret_cast<const char*>(bits), bytes > 0 ? static_cast<size_t>(bytes) : 0);
}

// The debug file of another system. It is taken by its build id alone: a wrong one would name wrong lines.
int FindDebugFileIn(const Sysroot& sysroot, Dwfl_Module* module, char** found) {
  const std::string build_id = BuildIdOf(module);
  if (build_id.size() < 2) return -1;
  const std::string path = sysroot.Find(DebugFile(build_id));
  if (path.empty()) return -1;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const void* bits = nullptr;
  const ssize_t bytes = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bits) : -1;
  const bool is_it =
      bytes > 0 && build_id == std::string_view(static_cast<const char*>(bits), static_cast<size_t>(bytes));
  elf_end(elf);
  if (!is_it) {
    close(fd);
    return -1;
  }
  *found = strdup(path.c_str());
  return fd;
}

// As libdwfl finds it, but where there is nothing to be found libdwfl is not asked: it would load a client
// for servers, with some thirty libraries, which takes longer than a small recording.
int FindDebugFile(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base, const char* file,
                  const char* debuglink, GElf_Word crc, char** found) {
  if (const auto* sysroot = static_cast<const Sysroot*>(*user_data); !sysroot->IsThisSystem())
    return FindDebugFileIn(*sysroot, module, found);
  const int fd = dwfl_build_id_find_debuginfo(module, user_data, name, base, file, debuglink, crc, found);
  if (fd >= 0 || !MayHaveDebugFile(file, debuglink)) return fd;
  return dwfl_standard_find_debuginfo(module, user_data, name, base, file, debuglink, crc, found);
}

const Dwfl_Callbacks* Callbacks() {
  static const Dwfl_Callbacks callbacks = [] {
    unsetenv("DEBUGINFOD_URLS");  // libdwfl would ask servers
    Dwfl_Callbacks c{};
    c.find_elf = dwfl_build_id_find_elf;
    c.find_debuginfo = FindDebugFile;
    c.section_address = dwfl_offline_section_address;
    return c;
  }();
  return &callbacks;
}

// The name a DIE or its abstract origin carries, mangled when there is such a form.
std::string NameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned int name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(die, name, &attribute) != nullptr) {
      if (const char* text = dwarf_formstring(&attribute)) return text;
    }
  }
  const char* text = dwarf_diename(die);
  return text != nullptr ? text : "";
}

uint64_t Number(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return 0;
  return value;
}

// "/src/./a.cc", or "dir/a.cc" made whole with the unit's directory.
std::string WholePath(const char* file, Dwarf_Die* unit) {
  if (file == nullptr) return "";
  if (file[0] == '/') return file;
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  return directory != nullptr ? absl::StrCat(directory, "/", file) : file;
}

std::string FilePath(Dwarf_Die* unit, uint64_t file_index) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file_index >= count) return "";
  return WholePath(dwarf_filesrc(files, file_index, nullptr, nullptr), unit);
}

}  // namespace

std::string DebugFile(const std::string& build_id) {
  const std::string hex = absl::BytesToHexString(build_id);
  return absl::StrCat("/usr/lib/debug/.build-id/", hex.substr(0, 2), "/", hex.substr(2), ".debug");
}

absl::StatusOr<std::unique_ptr<ElfImage>> ElfImage::Open(const std::string& path, const std::string& build_id,
                                                         const Sysroot& sysroot) {
  const std::string file = sysroot.Find(path);
  if (file.empty()) return absl::NotFoundError(absl::StrCat(path, ": not in the folder of --sysroot"));
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::NotFoundError(absl::StrCat(file, ": ", std::strerror(errno)));
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->sysroot_ = sysroot;
  image->dwfl_ = dwfl_begin(Callbacks());
  if (image->dwfl_ == nullptr) {
    close(fd);
    return absl::InternalError(dwfl_errmsg(-1));
  }
  dwfl_report_begin(image->dwfl_);
  image->module_ = dwfl_report_elf(image->dwfl_, file.c_str(), file.c_str(), fd, 0, true);
  dwfl_report_end(image->dwfl_, nullptr, nullptr);
  if (image->module_ == nullptr) {
    close(fd);
    return absl::FailedPreconditionError(absl::StrCat(file, ": ", dwfl_errmsg(-1)));
  }
  void** user_data = nullptr;
  dwfl_module_info(image->module_, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *user_data = &image->sysroot_;  // for FindDebugFile()
  if (!build_id.empty()) {
    const std::string found = BuildIdOf(image->module_);
    if (found != build_id) {
      return absl::FailedPreconditionError(absl::StrCat(file, ": changed since the recording (build id ",
                                                        absl::BytesToHexString(found), " instead of ",
                                                        absl::BytesToHexString(build_id), ")"));
    }
  }
  image->symbols_ = std::make_unique<SymbolTable>(image->module_);
  return image;
}

ElfImage::ElfImage() = default;
ElfImage::~ElfImage() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

std::string ElfImage::SymbolAt(uint64_t address) {
  const std::optional<SymbolTable::Found> found = symbols_->At(address);
  // A symbol far before the address is a neighbour, unless it says how long it is.
  constexpr uint64_t kFarBytes = 1 << 20;
  if (!found || (!found->has_length && found->offset > kFarBytes)) return "";
  return found->name;
}

std::vector<SourceFrame> ElfImage::Resolve(uint64_t address) {
  std::vector<SourceFrame> frames;
  SourceFrame innermost;
  if (Dwfl_Line* line = dwfl_module_getsrc(module_, address)) {
    const char* file = dwfl_lineinfo(line, nullptr, &innermost.line, nullptr, nullptr, nullptr);
    Dwarf_Die* line_unit = dwfl_linecu(line);
    innermost.file = line_unit != nullptr ? WholePath(file, line_unit) : file != nullptr ? file : "";
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias);
  SourceFrame current = innermost;
  if (unit != nullptr) {
    std::unique_ptr<UnitFunctions>& functions = functions_[unit->addr];
    if (functions == nullptr) functions = std::make_unique<UnitFunctions>(*unit);
    for (Dwarf_Die& die : functions->At(address - bias)) {
      if (frames.size() == kMaxInlineDepth) break;
      const bool is_whole = dwarf_tag(&die) == DW_TAG_subprogram;
      current.function = NameOf(&die);
      if (is_whole && current.function == "operator()") {  // a lambda; its symbol says of which function
        std::string symbol = SymbolAt(address);
        if (absl::StartsWith(symbol, "_Z")) current.function = std::move(symbol);
      }
      frames.push_back(current);
      if (is_whole) return frames;
      current = {"", FilePath(unit, Number(&die, DW_AT_call_file)),
                 static_cast<int>(Number(&die, DW_AT_call_line))};
    }
  }
  current.function = SymbolAt(address);
  if (!current.function.empty() || !current.file.empty()) frames.push_back(current);
  return frames;
}

}  // namespace plateau::symbols
