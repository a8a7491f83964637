// The places on stacks from which the rounds of loops can be told, and the loops around them.
//
//   stack   <module>:40 > main:12 > step:3 > native frames      place   <module>:40 > main:12 > step:3
//
// A place is a Python frame under its caller: a function and an offset into its bytecode. What native code does
// beneath it happens at that place. In a trace without Python the native frames are the places.
//
// A loop is a function, on its path of functions, and a loop of that function's bytecode, which the trace has with
// its code objects. Loops of native functions are not known: the function as a whole is taken for one, because
// whoever is seen further up in it than before has gone round in it, or has called it again. So is a function that
// an event loop calls: a request.
//
// Places and loops are numbered from 1 in the order in which they are first asked for; 0 is none. Memory: 4 bytes
// a stack node, about 40 a place, 32 a loop. Not thread-safe.
#ifndef PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_PLACES_H_
#define PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_PLACES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/base/zeroed_array.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/series/clock/loops/function_paths.h"

namespace plateau::series {

// In bytes of bytecode.
struct LoopSpan {
  uint32_t head;
  uint32_t tail;
};
// What a code object's record says of its loops; nothing when that is not known or damaged.
std::optional<std::vector<LoopSpan>> DecodeLoops(std::string_view loops);

struct Place {
  uint32_t parent = 0;
  uint32_t path = 0;        // of functions, this one included
  uint32_t location = 0;    // as the trace has it, where it was first met
  int64_t offset = -1;      // into the function's code; -1: before its first instruction
  uint32_t first_loop = 0;  // of those around it in its own function, in own_loops_, the innermost first
  uint32_t loop_count = 0;
  bool is_import = false;
};

struct Loop {
  uint32_t path = 0;   // of functions, its own included
  LoopSpan span{};     // of bytecode; all of it in a native function
  uint32_t code = 0;   // 0: a function as a whole
  uint32_t place = 0;  // where it was first met
  uint32_t depth = 0;  // functions on its path
};

class LoopPlaces {
 public:
  // Tells functions apart, by a location in native code. Equal numbers: the same function.
  using FunctionOf = std::function<uint32_t(uint32_t location)>;

  // The definitions, with their stacks merged, and the paths must outlive this object.
  LoopPlaces(const replay::Definitions* definitions, const FunctionPaths* paths, FunctionOf function_of);

  // Of a canonical node.
  uint32_t PlaceOf(uint32_t node) {
    const uint32_t known = place_of_node_[node];
    return known != 0 ? known - 1 : FindPlace(node);
  }
  const Place& operator[](uint32_t place) const { return places_[place]; }
  size_t size() const { return places_.size(); }
  const std::vector<Loop>& loops() const { return loops_; }

  // Calls `visit` with each loop around a place, from the inside out, and the place of the loop's function that
  // it is reached through. Ends when `visit` returns false.
  template <typename Visit>
  void ForEachLoopAround(uint32_t place, Visit visit) const {
    for (; place != 0; place = places_[place].parent) {
      const Place& at = places_[place];
      for (uint32_t i = 0; i < at.loop_count; ++i) {
        if (!visit(own_loops_[at.first_loop + i], place)) return;
      }
    }
  }
  // The innermost loop around a place, or 0.
  uint32_t LoopAround(uint32_t place) const;
  // The innermost loop of a place's own function that also has `offset` inside, or 0.
  uint32_t OwnLoopAround(uint32_t place, int64_t offset) const;

  bool IsNative() const { return is_native_; }

 private:
  uint32_t FindPlace(uint32_t node);
  uint32_t ChildOf(uint32_t place, uint32_t location);
  void FindLoopsOf(uint32_t place, uint32_t code, bool is_request);
  uint32_t LoopOf(uint32_t place, uint32_t code, LoopSpan span);
  const std::vector<LoopSpan>& SpansOf(uint32_t code);

  const replay::Definitions& definitions_;
  const FunctionPaths& paths_;
  const FunctionOf function_of_;
  const bool is_native_;
  ZeroedArray<uint32_t> place_of_node_;  // plus 1
  std::vector<Place> places_;
  std::vector<Loop> loops_;
  std::vector<uint32_t> own_loops_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, int64_t>, uint32_t>
      children_;                                         // parent, function, offset
  absl::flat_hash_map<uint64_t, uint32_t> child_paths_;  // parent path, function
  std::vector<uint32_t> path_depths_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t>, uint32_t> loop_numbers_;  // path, head
  absl::flat_hash_map<uint32_t, std::vector<LoopSpan>> spans_;                  // by code
  std::vector<uint32_t> walk_;
};

}  // namespace plateau::series

#endif  // PLATEAU_ANALYZER_SERIES_CLOCK_LOOPS_LOOP_PLACES_H_
