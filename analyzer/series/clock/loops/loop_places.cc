#include "analyzer/series/clock/loops/loop_places.h"

#include <algorithm>
#include <utility>

#include "preload/trace/varint.h"

namespace plateau::series {
namespace {

constexpr LoopSpan kWholeFunction = {UINT32_MAX, UINT32_MAX};  // no loop has this head

bool Contains(LoopSpan span, int64_t offset) { return offset >= span.head && offset <= span.tail; }

}  // namespace

std::optional<std::vector<LoopSpan>> DecodeLoops(std::string_view loops) {
  constexpr uint64_t kMost = 1 << 12;
  constexpr uint64_t kMostUnits = 1 << 28;
  const auto* p = reinterpret_cast<const uint8_t*>(loops.data());
  const uint8_t* const end = p + loops.size();
  uint64_t count = 0;
  p = trace::GetVarint(p, end, &count);
  if (p == nullptr || count > kMost) return std::nullopt;
  std::vector<LoopSpan> spans;
  uint64_t head = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t step = 0, length = 0;
    if ((p = trace::GetVarint(p, end, &step)) == nullptr) return std::nullopt;
    if ((p = trace::GetVarint(p, end, &length)) == nullptr) return std::nullopt;
    if (step > kMostUnits || length > kMostUnits || head + step + length > kMostUnits) return std::nullopt;
    head += step;
    spans.push_back({static_cast<uint32_t>(2 * head), static_cast<uint32_t>(2 * (head + length))});
  }
  return spans;
}

LoopPlaces::LoopPlaces(const replay::Definitions* definitions, const FunctionPaths* paths,
                       FunctionOf function_of)
    : definitions_(*definitions),
      paths_(*paths),
      function_of_(std::move(function_of)),
      is_native_(std::none_of(definitions->codes.begin(), definitions->codes.end(),
                              [](const replay::CodeObject& code) { return !code.file.empty(); })),
      place_of_node_(definitions->nodes.size() + 1),
      places_(1),
      loops_(1),
      path_depths_(1) {
  place_of_node_[0] = 1;
}

const std::vector<LoopSpan>& LoopPlaces::SpansOf(uint32_t code) {
  const auto [it, is_new] = spans_.try_emplace(code);
  if (is_new) {
    it->second = DecodeLoops(definitions_.codes[code].loops).value_or(std::vector<LoopSpan>());
    // The innermost first.
    std::sort(it->second.begin(), it->second.end(),
              [](LoopSpan a, LoopSpan b) { return a.tail - a.head < b.tail - b.head; });
  }
  return it->second;
}

uint32_t LoopPlaces::LoopOf(uint32_t place, uint32_t code, LoopSpan span) {
  const uint32_t path = places_[place].path;
  const auto [it, is_new] =
      loop_numbers_.try_emplace(std::tuple(path, span.head), static_cast<uint32_t>(loops_.size()));
  if (is_new) loops_.push_back({path, span, code, place, path_depths_[path]});
  return it->second;
}

void LoopPlaces::FindLoopsOf(uint32_t place, uint32_t code, bool is_request) {
  Place& at = places_[place];
  at.first_loop = static_cast<uint32_t>(own_loops_.size());
  if (code != 0) {
    for (const LoopSpan span : SpansOf(code)) {
      if (Contains(span, at.offset)) own_loops_.push_back(LoopOf(place, code, span));
    }
  }
  if (code == 0 || is_request) own_loops_.push_back(LoopOf(place, 0, kWholeFunction));
  at.loop_count = static_cast<uint32_t>(own_loops_.size()) - at.first_loop;
}

uint32_t LoopPlaces::ChildOf(uint32_t place, uint32_t location) {
  if (location >= definitions_.locations.size()) return place;
  const replay::Location& where = definitions_.locations[location];
  const bool is_python = where.kind == replay::Location::Kind::kPython;
  if (is_python == is_native_ || where.kind == replay::Location::Kind::kUnknown) return place;
  if (is_python && where.owner >= definitions_.codes.size()) return place;
  const uint32_t function = is_python ? paths_.FirstCode(where.owner) : function_of_(location);
  const int64_t offset = is_python ? static_cast<int32_t>(static_cast<uint32_t>(where.offset))
                                   : static_cast<int64_t>(where.offset);
  const auto [it, is_new] =
      children_.try_emplace(std::tuple(place, function, offset), static_cast<uint32_t>(places_.size()));
  if (!is_new) return it->second;
  const uint32_t child = it->second;
  const Place parent = places_[place];
  const auto [path, is_new_path] = child_paths_.try_emplace(uint64_t{parent.path} << 32 | function,
                                                            static_cast<uint32_t>(path_depths_.size()));
  if (is_new_path) path_depths_.push_back(path_depths_[parent.path] + 1);
  places_.push_back({place, path->second, location, offset, 0, 0,
                     parent.is_import || (is_python && paths_.IsImport(function))});
  const bool is_request = is_python && !paths_.IsSchedule(function) && parent.location != 0 &&
                          paths_.IsSchedule(paths_.FirstCode(definitions_.locations[parent.location].owner));
  FindLoopsOf(child, is_python ? function : 0, is_request);
  return child;
}

uint32_t LoopPlaces::FindPlace(uint32_t node) {
  walk_.clear();
  for (; place_of_node_[node] == 0; node = definitions_.nodes[node].parent) walk_.push_back(node);
  uint32_t place = place_of_node_[node] - 1;
  for (auto it = walk_.rbegin(); it != walk_.rend(); ++it) {
    place = ChildOf(place, definitions_.nodes[*it].location);
    place_of_node_[*it] = place + 1;
  }
  return place;
}

uint32_t LoopPlaces::LoopAround(uint32_t place) const {
  uint32_t found = 0;
  ForEachLoopAround(place, [&found](uint32_t loop, uint32_t) {
    found = loop;
    return false;
  });
  return found;
}

uint32_t LoopPlaces::OwnLoopAround(uint32_t place, int64_t offset) const {
  const Place& at = places_[place];
  for (uint32_t i = 0; i < at.loop_count; ++i) {
    const uint32_t loop = own_loops_[at.first_loop + i];
    if (loops_[loop].code == 0 || Contains(loops_[loop].span, offset)) return loop;
  }
  return 0;
}

}  // namespace plateau::series
