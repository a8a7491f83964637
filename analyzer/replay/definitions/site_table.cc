#include "analyzer/replay/definitions/site_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "analyzer/replay/definitions/generated_code.h"

namespace plateau::replay {
namespace {

using Owner = SiteTable::Owner;

absl::string_view BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? absl::string_view(path) : absl::string_view(path).substr(slash + 1);
}

// Libraries that allocate for whoever calls them.
bool IsRuntime(absl::string_view name) {
  for (const char* prefix :
       {"libc.so", "libc-", "ld-linux", "libstdc++", "libc++", "libgcc_s", "libpthread", "libm.so",
        "libdl.so", "libplateau", "linux-vdso", "[vdso]", "libjemalloc", "libtcmalloc", "libmimalloc"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return false;
}

bool IsInterpreter(absl::string_view name) {
  return absl::StartsWith(name, "python") || absl::StartsWith(name, "libpython");
}

bool IsUnderPackages(const std::string& path) {
  return absl::StrContains(path, "/site-packages/") || absl::StrContains(path, "/dist-packages/");
}

// Whether a folder of that name, followed by a version, is in the path: "/lib/python3.11/", "/lib/python3.13t/".
bool HasVersionedFolder(absl::string_view path, absl::string_view name) {
  for (size_t at = path.find(name); at != absl::string_view::npos; at = path.find(name, at + 1)) {
    const absl::string_view version = path.substr(at + name.size());
    const size_t digits = std::min(version.find_first_not_of("0123456789."), version.size());
    if (digits > 0 &&
        (absl::StartsWith(version.substr(digits), "/") || absl::StartsWith(version.substr(digits), "t/") ||
         absl::StartsWith(version.substr(digits), "zip/")))
      return true;
  }
  return false;
}

// ".../lib/python3.11/json/decoder.py", ".../lib/python3.11/lib-dynload/_json.so", ".../lib/python311.zip/..."
bool IsInStandardLibrary(absl::string_view path) {
  return HasVersionedFolder(path, "/lib/python") || HasVersionedFolder(path, "/lib64/python") ||
         HasVersionedFolder(path, "/lib/pypy") || absl::StrContains(path, "/lib-dynload/");
}

bool IsSystemPath(const std::string& path) {
  for (const char* prefix :
       {"/usr/", "/lib/", "/lib64/", "/lib32/", "/bin/", "/sbin/", "/nix/store/", "/snap/"}) {
    if (absl::StartsWith(path, prefix)) return true;
  }
  return absl::StrContains(path, "/conda/lib/") || absl::StrContains(path, "conda3/lib/");
}

}  // namespace

std::optional<SiteRule> ParseSiteRule(std::string_view name) {
  if (name == "user") return SiteRule::kUser;
  if (name == "leaf") return SiteRule::kLeaf;
  if (name == "stack") return SiteRule::kStack;
  if (name == "library") return SiteRule::kLibrary;
  return std::nullopt;
}

Owner OwnerOfModule(const std::string& path, const std::string& main_program) {
  const absl::string_view name = BaseName(path);
  if (path.empty() || IsRuntime(name)) return Owner::kRuntime;
  if (IsInterpreter(name)) return Owner::kRuntime;
  const bool is_main = path == main_program;
  if (IsSystemPath(path) || IsUnderPackages(path) || IsInStandardLibrary(path)) {
    return is_main ? Owner::kMainProgram : Owner::kLibrary;
  }
  return Owner::kUser;
}

// Plateau's own start-up hook and marks, wherever they are installed: they work on behalf of their caller.
bool IsPlateausOwn(const std::string& file) {
  for (const char* own : {"/plateau_site/sitecustomize.py", "/plateau_trace/mark.py",
                          "/plateau_trace/trainer_callback.py", "/plateau_trace/pytest_plugin.py"}) {
    if (absl::EndsWith(file, own)) return true;
  }
  return false;
}

Owner OwnerOfPythonFile(const std::string& file) {
  if (absl::StartsWith(file, "<frozen")) return Owner::kLibrary;
  if (IsPlateausOwn(file) || absl::StartsWith(file, "/etc/python")) return Owner::kLibrary;
  if (IsUnderPackages(file) || IsInStandardLibrary(file)) return Owner::kPython;
  return Owner::kUser;
}

SiteTable::SiteTable(const Definitions* definitions, SiteTableOptions options)
    : definitions_(*definitions),
      options_(std::move(options)),
      blamed_(options_.rule == SiteRule::kStack ? 0 : definitions->nodes.size()),
      owners_(definitions->locations.size()),
      module_owners_(definitions->modules.size()),
      code_owners_(definitions->codes.size()),
      frame_keys_(definitions->locations.size()) {}

Owner SiteTable::OwnerOfCode(const CodeObject& code) const {
  if (IsGeneratedPython(code.file, code.name, options_.is_program_in_command)) return Owner::kLibrary;
  const Owner owner = OwnerOfPythonFile(code.file);
  const bool is_package = owner == Owner::kUser && options_.is_installed && options_.is_installed(code.file);
  return is_package ? Owner::kPython : owner;
}

Owner SiteTable::OwnerOfNative(const Module& module) const {
  if (IsInCompilerCache(module.path)) return Owner::kLibrary;
  const Owner owner = OwnerOfModule(module.path, options_.main_program);
  const bool is_package = owner == Owner::kUser && module.path != options_.main_program &&
                          options_.is_installed && options_.is_installed(module.path);
  return is_package ? Owner::kLibrary : owner;
}

Owner SiteTable::Classify(const Location& location) {
  const auto known = [](std::vector<uint8_t>& owners, uint32_t id, const auto& find) {
    uint8_t& owner = owners[id];
    if (owner == 0) owner = static_cast<uint8_t>(find()) + 1;
    return static_cast<Owner>(owner - 1);
  };
  switch (location.kind) {
    case Location::Kind::kUnknown:
      return Owner::kRuntime;
    case Location::Kind::kPython:
      if (location.owner >= code_owners_.size()) return Owner::kLibrary;
      return known(code_owners_, location.owner,
                   [&] { return OwnerOfCode(definitions_.codes[location.owner]); });
    case Location::Kind::kNative:
      break;
  }
  if (location.owner == 0 || location.owner >= module_owners_.size()) return Owner::kRuntime;
  const Module& module = definitions_.modules[location.owner];
  const Owner owner = known(module_owners_, location.owner, [&] { return OwnerOfNative(module); });
  const bool may_be_site = owner == Owner::kUser || owner == Owner::kMainProgram;
  if (may_be_site && options_.is_plumbing && options_.is_plumbing(module, location.offset))
    return Owner::kRuntime;
  return owner;
}

Owner SiteTable::FindOwner(uint32_t location) {
  if (location >= owners_.size()) return Owner::kRuntime;
  const Owner owner = Classify(definitions_.locations[location]);
  owners_[location] = static_cast<uint8_t>(owner) + 1;
  return owner;
}

// For a stack that ends in `node`, when `by_caller` (not known: there is no caller) is to blame for the stack
// without it.
inline SiteTable::Blamed SiteTable::BlamedFor(uint32_t node, uint32_t location, Blamed by_caller) {
  Owner owner = OwnerOf(location);
  if (options_.rule == SiteRule::kLibrary && owner == Owner::kPython) owner = Owner::kUser;
  if (!by_caller.is_known()) return Blamed(node, owner);
  if (options_.rule == SiteRule::kLeaf) {
    const bool is_better = owner != Owner::kRuntime || by_caller.owner() == Owner::kRuntime;
    return is_better ? Blamed(node, owner) : by_caller;
  }
  return owner <= by_caller.owner() ? Blamed(node, owner) : by_caller;  // of equals the innermost
}

// Nodes come after their callers, but for a few of programs with many threads: those are left to SiteNode().
void SiteTable::BlameAll() {
  has_blamed_all_ = true;
  for (uint32_t location = 0; location < owners_.size(); ++location) OwnerOf(location);
  const StackNodes& nodes = definitions_.nodes;
  Blamed* const blamed = blamed_.data();
  const uint32_t size = static_cast<uint32_t>(nodes.size());
  for (uint32_t i = 1; i < size; ++i) {
    const StackNode node = nodes[i];
    const Blamed by_caller = blamed[node.parent];
    const bool is_known = by_caller.is_known() || node.parent == 0;
    if (node.location == 0 || !is_known) continue;
    blamed[i] = BlamedFor(i, node.location, by_caller);
  }
}

uint32_t SiteTable::SiteNode(uint32_t leaf) {
  if (options_.rule == SiteRule::kStack) return leaf;
  if (!has_blamed_all_) BlameAll();
  if (blamed_[leaf].is_known()) [[likely]]
    return blamed_[leaf].node();
  path_.clear();
  uint32_t node = leaf;
  for (; node != 0 && !blamed_[node].is_known(); node = definitions_.nodes[node].parent)
    path_.push_back(node);
  Blamed blamed = blamed_[node];
  for (auto it = path_.rbegin(); it != path_.rend(); ++it) {
    blamed = blamed_[*it] = BlamedFor(*it, definitions_.nodes[*it].location, blamed);
  }
  return blamed.node();
}

// What makes two frames the same site: the line of a Python file, the address of a native call.
uint64_t SiteTable::FrameKey(uint32_t location) {
  if (location >= frame_keys_.size()) return location;
  uint64_t& known = frame_keys_[location];
  if (known == 0) known = MakeFrameKey(location);
  return known;
}

uint64_t SiteTable::MakeFrameKey(uint32_t location) const {
  const Location& where = definitions_.locations[location];
  if (where.kind != Location::Kind::kPython || !options_.python_line ||
      where.owner >= definitions_.codes.size()) {
    return location;
  }
  const CodeObject& code = definitions_.codes[where.owner];
  const uint64_t line =
      static_cast<uint32_t>(options_.python_line(code, static_cast<uint32_t>(where.offset)));
  return uint64_t{1} << 63 | uint64_t{where.owner} << 32 | line;
}

uint32_t SiteTable::SiteOf(Pool pool, uint32_t leaf) {
  if (leaf == 0) return SiteAt(pool, 0);
  const uint32_t node = SiteNode(leaf);
  Recent& recent = recent_[node % recent_.size()];
  if (recent.node != node || recent.pool != pool) recent = {node, pool, SiteAt(pool, node)};
  return recent.site;
}

uint32_t SiteTable::LibrarySiteOf(Pool pool, uint32_t leaf) {
  if (options_.rule == SiteRule::kStack) return SiteOf(pool, leaf);
  for (uint32_t node = leaf; node != 0; node = definitions_.nodes[node].parent) {
    if (OwnerOf(definitions_.nodes[node].location) != Owner::kRuntime) return SiteAt(pool, node);
  }
  return SiteAt(pool, leaf);
}

uint32_t SiteTable::SiteAt(Pool pool, uint32_t node) {
  const uint32_t location = definitions_.nodes[node].location;
  const uint64_t frame = options_.rule == SiteRule::kStack ? uint64_t{3} << 62 | node
                         : node == 0                       ? 0
                                                           : FrameKey(location);
  const auto [it, is_new] = index_.try_emplace({frame, static_cast<uint8_t>(pool)}, sites_.size());
  if (is_new) sites_.push_back({pool, node, node == 0 ? 0 : location});
  return it->second;
}

}  // namespace plateau::replay
