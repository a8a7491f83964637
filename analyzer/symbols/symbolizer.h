// Addresses of a recording to functions and lines, with everything already asked for remembered.
//
// Modules are opened when first needed; one that is missing or has changed since (build id) is reported once
// in problems() and answered with nothing, so the caller prints "module+0xoffset". Functions of the C library
// have names but no lines: nobody looks for a cause there, and unpacking its debug information, where it is
// installed, takes longer than replaying a million events. For one thread, while others may ReadAhead().
#ifndef PLATEAU_ANALYZER_SYMBOLS_SYMBOLIZER_H_
#define PLATEAU_ANALYZER_SYMBOLS_SYMBOLIZER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/symbols/elf_image.h"
#include "analyzer/symbols/sysroot.h"

namespace plateau::symbols {

class Symbolizer {
 public:
  Symbolizer() = default;
  // Files are those of another system, unpacked somewhere.
  explicit Symbolizer(Sysroot sysroot) : sysroot_(std::move(sysroot)) {}

  const Sysroot& sysroot() const { return sysroot_; }

  // The levels of the call that returns to `address`, innermost inlined function first; names demangled.
  // Empty when nothing is known about it.
  const std::vector<SourceFrame>& Resolve(const std::string& path, const std::string& build_id,
                                          uint64_t address);

  // The mangled symbol that contains the call, without line information. Empty when unknown.
  std::string SymbolAt(const std::string& path, const std::string& build_id, uint64_t address);

  // Opens a module that will probably be asked for and sorts its symbols. Changes no answer. One that is
  // asked for meanwhile is waited for.
  void ReadAhead(const std::string& path, const std::string& build_id);

  // One sentence per module that could not be used.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Entry {
    std::unique_ptr<ElfImage> image;
    bool has_lines = true;
    absl::flat_hash_map<uint64_t, std::vector<SourceFrame>> resolved;
  };
  using Image = absl::StatusOr<std::unique_ptr<ElfImage>>;
  Image Open(const std::string& path, const std::string& build_id) const;
  Entry& Find(const std::string& path, const std::string& build_id);
  std::optional<Image> TakeAhead(const std::string& key);
  static std::vector<SourceFrame> FramesAt(Entry* entry, uint64_t address);

  const Sysroot sysroot_{};
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> images_;  // by path and build id
  std::mutex mutex_;                                                 // of the next two
  std::condition_variable read_;
  absl::flat_hash_map<std::string, std::optional<Image>> ahead_;  // for when it is needed; empty: being read
  std::vector<std::string> problems_;
};

}  // namespace plateau::symbols

#endif  // PLATEAU_ANALYZER_SYMBOLS_SYMBOLIZER_H_
