// Records of holders as a damaged or hostile trace may have them: read, merged into paths, put into words.
//
// Input: records one after the other, each sixteen bytes of numbers and then as many bytes of path as the first says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/process/holders/path_merge.h"
#include "analyzer/replay/definitions/holder_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau;
  constexpr size_t kNumbers = 16;
  replay::HolderLog log;
  const uint8_t* end = data + size;
  for (uint64_t tsc = 0; static_cast<size_t>(end - data) >= kNumbers; ++tsc) {
    const uint8_t* n = data;
    data += kNumbers;
    const size_t path = std::min<size_t>(n[0] * size_t{8}, static_cast<size_t>(end - data));
    const std::string_view bytes(reinterpret_cast<const char*>(data), path);
    data += path;
    trace::HolderRecord record{};
    record.walk = n[1] & 7;
    record.stack = n[2] & 3;
    record.end = static_cast<trace::HolderEnd>(n[3] & 15);
    record.targets_found = n[4];
    record.targets_asked = n[5];
    record.bytes = uint64_t{n[6]} << (n[7] & 63);
    record.container = n[8];
    record.container_length = uint64_t{n[9]} << (n[10] & 63);
    record.container_bound = uint64_t{n[11]} << (n[12] & 63);
    record.container_segments = n[13];
    record.native_stack = n[14];
    record.container_type = record.what = bytes.substr(0, n[15]);
    record.path = bytes;
    log.Add(tsc, record);
  }
  std::vector<process::ChainOfSite> chains;
  for (const replay::HolderChain& chain : log.chains)
    chains.push_back({&chain, static_cast<double>(chain.tsc), static_cast<double>(chain.stack)});
  const process::MergeContext context = {
      .owner_of = [](const std::vector<replay::PathSegment>&) { return series::RootOwner::kUser; },
      .name_of_stack = [](uint32_t) { return std::string("a.py:1"); }};
  const series::SiteHolding holding = process::MergeChains(chains, context);
  if (holding.paths.size() > 4) std::abort();
  for (const series::HolderPath& path : holding.paths) {
    const bool is_share = path.share >= 0 && path.share <= 1;
    if (!is_share || path.container_links > path.links.size()) std::abort();
    if (path.text.size() > 48 * 300) std::abort();  // segments, each cut and escaped
    (void)series::ContainerText(path);
  }
  return 0;
}
