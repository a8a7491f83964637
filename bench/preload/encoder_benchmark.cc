// What one record costs to write, with the block emptied when it is full, and how large it is on average.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "preload/trace/checksum.h"
#include "preload/trace/encoder.h"

namespace plateau::trace {
namespace {

struct Event {
  uint64_t address;
  uint64_t bytes;
  uint32_t stack;
};

// Objects of a working set that come and go.
std::vector<Event> Events() {
  std::mt19937 random(1);
  std::vector<Event> events(4096);
  for (Event& event : events) {
    event = {0x5555'5000'0000 + random() % 4096 * 64, 16 + random() % 61 * 16,
             static_cast<uint32_t>(100 + random() % 8)};
  }
  return events;
}

class Block {
 public:
  Block() : payload_(kSlotPayloadBytes) { Restart(); }
  // Runs `call` again in a new block when the old one is full.
  template <typename Call>
  void Append(Call call) {
    if (call(writer_)) [[likely]]
      return;
    bytes_ += writer_.bytes();
    Restart();
    call(writer_);
  }
  void Report(benchmark::State& state) {
    state.counters["bytes_per_record"] =
        benchmark::Counter(static_cast<double>(bytes_ + writer_.bytes()), benchmark::Counter::kAvgIterations);
  }
  const std::vector<uint8_t>& payload() const { return payload_; }

 private:
  void Restart() { writer_.Start(&header_, payload_.data(), payload_.size(), 1, seq_++, 1000); }

  BlockHeader header_{};
  BlockWriter writer_;
  std::vector<uint8_t> payload_;
  uint64_t bytes_ = 0;
  uint32_t seq_ = 0;
};

void BM_Encoder_Alloc(benchmark::State& state) {
  const std::vector<Event> events = Events();
  Block block;
  size_t i = 0;
  for (auto _ : state) {
    const Event& e = events[i++ % events.size()];
    block.Append([&](BlockWriter& w) { return w.Alloc({e.address, e.bytes, e.stack, false}); });
  }
  block.Report(state);
}

void BM_Encoder_Free(benchmark::State& state) {
  const std::vector<Event> events = Events();
  Block block;
  size_t i = 0;
  for (auto _ : state) {
    const Event& e = events[i++ % events.size()];
    block.Append([&](BlockWriter& w) { return w.Free({e.address, false}); });
  }
  block.Report(state);
}

void BM_Encoder_AllocIn(benchmark::State& state) {
  const std::vector<Event> events = Events();
  Block block;
  size_t i = 0;
  for (auto _ : state) {
    const Event& e = events[i++ % events.size()];
    block.Append([&](BlockWriter& w) { return w.AllocIn({e.address, e.bytes / 2, e.stack}); });
  }
  block.Report(state);
}

// Stacks of 8 new nodes: range(0) is how many different ones there are.
void BM_Encoder_Node(benchmark::State& state) {
  Block block;
  uint32_t node = 1, location = 0;
  const auto different = static_cast<uint32_t>(state.range(0));
  for (auto _ : state) {
    const uint32_t depth = node % 8;
    const uint32_t parent = depth == 0 ? 0 : node - 1;
    block.Append([&](BlockWriter& w) {
      return w.Node({node, parent, 1000 + location % different * 8 + depth});
    });
    if (++node % 8 == 0) location = location * 1664525u + 1013904223u;
  }
  block.Report(state);
}

void BM_Checksum_Block(benchmark::State& state) {
  const Block block;
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(0, block.payload().data(), block.payload().size()));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kSlotPayloadBytes));
}

BENCHMARK(BM_Encoder_Alloc);
BENCHMARK(BM_Encoder_Free);
BENCHMARK(BM_Encoder_AllocIn);
BENCHMARK(BM_Encoder_Node)->Arg(1)->Arg(1000);
BENCHMARK(BM_Checksum_Block);

}  // namespace
}  // namespace plateau::trace
