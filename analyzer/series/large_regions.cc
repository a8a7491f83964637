#include "analyzer/series/large_regions.h"

#include "absl/strings/str_cat.h"

namespace plateau::series {

std::string BundledAllocator::Title() const {
  return absl::StrCat(name.empty() ? "an allocator" : name, " in ", library);
}

}  // namespace plateau::series
