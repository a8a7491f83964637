#include "analyzer/process/library_callers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plateau::process {
namespace {

using Owner = replay::SiteTable::Owner;
using Kind = replay::Location::Kind;

// Whether code of the module asked for what the stack allocated, before any line of Python did.
bool IsBeneath(uint32_t node, uint32_t module, const replay::Definitions& definitions) {
  for (; node != 0; node = definitions.nodes[node].parent) {
    const uint32_t location = definitions.nodes[node].location;
    if (location >= definitions.locations.size()) return false;
    const replay::Location& place = definitions.locations[location];
    if (place.kind == Kind::kPython) return false;
    if (place.owner == module) return true;
  }
  return false;
}

}  // namespace

// Of what a site allocated.
double LibraryCallers::ShareOfSteps(uint32_t site) {
  const auto [found, is_new] = shares_.try_emplace(site, 0.0);
  if (!is_new || site >= series_.site_count()) return found->second;
  series::SiteSeries of_site;
  series_.Load(site, &of_site);
  double all = 0, in_steps = 0;
  for (size_t k = 0; k < of_site.alloc_bytes.size(); ++k) {
    all += of_site.alloc_bytes[k];
    if (k > 0) in_steps += of_site.alloc_bytes[k];
  }
  return found->second = all > 0 ? in_steps / all : 0;
}

bool LibraryCallers::IsOfProgram(uint32_t site) {
  const Owner owner = table_.OwnerOf(table_.sites()[site].location);
  return owner == Owner::kUser || owner == Owner::kMainProgram;
}

std::optional<uint32_t> LibraryCallers::SiteThatCalls(uint32_t module, double share,
                                                      const std::vector<Made>& maps) {
  double all = 0;
  absl::flat_hash_map<uint32_t, std::pair<double, uint32_t>> calls;  // by location: bytes, and a site of it
  const auto add = [&](const replay::StackRow& row, double bytes) {
    auto& [sum, site] = calls[table_.sites()[row.site].location];
    all += bytes;
    sum += bytes;
    site = row.site;
  };
  for (uint32_t number = 0; number < rows_.size(); ++number) {
    if (rows_.pool(number) == replay::Pool::kMmap) continue;
    const replay::StackRow row = rows_[number];
    if (row.alloc_bytes > 0 && IsOfProgram(row.site) && IsBeneath(row.node, module, definitions_))
      add(row, row.alloc_bytes * ShareOfSteps(row.site));
  }
  for (const Made& made : maps) {
    const replay::StackRow row = rows_[made.row];
    if (IsOfProgram(row.site) && IsBeneath(row.node, module, definitions_)) add(row, made.bytes);
  }
  const auto most = std::max_element(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.first, b.first) < std::pair(b.second.first, a.first);
  });
  if (most == calls.end() || most->second.first <= share * all) return std::nullopt;
  return most->second.second;
}

void ChargeThreads(const std::vector<series::SiteReservation>& gained, const replay::Definitions& definitions,
                   LibraryCallers* callers, replay::SiteTable* table) {
  constexpr double kWorthALine = 1 << 20, kNearlyAllCalls = 0.8;
  struct Threads {
    double bytes = 0;
    std::vector<uint32_t> sites;
  };
  std::map<uint32_t, Threads> by_module;
  // A site is a library's only where no frame of the program and none of Python is above it.
  for (uint32_t site = 0; site < std::min(gained.size(), table->sites().size()); ++site) {
    const replay::SiteKey& known = table->sites()[site];
    if (gained[site].grown_bytes <= 0 || known.pool != replay::Pool::kHeap) continue;
    if (known.location == 0 || known.location >= definitions.locations.size()) continue;
    const replay::Location& place = definitions.locations[known.location];
    if (place.kind != Kind::kNative || table->OwnerOf(known.location) != Owner::kLibrary) continue;
    Threads& threads = by_module[place.owner];
    threads.bytes += gained[site].grown_bytes;
    threads.sites.push_back(site);
  }
  for (const auto& [module, threads] : by_module) {
    if (threads.bytes < kWorthALine) continue;
    const std::optional<uint32_t> caller = callers->SiteThatCalls(module, kNearlyAllCalls);
    if (!caller) continue;
    for (const uint32_t site : threads.sites) table->ShowLike(site, *caller);
  }
}

}  // namespace plateau::process
