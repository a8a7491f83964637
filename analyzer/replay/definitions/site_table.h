// Folds call stacks into sites: the frame a reader would blame.
//
//   malloc < operator new < std::vector::_M_realloc_insert < at::empty < torch/nn/modules.py < train.py:42 <
//   main
//                                                                                             ^ the site
//
// kUser takes the innermost frame that belongs to the user: a Python file that is neither in the standard
// library nor in a package nor made at run time, or a module that is not under a system prefix. When a stack
// has none: the innermost Python frame, else the main program, else the innermost frame that is not the C or
// C++ runtime, else the leaf. docs/sites.md has the rules. Paths and file names decide, so nothing has to be symbolized
// before the replay.
//
// A stack's frame follows from its own leaf and the frame of its caller's stack, so each node is looked at
// once however many stacks go through it.
//
// The same frame in two pools is two sites. Stack 0 ("no stack") is a site of its own. Not thread-safe.
#ifndef PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SITE_TABLE_H_
#define PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SITE_TABLE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/definitions/pool.h"

namespace plateau::replay {

enum class SiteRule : uint8_t {
  kUser,     // the innermost frame of the user
  kLeaf,     // the innermost frame that is not the allocator itself
  kStack,    // every stack is its own site
  kLibrary,  // the innermost Python line, of the user or of a library
};
std::optional<SiteRule> ParseSiteRule(std::string_view name);  // "user", "leaf", "stack", "library"

struct SiteKey {
  Pool pool = Pool::kHeap;
  uint32_t node = 0;      // a stack that ends here: the site's frame is the node's location
  uint32_t location = 0;  // 0: no stack
};

struct SiteTableOptions {
  SiteRule rule = SiteRule::kUser;
  std::string main_program;  // path of the executable
  // The line of a Python location: two places in one line are one site. May be empty.
  std::function<int(const CodeObject& code, uint32_t offset)> python_line;
  // True for a function that allocates for its caller (std::vector growing). May be empty.
  std::function<bool(const Module& module, uint64_t offset)> is_plumbing;
  // True for a file of an installed package, where its path does not say so. May be empty.
  std::function<bool(const std::string& path)> is_installed;
  bool is_program_in_command = false;  // python -c: "<string>" is the user's
};

class SiteTable {
 public:
  SiteTable(const Definitions* definitions, SiteTableOptions options);

  uint32_t SiteOf(Pool pool, uint32_t node);
  // The same for memory that a library takes for its own use: the site is the innermost frame that is not the
  // runtime or an allocator, whoever called the library.
  uint32_t LibrarySiteOf(Pool pool, uint32_t node);
  // The node whose frame is the site of a stack, without making a site of it.
  uint32_t SiteNode(uint32_t node);
  const std::vector<SiteKey>& sites() const { return sites_; }
  // From now on a site is shown at the line of another one.
  void ShowLike(uint32_t site, uint32_t other) {
    sites_[site].node = sites_[other].node;
    sites_[site].location = sites_[other].location;
  }

  // What a location is to the user.
  enum class Owner : uint8_t { kUser, kPython, kMainProgram, kLibrary, kRuntime };
  Owner OwnerOf(uint32_t location) {
    const uint8_t known = location < owners_.size() ? owners_[location] : 0;
    return known != 0 ? static_cast<Owner>(known - 1) : FindOwner(location);
  }

 private:
  // The frame to blame for a stack and whose it is, in one word, because there is one for every node.
  class Blamed {
   public:
    Blamed() = default;
    Blamed(uint32_t node, Owner owner)
        : bits_(static_cast<uint32_t>(owner) << StackNodes::kNumberBits | node) {}
    bool is_known() const { return bits_ != 0; }
    uint32_t node() const { return bits_ & ((1u << StackNodes::kNumberBits) - 1); }
    Owner owner() const { return static_cast<Owner>(bits_ >> StackNodes::kNumberBits); }

   private:
    uint32_t bits_;
  };
  Owner FindOwner(uint32_t location);
  // Finds the frame to blame for all stacks, one after the other: quicker than each when it is needed.
  void BlameAll();
  [[gnu::always_inline]] Blamed BlamedFor(uint32_t node, uint32_t location, Blamed by_caller);
  uint32_t SiteAt(Pool pool, uint32_t node);
  uint64_t FrameKey(uint32_t location);
  uint64_t MakeFrameKey(uint32_t location) const;
  Owner Classify(const Location& location);
  Owner OwnerOfCode(const CodeObject& code) const;
  Owner OwnerOfNative(const Module& module) const;

  const Definitions& definitions_;
  SiteTableOptions options_;
  std::vector<SiteKey> sites_;
  absl::flat_hash_map<std::pair<uint64_t, uint8_t>, uint32_t> index_;  // (frame, pool) -> site
  ZeroedArray<Blamed> blamed_;                                         // by node; 0 = not known yet
  bool has_blamed_all_ = false;
  std::vector<uint32_t> path_;                        // scratch of SiteNode
  std::vector<uint8_t> owners_;                       // by location; 0 = not known yet
  std::vector<uint8_t> module_owners_, code_owners_;  // the same
  std::vector<uint64_t> frame_keys_;                  // by location; 0 = not known yet
  // Stacks that follow each other are often of the same site.
  struct Recent {
    uint32_t node = 0;
    Pool pool = Pool::kHeap;
    uint32_t site = 0;
  };
  std::array<Recent, 256> recent_;  // by node
};

// The rules by path alone.
SiteTable::Owner OwnerOfModule(const std::string& path, const std::string& main_program);
SiteTable::Owner OwnerOfPythonFile(const std::string& file);

}  // namespace plateau::replay

#endif  // PLATEAU_ANALYZER_REPLAY_DEFINITIONS_SITE_TABLE_H_
