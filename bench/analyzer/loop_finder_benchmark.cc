// What one allocation costs the finder of loops: small objects and blocks of two nested loops, one in five with a new pair of stacks.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/series/clock/loops/loop_finder.h"
#include "tests/support/trace_text.h"

namespace plateau::bench {
namespace {

// <module> has a loop of bytes 10 to 40 around one of 20 to 30; a step of 64 places is called in both.
std::string Program() {
  std::string text = R"(
header mode=exact clean_exit=1
code code=1 python=3011 line=1 file="/home/user/loop.py" name="<module>" loops=02050f0505
code code=2 python=3011 line=30 file="/home/user/loop.py" name="step" loops=00
python_location location=1 code=1 offset=14
python_location location=2 code=1 offset=24
)";
  for (int i = 0; i < 64; ++i)
    text += "python_location location=" + std::to_string(3 + i) +
            " code=2 offset=" + std::to_string(2 + 2 * i) + "\n";
  text += "node node=1 parent=0 location=1\nnode node=2 parent=0 location=2\n";
  for (int i = 0; i < 128; ++i)
    text += "node node=" + std::to_string(3 + i) + " parent=" + std::to_string(1 + i % 2) +
            " location=" + std::to_string(3 + i / 2) + "\n";
  return text + "@1 alloc address=0x1000 bytes=10 stack=1\n";
}

void BM_LoopFinder_Add(benchmark::State& state) {
  const std::string path =
      testing::WriteTemporary("loop_finder_benchmark.plt", testing::TraceFromText(Program()));
  auto reader = *reader::TraceReader::Open(path);
  const replay::Definitions definitions = *replay::CollectDefinitions(*reader);
  const series::FunctionPaths paths(&definitions);
  series::LoopFinder finder(&definitions, &paths, nullptr);
  uint64_t time = 1000;
  uint32_t random = 1;
  for (auto _ : state) {
    random = random * 1664525 + 1013904223;
    const bool is_small = (random >> 24) % 5 != 0;
    finder.Add(1, time += 10, 3 + (random >> 16) % 128, is_small ? 48 + (random >> 28) * 16 : 40000,
               is_small ? 1365 : 1);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_LoopFinder_Add);

}  // namespace
}  // namespace plateau::bench
