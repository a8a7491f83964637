// A whole trace file from anywhere: opened, indexed, decoded, replayed into series. Nothing may crash, hang
// or eat memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyzer/reader/trace_reader.h"
#include "analyzer/replay/definitions/definitions.h"
#include "analyzer/replay/heap_replay.h"
#include "analyzer/series/series_feeder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plateau;
  const int fd = memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (write(fd, data, size) == static_cast<ssize_t>(size)) {
    const auto reader = reader::TraceReader::Open("/proc/self/fd/" + std::to_string(fd));
    if (reader.ok()) {
      const auto definitions = replay::CollectDefinitions(**reader, 1);
      replay::ReplayOptions options;
      options.bucket_ends = {1000, 2000, 3000};
      options.threads = 1;
      options.site_of = [](replay::Pool, uint32_t node) { return node % 64; };
      series::SeriesAccumulator series({.max_buckets = 2});
      series::TensorSeries tensors;
      series::SeriesFeeder feeder(&series, &tensors);
      options.observer = &feeder;
      if (definitions.ok()) replay::ReplayHeap(**reader, *definitions, options);
      series.Finish(3);
      series::SiteSeries one;
      for (size_t site = 0; site < series.site_count(); ++site) {
        series.Load(site, &one);
        series.Traits(site);
      }
    }
  }
  close(fd);
  return 0;
}
