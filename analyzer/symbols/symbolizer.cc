#include "analyzer/symbols/symbolizer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/symbols/demangle.h"

namespace plateau::symbols {
namespace {

bool IsCLibrary(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const char* prefix :
       {"libc.so", "libc-2.", "ld-linux", "ld-2.", "libpthread", "libm.so", "libdl.so"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return false;
}

std::string KeyOf(const std::string& path, const std::string& build_id) {
  return absl::StrCat(path, "\n", build_id);
}

bool IsFile(const std::string& path) {
  return !path.empty() && path[0] == '/';  // not "[vdso]", "linux-vdso.so.1"
}

}  // namespace

Symbolizer::Image Symbolizer::Open(const std::string& path, const std::string& build_id) const {
  Image image = ElfImage::Open(path, build_id, sysroot_);
  if (image.ok() || build_id.size() < 2) return image;
  Image debug = ElfImage::Open(DebugFile(build_id), build_id, sysroot_);
  if (debug.ok()) return debug;
  // A file of one's own, say of a cross build, may lie here at the path it had there. The build id tells.
  Image here = sysroot_.IsThisSystem() ? Image(nullptr) : ElfImage::Open(path, build_id);
  return here.ok() && *here != nullptr ? std::move(here) : std::move(image);
}

void Symbolizer::ReadAhead(const std::string& path, const std::string& build_id) {
  const std::string key = KeyOf(path, build_id);
  if (!IsFile(path)) return;
  {
    const std::lock_guard lock(mutex_);
    if (!ahead_.try_emplace(key).second) return;
  }
  std::optional<Image> image;
  try {
    image = Open(path, build_id);
    if (image->ok()) (**image)->ReadSymbols();
  } catch (const std::bad_alloc&) {  // whoever needs it tries again
    image.reset();
  }
  const std::lock_guard lock(mutex_);
  if (image.has_value()) {
    ahead_[key] = *std::move(image);
  } else {
    ahead_.erase(key);
  }
  read_.notify_all();
}

// What was read ahead, if it was. Nobody need read it from now on.
std::optional<Symbolizer::Image> Symbolizer::TakeAhead(const std::string& key) {
  std::unique_lock lock(mutex_);
  if (ahead_.try_emplace(key).second) return std::nullopt;
  auto it = ahead_.end();
  read_.wait(lock, [&] {
    it = ahead_.find(key);
    return it == ahead_.end() || it->second.has_value();
  });
  if (it == ahead_.end()) return std::nullopt;
  return std::exchange(it->second, Image(nullptr));
}

Symbolizer::Entry& Symbolizer::Find(const std::string& path, const std::string& build_id) {
  const std::string key = KeyOf(path, build_id);
  std::unique_ptr<Entry>& entry = images_[key];
  if (entry) return *entry;
  entry = std::make_unique<Entry>();
  if (!IsFile(path)) return *entry;
  std::optional<Image> ahead = TakeAhead(key);
  Image image = ahead.has_value() ? *std::move(ahead) : Open(path, build_id);
  if (image.ok()) {
    entry->image = *std::move(image);
    entry->has_lines = !IsCLibrary(path);
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
  it->second = FramesAt(&entry, address - 1);
  return it->second;
}

std::vector<SourceFrame> Symbolizer::FramesAt(Entry* entry, uint64_t address) {
  if (entry->has_lines) {
    std::vector<SourceFrame> frames = entry->image->Resolve(address);
    for (SourceFrame& frame : frames) frame.function = Demangle(frame.function);
    return frames;
  }
  std::string name = entry->image->SymbolAt(address);
  name.resize(std::min(name.size(), name.find('@')));  // "malloc@@GLIBC_2.2.5"
  if (name.empty()) return {};
  return {{.function = Demangle(name), .file = "", .line = 0}};
}

std::string Symbolizer::SymbolAt(const std::string& path, const std::string& build_id, uint64_t address) {
  Entry& entry = Find(path, build_id);
  return entry.image == nullptr || address == 0 ? "" : entry.image->SymbolAt(address - 1);
}

}  // namespace plateau::symbols
