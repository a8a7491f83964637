// Another process as /proc and process_vm_readv() show it: its state, its memory, and its modules as the loader lists them.
//
// Everything is read from outside. Paths of the target's modules mean files of its own mount namespace, so none is opened.
// What is read may be anything: sizes are bounded, strings cut, lists end.
#ifndef PLATEAU_ANALYZER_CLI_ATTACH_TARGET_PROCESS_H_
#define PLATEAU_ANALYZER_CLI_ATTACH_TARGET_PROCESS_H_

#include <elf.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plateau::cli {

struct MapsLine {
  uint64_t begin, end;
  bool is_readable, is_writable, is_code, is_shared;
  std::string path;
};

class TargetProcess {
 public:
  explicit TargetProcess(pid_t pid) : pid_(pid) {}
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::string Proc(absl::string_view name) const;  // "/proc/PID/NAME"
  // A field of /proc/PID/status; empty when there is no such process or field.
  std::string Status(absl::string_view field) const;
  std::string Name() const;  // its command, as people know it: "python3 train.py"
  // Field 22 of /proc/PID/stat; 0 when there is no such process.
  uint64_t StartTicks() const;
  // What all of its threads had so far, in its own code and in the kernel.
  double ProcessorSeconds() const;
  std::vector<MapsLine> Maps() const;
  std::vector<pid_t> Threads() const;
  std::vector<pid_t> Children() const;

  // Opens its memory for writing: the kernel says here whether we may.
  absl::Status OpenMemory();
  bool Read(uint64_t address, void* out, size_t bytes) const;
  bool Write(uint64_t address, const void* from, size_t bytes) const;
  template <typename T>
  std::optional<T> Get(uint64_t address) const {
    T value;
    if (!Read(address, &value, sizeof(value))) return std::nullopt;
    return value;
  }
  std::string Text(uint64_t address, size_t most) const;
  // The auxiliary vector's entry of this type, 0 when there is none.
  uint64_t Auxiliary(uint64_t type) const;

 private:
  uint64_t StatField(size_t number) const;  // of /proc/PID/stat, from 1; 0 when there is none

  pid_t pid_;
  int memory_ = -1;
};

// One module of the target, its tables relocated.
struct TargetModule {
  uint64_t base = 0;
  std::string path;
  uint64_t symbols = 0, strings = 0, string_bytes = 0, gnu_hash = 0;
  uint64_t relocations = 0, relocation_bytes = 0, relative_count = 0, calls = 0, call_bytes = 0;
  struct Segment {
    uint64_t begin, end;
    uint32_t flags;
  };
  std::vector<Segment> segments;

  bool Contains(uint64_t address) const;
};

class TargetModules {
 public:
  // Fails with the reason when there is no dynamic loader of glibc in the target.
  absl::Status Load(const TargetProcess& target);

  const std::vector<TargetModule>& all() const { return modules_; }
  const TargetModule* loader() const;
  const TargetModule* libc() const;
  bool IsLoader(const TargetModule& module) const { return module.base == loader_base_; }
  bool IsVdso(const TargetModule& module) const { return module.base == vdso_base_; }
  // The loader is not at work: nothing is being added or removed.
  bool IsConsistent(const TargetProcess& target) const;

  // Where `module` defines the symbol; 0 when it does not. `bytes`: its size.
  uint64_t Find(const TargetProcess& target, const TargetModule& module, const std::string& symbol,
                uint64_t* bytes = nullptr) const;
  // The first definition in the order of loading.
  uint64_t FindFirst(const TargetProcess& target, const std::string& symbol) const;

 private:
  std::vector<TargetModule> modules_;
  uint64_t debug_ = 0;
  uint64_t loader_base_ = 0, vdso_base_ = 0;
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_ATTACH_TARGET_PROCESS_H_
