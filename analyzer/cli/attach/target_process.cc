#include "analyzer/cli/attach/target_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plateau::cli {
namespace {

constexpr size_t kMaxModules = 16384;
constexpr size_t kMaxText = 4096;

std::string WholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TargetProcess::~TargetProcess() {
  if (memory_ >= 0) close(memory_);
}

std::string TargetProcess::Proc(absl::string_view name) const {
  return absl::StrCat("/proc/", pid_, "/", name);
}

std::string TargetProcess::Status(absl::string_view field) const {
  const std::string text = WholeFile(Proc("status"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, field) && absl::ConsumePrefix(&line, ":"))
      return std::string(absl::StripAsciiWhitespace(line));
  }
  return "";
}

std::string TargetProcess::Name() const {
  std::string text = WholeFile(Proc("cmdline")).substr(0, 200);
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, ' ');
  std::vector<std::string> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  if (!words.empty()) words[0] = words[0].substr(words[0].rfind('/') + 1);
  std::string name = words[0];
  if (words.size() > 1 && !absl::StartsWith(words[1], "-")) absl::StrAppend(&name, " ", words[1]);
  return name.empty() ? Status("Name") : name;
}

uint64_t TargetProcess::StatField(size_t number) const {
  const std::string text = WholeFile(Proc("stat"));
  const size_t name_end = text.rfind(')');  // field 2 ends; it may have anything in it
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields = absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipEmpty());
  uint64_t value = 0;
  const size_t at = number - 3;
  return fields.size() > at && absl::SimpleAtoi(fields[at], &value) ? value : 0;
}

uint64_t TargetProcess::StartTicks() const { return StatField(22); }

double TargetProcess::ProcessorSeconds() const {
  return static_cast<double>(StatField(14) + StatField(15)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::vector<MapsLine> TargetProcess::Maps() const {
  std::vector<MapsLine> lines;
  std::ifstream file(Proc("maps"));
  for (std::string text; std::getline(file, text);) {
    MapsLine line = {};
    char rights[5] = {};
    int path_at = 0;
    if (sscanf(text.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &line.begin, &line.end, rights, &path_at) < 3)
      continue;
    line.is_readable = rights[0] == 'r';
    line.is_writable = rights[1] == 'w';
    line.is_code = rights[2] == 'x';
    line.is_shared = rights[3] == 's';
    if (path_at > 0 && static_cast<size_t>(path_at) < text.size())
      line.path = text.substr(static_cast<size_t>(path_at));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<pid_t> TargetProcess::Threads() const {
  std::vector<pid_t> threads;
  DIR* folder = opendir(Proc("task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    pid_t thread = 0;
    if (absl::SimpleAtoi(entry->d_name, &thread) && thread > 0) threads.push_back(thread);
  }
  closedir(folder);
  return threads;
}

std::vector<pid_t> TargetProcess::Children() const {
  std::vector<pid_t> children;
  for (pid_t thread : Threads()) {
    const std::string text = WholeFile(Proc(absl::StrCat("task/", thread, "/children")));
    for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
      pid_t child = 0;
      if (absl::SimpleAtoi(word, &child)) children.push_back(child);
    }
  }
  return children;
}

absl::Status TargetProcess::OpenMemory() {
  if (memory_ >= 0) return absl::OkStatus();
  memory_ = open(Proc("mem").c_str(), O_RDWR | O_CLOEXEC);
  if (memory_ >= 0) return absl::OkStatus();
  return absl::PermissionDeniedError(strerror(errno));
}

bool TargetProcess::Read(uint64_t address, void* out, size_t bytes) const {
  iovec here = {out, bytes}, there = {reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool TargetProcess::Write(uint64_t address, const void* from, size_t bytes) const {
  return memory_ >= 0 &&
         pwrite(memory_, from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

std::string TargetProcess::Text(uint64_t address, size_t most) const {
  std::string text;
  while (text.size() < most) {
    // To the end of a page at a time: the next one may not be there.
    char piece[256];
    const size_t bytes =
        std::min<size_t>({sizeof(piece), most - text.size(), 4096 - ((address + text.size()) & 4095)});
    if (!Read(address + text.size(), piece, bytes)) break;
    const size_t size = strnlen(piece, bytes);
    text.append(piece, size);
    if (size < bytes) break;
  }
  return text;
}

uint64_t TargetProcess::Auxiliary(uint64_t type) const {
  const std::string bytes = WholeFile(Proc("auxv"));
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= bytes.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    memcpy(&entry, bytes.data() + at, sizeof(entry));
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return 0;
}

bool TargetModule::Contains(uint64_t address) const {
  return std::any_of(segments.begin(), segments.end(),
                     [&](const Segment& s) { return address >= s.begin && address < s.end; });
}

namespace {

// The program headers of a module, read through its ELF header; of the main program the kernel tells where they are.
void ReadSegments(const TargetProcess& target, uint64_t headers, unsigned count, TargetModule* module) {
  for (unsigned i = 0; i < count && i < 64; ++i) {
    const auto header = target.Get<Elf64_Phdr>(headers + i * sizeof(Elf64_Phdr));
    if (!header || header->p_type != PT_LOAD) continue;
    const uint64_t begin = module->base + header->p_vaddr;
    module->segments.push_back({begin, begin + header->p_memsz, header->p_flags});
  }
}

void ReadDynamic(const TargetProcess& target, uint64_t dynamic, TargetModule* module) {
  for (int i = 0; i < 512; ++i) {
    const auto entry = target.Get<Elf64_Dyn>(dynamic + static_cast<uint64_t>(i) * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) return;
    const uint64_t value = entry->d_un.d_val;
    const uint64_t pointer = value < module->base ? value + module->base : value;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        module->symbols = pointer;
        break;
      case DT_STRTAB:
        module->strings = pointer;
        break;
      case DT_STRSZ:
        module->string_bytes = value;
        break;
      case DT_GNU_HASH:
        module->gnu_hash = pointer;
        break;
      case DT_RELA:
        module->relocations = pointer;
        break;
      case DT_RELASZ:
        module->relocation_bytes = value;
        break;
      case DT_RELACOUNT:
        module->relative_count = value;
        break;
      case DT_JMPREL:
        module->calls = pointer;
        break;
      case DT_PLTRELSZ:
        module->call_bytes = value;
        break;
      default:
        break;
    }
  }
}

}  // namespace

absl::Status TargetModules::Load(const TargetProcess& target) {
  modules_.clear();
  const uint64_t headers = target.Auxiliary(AT_PHDR), header_count = target.Auxiliary(AT_PHNUM);
  loader_base_ = target.Auxiliary(AT_BASE);
  vdso_base_ = target.Auxiliary(AT_SYSINFO_EHDR);
  if (headers == 0) return absl::PermissionDeniedError("its auxiliary vector cannot be read");
  if (loader_base_ == 0)
    return absl::FailedPreconditionError("the program is static: there is no loader to open a library with");
  uint64_t program_base = 0, dynamic = 0;
  for (uint64_t i = 0; i < header_count && i < 64; ++i) {
    const auto header = target.Get<Elf64_Phdr>(headers + i * sizeof(Elf64_Phdr));
    if (!header) return absl::PermissionDeniedError("its memory cannot be read");
    if (header->p_type == PT_PHDR) program_base = headers - header->p_vaddr;
    if (header->p_type == PT_DYNAMIC) dynamic = header->p_vaddr;
  }
  for (uint64_t i = 0; dynamic != 0 && i < 512 && debug_ == 0; ++i) {
    const auto entry = target.Get<Elf64_Dyn>(program_base + dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_DEBUG) debug_ = entry->d_un.d_ptr;
  }
  const auto first = target.Get<uint64_t>(debug_ + offsetof(r_debug, r_map));
  if (debug_ == 0 || !first || *first == 0)
    return absl::FailedPreconditionError(
        "the loader's list of modules is not there yet (the program is starting) or is hidden");
  for (uint64_t at = *first; at != 0 && modules_.size() < kMaxModules;) {
    const auto entry = target.Get<link_map>(at);
    if (!entry) break;
    TargetModule module;
    module.base = entry->l_addr;
    module.path = target.Text(reinterpret_cast<uint64_t>(entry->l_name), kMaxText);
    ReadDynamic(target, reinterpret_cast<uint64_t>(entry->l_ld), &module);
    if (modules_.empty()) {
      ReadSegments(target, headers, static_cast<unsigned>(header_count), &module);
    } else if (const auto header = target.Get<Elf64_Ehdr>(module.base);
               header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0) {
      ReadSegments(target, module.base + header->e_phoff, header->e_phnum, &module);
    }
    modules_.push_back(std::move(module));
    at = reinterpret_cast<uint64_t>(entry->l_next);
  }
  for (const TargetModule& module : modules_) {
    if (absl::StrContains(module.path, "ld-musl"))
      return absl::FailedPreconditionError("the program was built for the C library musl");
  }
  if (loader() == nullptr || libc() == nullptr)
    return absl::FailedPreconditionError("there is no glibc in the program");
  return absl::OkStatus();
}

const TargetModule* TargetModules::loader() const {
  for (const TargetModule& module : modules_) {
    if (module.base == loader_base_) return &module;
  }
  return nullptr;
}

const TargetModule* TargetModules::libc() const {
  for (const TargetModule& module : modules_) {
    const std::string name = module.path.substr(module.path.rfind('/') + 1);
    if (name == "libc.so.6" || (absl::StartsWith(name, "libc-2.") && absl::EndsWith(name, ".so")))
      return &module;
  }
  return nullptr;
}

bool TargetModules::IsConsistent(const TargetProcess& target) const {
  const auto state = target.Get<int>(debug_ + offsetof(r_debug, r_state));
  return state && *state == r_debug::RT_CONSISTENT;
}

uint64_t TargetModules::Find(const TargetProcess& target, const TargetModule& module,
                             const std::string& symbol, uint64_t* bytes) const {
  uint32_t head[4];
  if (module.gnu_hash == 0 || module.symbols == 0 || !target.Read(module.gnu_hash, head, sizeof(head)) ||
      head[0] == 0)
    return 0;
  uint32_t hash = 5381;
  for (unsigned char c : symbol) hash = hash * 33 + c;
  const uint64_t buckets = module.gnu_hash + 16 + 8ull * head[2], chains = buckets + 4ull * head[0];
  auto index = target.Get<uint32_t>(buckets + 4ull * (hash % head[0]));
  if (!index || *index < head[1]) return 0;
  uint64_t fallback = 0;
  for (int steps = 0; steps < 100000; ++steps, ++*index) {
    const auto chained = target.Get<uint32_t>(chains + 4ull * (*index - head[1]));
    if (!chained) return fallback;
    if ((*chained | 1) == (hash | 1)) {
      const auto entry = target.Get<Elf64_Sym>(module.symbols + *index * sizeof(Elf64_Sym));
      if (entry && entry->st_shndx != SHN_UNDEF && entry->st_value != 0 &&
          target.Text(module.strings + entry->st_name, symbol.size() + 1) == symbol) {
        if (bytes != nullptr) *bytes = entry->st_size;
        return module.base + entry->st_value;
      }
    }
    if ((*chained & 1) != 0) break;
  }
  return fallback;
}

uint64_t TargetModules::FindFirst(const TargetProcess& target, const std::string& symbol) const {
  for (const TargetModule& module : modules_) {
    if (IsVdso(module)) continue;
    if (const uint64_t address = Find(target, module, symbol)) return address;
  }
  return 0;
}

}  // namespace plateau::cli
