#include "analyzer/symbols/symbolizer.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/symbols/demangle.h"

namespace plateau::symbols {
namespace {

// Where debug files of a build id are kept: "/usr/lib/debug/.build-id/ab/cdef.debug".
std::string DebugFile(const std::string& build_id) {
  const std::string hex = absl::BytesToHexString(build_id);
  return absl::StrCat("/usr/lib/debug/.build-id/", hex.substr(0, 2), "/", hex.substr(2), ".debug");
}

}  // namespace

Symbolizer::Entry& Symbolizer::Find(const std::string& path, const std::string& build_id) {
  std::unique_ptr<Entry>& entry = images_[absl::StrCat(path, "\n", build_id)];
  if (entry) return *entry;
  entry = std::make_unique<Entry>();
  if (path.empty() || path[0] != '/') return *entry;  // "[vdso]", "linux-vdso.so.1"
  absl::StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path, build_id);
  if (!image.ok() && build_id.size() > 1) {
    absl::StatusOr<std::unique_ptr<ElfImage>> debug = ElfImage::Open(DebugFile(build_id), build_id);
    if (debug.ok()) image = std::move(debug);
  }
  if (image.ok()) {
    entry->image = *std::move(image);
  } else {
    problems_.push_back(std::string(image.status().message()));
  }
  return *entry;
}

const std::vector<SourceFrame>& Symbolizer::Resolve(const std::string& path, const std::string& build_id,
                                                    uint64_t address) {
  Entry& entry = Find(path, build_id);
  const auto [it, is_new] = entry.resolved.try_emplace(address);
  if (!is_new || entry.image == nullptr || address == 0) return it->second;
  // The address is where the call returns to; the call itself is the byte before.
  std::vector<SourceFrame> frames = entry.image->Resolve(address - 1);
  for (SourceFrame& frame : frames) frame.function = Demangle(frame.function);
  it->second = std::move(frames);
  return it->second;
}

std::string Symbolizer::SymbolAt(const std::string& path, const std::string& build_id, uint64_t address) {
  Entry& entry = Find(path, build_id);
  return entry.image == nullptr || address == 0 ? "" : entry.image->SymbolAt(address - 1);
}

}  // namespace plateau::symbols
