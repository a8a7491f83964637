#include "analyzer/process/large_regions.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plateau::process {
namespace {

using Owner = replay::SiteTable::Owner;

// An allocator that has less than this is not worth a line.
constexpr double kWorthNamingBytes = 1 << 20;

absl::string_view BaseName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

// The library whose code made a map; 0 when the program, the user's own library or Python's mmap did.
uint32_t LibraryOf(uint32_t node, const replay::Definitions& definitions, replay::SiteTable* table) {
  for (; node != 0; node = definitions.nodes[node].parent) {
    const uint32_t location = definitions.nodes[node].location;
    if (location >= definitions.locations.size()) return 0;
    const replay::Location& place = definitions.locations[location];
    if (place.kind == replay::Location::Kind::kPython) return 0;
    const Owner owner = table->OwnerOf(location);
    if (owner == Owner::kRuntime) continue;
    if (owner != Owner::kLibrary || place.owner >= definitions.modules.size()) return 0;
    return absl::StartsWith(BaseName(definitions.modules[place.owner].path), "mmap.") ? 0 : place.owner;
  }
  return 0;
}

}  // namespace

void LargeRegions::Add(const replay::LiveView& object) {
  const bool is_of_steps = object.birth >= 1;
  if (object.reserved_bytes == 0 && !is_of_steps) return;
  if (object.site >= sites_.size()) sites_.resize(object.site + 1);
  if (is_of_steps) sites_[object.site].grown_bytes += object.bytes;
  if (object.reserved_bytes == 0) return;
  Row& row = rows_[object.row];
  row.resident_bytes += object.bytes;
  if (is_of_steps) row.grown_bytes += object.bytes;
  if (object.count > 0) {
    row.reserved_bytes += static_cast<double>(object.reserved_bytes);
  } else if (is_of_steps) {
    row.arrived_bytes += object.bytes;
  }
}

void LargeRegions::Finish(const replay::StackRows& rows, const replay::Definitions& definitions,
                          replay::SiteTable* table) {
  std::vector<uint32_t> order;
  for (const auto& [row, sums] : rows_) order.push_back(row);
  std::sort(order.begin(), order.end());
  absl::flat_hash_map<uint32_t, size_t> of_module;
  for (const uint32_t number : order) {
    const Row& sums = rows_[number];
    const replay::StackRow row = rows[number];
    const bool is_map = row.pool == replay::Pool::kMmap;
    const uint32_t module = is_map ? LibraryOf(row.node, definitions, table) : 0;
    series::SiteReservation& site = sites_[row.site];
    site.reserved_bytes += sums.reserved_bytes;
    site.resident_bytes += sums.resident_bytes;
    site.arrived_bytes += sums.arrived_bytes;
    if (module == 0) continue;
    site.unbounded_bytes += sums.grown_bytes;  // pages of the maps that it has, and more maps
    const auto [place, is_new] = of_module.try_emplace(module, libraries_.size());
    if (is_new) {
      LibraryMaps maps;
      maps.module = module;
      maps.path = definitions.modules[module].path;
      maps.allocator.library = std::string(BaseName(maps.path));
      libraries_.push_back(std::move(maps));
    }
    LibraryMaps& maps = libraries_[place->second];
    // A library may carry two: the one that has most gives the name.
    if (maps.node == 0 || sums.resident_bytes > maps.largest_bytes) {
      maps.node = row.node;
      maps.largest_bytes = sums.resident_bytes;
    }
    maps.allocator.reserved_bytes += sums.reserved_bytes;
    maps.allocator.resident_bytes += sums.resident_bytes;
    maps.allocator.grown_bytes += sums.grown_bytes;
    std::vector<uint32_t>& sites = maps.allocator.sites;
    if (std::find(sites.begin(), sites.end(), row.site) == sites.end()) sites.push_back(row.site);
  }
  std::erase_if(libraries_,
                [](const LibraryMaps& maps) { return maps.allocator.resident_bytes < kWorthNamingBytes; });
  for (LibraryMaps& maps : libraries_) {
    std::stable_sort(
        maps.allocator.sites.begin(), maps.allocator.sites.end(),
        [this](uint32_t a, uint32_t b) { return sites_[a].resident_bytes > sites_[b].resident_bytes; });
  }
  std::stable_sort(libraries_.begin(), libraries_.end(), [](const LibraryMaps& a, const LibraryMaps& b) {
    return a.allocator.resident_bytes > b.allocator.resident_bytes;
  });
}

void LargeRegions::ChargeCallers(LibraryCallers* callers, replay::SiteTable* table) {
  constexpr double kMostOfTheCalls = 0.5, kGrewInSteps = 0.1;
  std::vector<LibraryCallers::Made> made;
  for (const auto& [row, sums] : rows_) {
    if (sums.grown_bytes > sums.arrived_bytes) made.push_back({row, sums.grown_bytes - sums.arrived_bytes});
  }
  std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  for (LibraryMaps& maps : libraries_) {
    if (maps.allocator.grown_bytes <= kGrewInSteps * maps.allocator.resident_bytes) continue;
    const std::optional<uint32_t> caller = callers->SiteThatCalls(maps.module, kMostOfTheCalls, made);
    if (!caller) continue;
    for (const uint32_t site : maps.allocator.sites) {
      if (!sites_[site].IsLibrarys() || table->sites()[site].location == table->sites()[*caller].location)
        continue;
      table->ShowLike(site, *caller);
      sites_[site].is_by_caller = true;
    }
  }
}

void NameAllocator(const std::vector<std::string>& functions, series::BundledAllocator* allocator) {
  struct Sign {
    absl::string_view begin;
    const char* name;
  };
  constexpr Sign kSigns[] = {{"_mi_", "mimalloc"},
                             {"mi_", "mimalloc"},
                             {"je_", "jemalloc"},
                             {"_rjem_", "jemalloc"},
                             {"duckdb_je_", "jemalloc"},
                             {"tcmalloc::", "tcmalloc"},
                             {"TCMalloc_", "tcmalloc"},
                             {"tc_", "tcmalloc"},
                             {"rpmalloc", "rpmalloc"},
                             {"rpaligned", "rpmalloc"},
                             {"snmalloc::", "snmalloc"},
                             {"partition_alloc::", "PartitionAlloc"},
                             {"WTF::Partition", "PartitionAlloc"}};
  constexpr size_t kNear = 12;
  for (size_t i = 0; i < std::min(functions.size(), kNear) && allocator->name.empty(); ++i) {
    for (const Sign& sign : kSigns) {
      if (absl::StartsWith(functions[i], sign.begin)) allocator->name = sign.name;
    }
  }
  if (absl::StrContains(allocator->library, "arrow")) {
    allocator->remedy = "ARROW_DEFAULT_MEMORY_POOL=system";
  }
}

}  // namespace plateau::process
