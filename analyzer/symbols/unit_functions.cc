#include "analyzer/symbols/unit_functions.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace plateau::symbols {
namespace {

// Debug information comes from elsewhere: nesting deeper than any compiler's is not followed.
constexpr size_t kMaxDepth = 256;
// Many functions may name one list of ranges, so a small file could have any number of them.
constexpr size_t kMaxRanges = size_t{1} << 20;

// Whether functions may be defined inside.
bool MayHaveFunctions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
      return true;
    default:
      return false;
  }
}

bool IsBlock(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
         tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

// Goes on to the next sibling; false when there is none. One that lies before it is damage.
bool Next(Dwarf_Die* die) {
  Dwarf_Die next;
  if (dwarf_siblingof(die, &next) != 0 || next.addr <= die->addr) return false;
  *die = next;
  return true;
}

}  // namespace

UnitFunctions::UnitFunctions(Dwarf_Die unit) {
  Collect(unit);
  std::stable_sort(ranges_.begin(), ranges_.end(),
                   [](const Range& a, const Range& b) { return a.begin < b.begin; });
  uint64_t reach = 0;
  for (Range& range : ranges_) range.reach = reach = std::max(reach, range.end);
}

void UnitFunctions::Collect(Dwarf_Die parent) {
  std::vector<Dwarf_Die> path(1);  // down to where we are
  if (dwarf_child(&parent, &path[0]) != 0) return;
  const void* last = nullptr;
  // Entries lie in the order of the walk; others are damage, and might lead in circles.
  while (!path.empty() && path.back().addr > last) {
    Dwarf_Die& die = path.back();
    last = die.addr;
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram) {
      Dwarf_Addr base, begin, end;
      for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &begin, &end)) > 0;) {
        // Of a function that the linker left out, or that is never reached and has another one's address.
        if (begin == 0 || begin >= end) continue;
        if (ranges_.size() == kMaxRanges) return;
        ranges_.push_back({begin, end, 0, die});
      }
    }
    Dwarf_Die child;
    if (MayHaveFunctions(tag) && path.size() < kMaxDepth && dwarf_child(&die, &child) == 0) {
      path.push_back(child);
      continue;
    }
    while (!path.empty() && !Next(&path.back())) path.pop_back();
  }
}

std::vector<Dwarf_Die> UnitFunctions::At(uint64_t address) const {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const Range& each) { return a < each.begin; });
  do {
    if (range == ranges_.begin() || address >= std::prev(range)->reach) return {};
    --range;
  } while (address >= range->end);
  std::vector<Dwarf_Die> found = {range->function};
  Dwarf_Die block = found[0], child;
  for (size_t depth = 0; depth < kMaxDepth && dwarf_child(&block, &child) == 0; ++depth) {
    bool is_inside = false;
    do {
      is_inside = IsBlock(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1;
    } while (!is_inside && Next(&child));
    if (!is_inside) break;
    block = child;
    if (dwarf_tag(&block) == DW_TAG_inlined_subroutine) found.push_back(block);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace plateau::symbols
