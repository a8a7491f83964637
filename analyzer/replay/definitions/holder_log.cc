#include "analyzer/replay/definitions/holder_log.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace plateau::replay {
namespace {

// Names of types and modules. The shim writes shorter ones.
constexpr size_t kMaxNameBytes = 200;
// No process has that many bytes or items.
constexpr uint64_t kMaxNumber = uint64_t{1} << 52;

std::string Name(std::string_view text) { return std::string(text.substr(0, kMaxNameBytes)); }

// False when the bytes are no path.
bool ReadPath(std::string_view bytes, std::vector<PathSegment>* path) {
  size_t read = 0;
  trace::HolderPathReader reader(bytes);
  for (trace::HolderSegment segment; reader.Next(&segment);) {
    if (path->size() >= trace::kMaxSegments || segment.text.size() > trace::kMaxSegmentTextBytes)
      return false;
    path->push_back({segment.kind, segment.number, std::string(segment.text)});
    read = static_cast<size_t>(segment.text.data() + segment.text.size() - bytes.data());
  }
  return read == bytes.size();
}

}  // namespace

void HolderLog::Add(uint64_t tsc, const trace::HolderWalkRecord& walk) {
  if (walks.size() >= kMaxWalks) {
    ++surplus;
    return;
  }
  walks.push_back({tsc, walk});
}

void HolderLog::Add(uint64_t tsc, const trace::HolderRecord& holder) {
  if (chains.size() >= kMaxChains) {
    ++surplus;
    return;
  }
  HolderChain chain;
  const bool makes_sense = holder.targets_asked > 0 && holder.targets_found <= holder.targets_asked &&
                           holder.targets_asked <= kMaxNumber && holder.bytes <= kMaxNumber &&
                           holder.container_length <= kMaxNumber && ReadPath(holder.path, &chain.path) &&
                           holder.container_segments <= chain.path.size();
  if (!makes_sense) {
    ++damaged_chains;
    return;
  }
  chain.tsc = tsc;
  chain.walk = holder.walk;
  chain.stack = holder.stack;
  chain.end = holder.end;
  chain.targets_found = static_cast<double>(holder.targets_found);
  chain.targets_asked = static_cast<double>(holder.targets_asked);
  chain.bytes = static_cast<double>(holder.bytes);
  chain.container = holder.container;
  chain.length = static_cast<double>(holder.container_length);
  // A bound that nobody can reach is none: sys.maxsize and the like.
  chain.bound = holder.container_bound <= kMaxNumber ? static_cast<double>(holder.container_bound) : 0;
  chain.container_segments = holder.container_segments;
  chain.native_stack = holder.native_stack;
  chain.container_type = Name(holder.container_type);
  chain.what = Name(holder.what);
  chains.push_back(std::move(chain));
}

void HolderLog::Add(HolderLog&& other) {
  const auto take = [this](auto* to, auto* from, size_t limit) {
    const size_t taken = std::min(from->size(), limit - std::min(limit, to->size()));
    to->insert(to->end(), std::make_move_iterator(from->begin()),
               std::make_move_iterator(from->begin() + static_cast<ptrdiff_t>(taken)));
    surplus += from->size() - taken;
  };
  take(&walks, &other.walks, kMaxWalks);
  take(&chains, &other.chains, kMaxChains);
  damaged_chains += other.damaged_chains;
  surplus += other.surplus;
}

void HolderLog::SortByTime() {
  const auto by_time = [](const auto& a, const auto& b) { return a.tsc < b.tsc; };
  std::stable_sort(walks.begin(), walks.end(), by_time);
  std::stable_sort(chains.begin(), chains.end(), by_time);
}

}  // namespace plateau::replay
