// Who holds what a site made: the reference paths that walks over the living objects found, and how long the
// containers on them were at each walk.
//
//   trainer.meter.history[*]['loss']      text      97 %                     share
//   trainer.meter.history                 container, a list; 64, 128, 256    lengths
//
// Plain values. Texts come from the traced program: their length is limited, what is in them is not.
#ifndef PLATEAU_ANALYZER_SERIES_HOLDING_H_
#define PLATEAU_ANALYZER_SERIES_HOLDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plateau::series {

// How a path ends, away from what it holds.
enum class HeldBy : uint8_t {
  kRoot,     // in a module, a frame, the interpreter: the path is whole
  kNative,   // in C or C++, as far as it could be followed
  kGarbage,  // in itself: a cycle that waits for the collector
  kLost,     // nowhere: no word of the memory points to it
};
const char* HeldByName(HeldBy end);  // "path", "native", "garbage", "lost"

// Whose the root of a path is; the earlier are preferred.
enum class RootOwner : uint8_t { kUser, kLibrary, kInterpreter, kNative };
const char* RootOwnerName(RootOwner owner);  // "user", "library", "interpreter", "native"

// One link of a path: "attribute" and "meter".
struct HolderLink {
  std::string kind;
  std::string text;           // as shown in the path: ".meter"
  bool is_user_data = false;  // a key: part of what the program works on
};

// Of the containers of a path at one walk.
struct LengthReading {
  double step = 0;
  double items = 0;
  double bound = 0;  // 0: none is known
};

struct HolderPath {
  HeldBy end = HeldBy::kRoot;
  RootOwner owner = RootOwner::kUser;
  std::string text;
  std::string root;            // "a local of main() (train.py:31)", "module cache"
  std::string container;       // the beginning of the text that leads to the container; empty: there is none
  std::string container_type;  // "list"
  std::vector<HolderLink> links;
  size_t container_links = 0;
  double share = 0;                    // of what was looked at, at the last walk
  std::vector<LengthReading> lengths;  // by step

  // By the last two walks; empty with less.
  std::optional<double> ItemsPerStep() const;
};

struct SiteHolding {
  std::vector<HolderPath> paths;  // the most telling first; those behind it are of other containers
  double last_look_step = 0;
  double looked_at = 0;        // objects, at the last walk that asked for the site
  double not_found_share = 0;  // of them
  double garbage_share = 0;
  double lost_share = 0;
  bool is_collector_off = false;
  bool was_cut = false;  // the walk ended at a limit: what it did not find may be held by anybody

  bool empty() const { return looked_at == 0; }
  const HolderPath* main() const { return paths.empty() ? nullptr : &paths.front(); }
};

// "client._cache (deque, 812 of at most 1,024 items, +8 a step)", for sentences and cards.
std::string ContainerText(const HolderPath& path);

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_HOLDING_H_
