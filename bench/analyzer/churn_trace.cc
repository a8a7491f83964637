#include "bench/analyzer/churn_trace.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/trace_text.h"

namespace plateau::bench {
namespace {

struct Files {
  std::map<std::pair<size_t, size_t>, std::string> paths;
  ~Files() {
    for (const auto& [key, path] : paths) std::remove(path.c_str());
  }
};

std::string TraceText(size_t pairs, size_t live) {
  constexpr size_t kStacks = 30;
  constexpr size_t kEventsPerBlock = 16000;
  std::string text = "header mode=exact pid=100 clean_exit=1\nstream 1\n";
  char line[120];
  for (size_t node = 1; node <= kStacks; ++node) {
    std::snprintf(line, sizeof(line), "node node=%zu parent=%zu location=%zu\n", node, node / 2, node);
    text += line;
  }
  std::mt19937_64 random(1);
  std::vector<uint64_t> addresses(live);
  uint64_t fresh = 0x5555'0000'0000;
  for (size_t i = 0; i < pairs; ++i) {
    uint64_t& address = addresses[random() % live];
    if (address != 0) {
      std::snprintf(line, sizeof(line), "free address=%#lx\n", address);
      text += line;
    } else {
      address = fresh += 96;
    }
    std::snprintf(line, sizeof(line), "alloc address=%#lx bytes=%lu stack=%lu\n", address, 16 + random() % 64,
                  1 + random() % kStacks);
    text += line;
    if (i % kEventsPerBlock == kEventsPerBlock - 1) text += "seal\n";
  }
  return text;
}

}  // namespace

std::string ChurnTrace(size_t pairs, size_t live) {
  static Files files;
  std::string& path = files.paths[{pairs, live}];
  if (!path.empty()) return path;
  path = "/tmp/plateau-bench-" + std::to_string(getpid()) + "-" + std::to_string(pairs) + "-" +
         std::to_string(live) + ".plt";
  std::ofstream(path, std::ios::binary) << testing::TraceFromText(TraceText(pairs, live));
  return path;
}

}  // namespace plateau::bench
