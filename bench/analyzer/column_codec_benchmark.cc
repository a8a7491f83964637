// How fast one core packs and unpacks the blocks of a recording, in bytes of raw trace a second of its own time:
//
//   column_codec_benchmark RECORDING...
//
// A program of its own and not one of Google Benchmark's, because only real recordings tell.
#include <time.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/pack/column_codec.h"
#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_reader.h"

namespace plateau::bench {
namespace {

constexpr size_t kGroupBytes = 4 << 20;
constexpr int kRounds = 3;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Measured {
  uint64_t raw_bytes = 0;
  uint64_t packed_bytes = 0;
  double pack_seconds = 0;
  double unpack_seconds = 0;
};

// The fastest of a few rounds: other programs' traces in the caches are not what is measured.
bool MeasureGroup(const std::vector<EventsPayload>& parts, Measured* sum) {
  double pack = 1e9, unpack = 1e9;
  PackedColumns packed;
  for (int round = 0; round < kRounds; ++round) {
    const double start = CpuSeconds();
    absl::StatusOr<PackedColumns> columns = PackColumns(parts);
    const double middle = CpuSeconds();
    if (!columns.ok()) return false;
    trace::BlockHeader header{};
    header.first_tsc = columns->first_tsc;
    header.raw_bytes = columns->raw_bytes;
    const absl::StatusOr<std::string> raw = UnpackColumns(header, columns->bytes);
    if (!raw.ok()) return false;
    pack = std::min(pack, middle - start);
    unpack = std::min(unpack, CpuSeconds() - middle);
    packed = *std::move(columns);
  }
  sum->raw_bytes += packed.raw_bytes;
  sum->packed_bytes += packed.bytes.size();
  sum->pack_seconds += pack;
  sum->unpack_seconds += unpack;
  return true;
}

bool MeasureTrace(const std::string& path, Measured* sum) {
  const auto reader = reader::TraceReader::Open(path);
  if (!reader.ok()) return false;
  for (const reader::StreamIndex& stream : (*reader)->streams()) {
    std::vector<reader::LoadedBlock> blocks(stream.blocks.size());
    std::vector<EventsPayload> parts;
    size_t bytes = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!(*reader)->Load(stream.blocks[i], &blocks[i]).ok()) return false;
      parts.push_back({blocks[i].header.first_tsc, blocks[i].payload});
      bytes += blocks[i].payload.size();
      if (bytes < kGroupBytes && i + 1 < blocks.size()) continue;
      if (!MeasureGroup(parts, sum)) return false;
      parts.clear();
      bytes = 0;
    }
  }
  return true;
}

int Main(const std::vector<std::string>& paths) {
  const absl::StatusOr<reader::Recording> recording = reader::OpenRecording(paths);
  if (!recording.ok()) {
    std::fprintf(stderr, "%s\n", std::string(recording.status().message()).c_str());
    return 1;
  }
  for (const reader::TraceFile& trace : recording->traces) {
    Measured sum;
    if (!MeasureTrace(trace.path, &sum)) return 1;
    std::printf("%s: %.1f MB raw, %.2f MB packed, packing %.0f MB/s, unpacking %.0f MB/s\n",
                trace.path.c_str(), static_cast<double>(sum.raw_bytes) / 1e6,
                static_cast<double>(sum.packed_bytes) / 1e6,
                static_cast<double>(sum.raw_bytes) / 1e6 / sum.pack_seconds,
                static_cast<double>(sum.raw_bytes) / 1e6 / sum.unpack_seconds);
  }
  return 0;
}

}  // namespace
}  // namespace plateau::bench

int main(int argc, char** argv) { return plateau::bench::Main({argv + 1, argv + argc}); }
