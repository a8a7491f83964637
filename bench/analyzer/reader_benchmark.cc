// From bytes to events: finding blocks, the two ways through their records, packing and unpacking.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "analyzer/pack/column_codec.h"
#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/event_block.h"
#include "bench/analyzer/churn_trace.h"

namespace plateau::bench {
namespace {

constexpr size_t kPairs = 200'000;
constexpr size_t kLive = 1000;

std::unique_ptr<reader::TraceReader> OpenChurn() {
  return *reader::TraceReader::Open(ChurnTrace(kPairs, kLive));
}

size_t BlocksOf(const reader::TraceReader& reader) {
  size_t blocks = 0;
  for (const reader::StreamIndex& stream : reader.streams()) blocks += stream.blocks.size();
  return blocks;
}

void BM_TraceReader_Open(benchmark::State& state) {
  ChurnTrace(kPairs, kLive);  // made now, not while the clock runs
  size_t blocks = 0, bytes = 0;
  for (auto _ : state) {
    const auto reader = OpenChurn();
    blocks += BlocksOf(*reader);
    bytes += reader->summary().file_bytes;
  }
  state.counters["blocks"] = benchmark::Counter(static_cast<double>(blocks), benchmark::Counter::kIsRate);
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_TraceReader_Open);

void BM_CollectDefinitions_OneThread(benchmark::State& state) {
  const auto reader = OpenChurn();
  int64_t events = 0;
  for (auto _ : state) events += static_cast<int64_t>(replay::CollectDefinitions(*reader, 1)->event_count);
  state.SetItemsProcessed(events);
}
BENCHMARK(BM_CollectDefinitions_OneThread);

void BM_DecodeEvents(benchmark::State& state) {
  const auto reader = OpenChurn();
  replay::EventBlock block;
  int64_t events = 0;
  for (auto _ : state) {
    for (const reader::BlockRef& ref : reader->streams().front().blocks) {
      if (!block.Decode(*reader, ref).ok()) state.SkipWithError("cannot decode");
      events += static_cast<int64_t>(block.size());
    }
  }
  state.SetItemsProcessed(events);
}
BENCHMARK(BM_DecodeEvents);

// The payloads of the first stream, as packing takes them.
struct Payloads {
  explicit Payloads(const reader::TraceReader& reader) {
    for (const reader::BlockRef& ref : reader.streams().front().blocks) {
      reader::LoadedBlock block;
      if (!reader.Load(ref, &block).ok()) continue;
      bytes.emplace_back(block.payload);
      headers.push_back(block.header);
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      parts.push_back({headers[i].first_tsc, bytes[i]});
      size += bytes[i].size();
    }
  }
  std::vector<std::string> bytes;
  std::vector<trace::BlockHeader> headers;
  std::vector<EventsPayload> parts;
  size_t size = 0;
};

void BM_PackColumns(benchmark::State& state) {
  const auto reader = OpenChurn();
  const Payloads payloads(*reader);
  for (auto _ : state) benchmark::DoNotOptimize(PackColumns(payloads.parts));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * payloads.size));
}
BENCHMARK(BM_PackColumns);

void BM_UnpackColumns(benchmark::State& state) {
  const auto reader = OpenChurn();
  const Payloads payloads(*reader);
  const PackedColumns packed = *PackColumns(payloads.parts);
  trace::BlockHeader header = payloads.headers.front();
  header.first_tsc = packed.first_tsc;
  header.record_count = packed.record_count;
  header.raw_bytes = packed.raw_bytes;
  for (auto _ : state) {
    if (!UnpackColumns(header, packed.bytes).ok()) state.SkipWithError("cannot unpack");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * payloads.size));
}
BENCHMARK(BM_UnpackColumns);

}  // namespace
}  // namespace plateau::bench
