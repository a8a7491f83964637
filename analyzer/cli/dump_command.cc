// `plateau dump`: the records of a trace as text, or how many there are of each kind.
#include <array>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/reader/record_text.h"
#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/decoder.h"

namespace plateau::cli {
namespace {

using reader::BlockRef;
using reader::StreamIndex;
using reader::TraceReader;

constexpr size_t kKinds = static_cast<size_t>(trace::RecordKind::kUnknown) + 1;

struct DumpOptions {
  bool stats_only = false;
  bool has_stream = false;
  int64_t stream = 0;
  int64_t limit = 0;  // 0: all
};

void PrintHeader(const TraceReader& reader) {
  const trace::FileHeader& h = reader.header();
  absl::PrintF("# %s: trace version %d.%d, pid %d (parent %d), mode %s, %s\n", reader.path(), h.version_major,
               h.version_minor, h.pid, h.parent_pid,
               h.mode == static_cast<uint8_t>(trace::Mode::kExact) ? "exact" : "default",
               h.clean_exit == 1 ? "ended in order" : "running or killed");
  absl::PrintF("# exact from %s, sample period %s, of Python's small objects %s, clock %.6f ns per tick\n",
               FormatBytes(h.exact_from_bytes), FormatBytes(h.sample_bytes),
               FormatBytes(h.python_sample_bytes), reader.NsPerTick());
}

// How many records of one kind there are and the bytes they take, unpacked.
struct KindCount {
  uint64_t records = 0;
  uint64_t bytes = 0;
};
using KindCounts = std::array<KindCount, kKinds>;

void PrintStats(const TraceReader& reader, const KindCounts& counts, uint64_t payload_bytes) {
  const reader::ReadSummary& s = reader.summary();
  uint64_t total = 0;
  for (const KindCount& count : counts) total += count.records;
  KindCount hot;
  for (const trace::RecordKind kind : {trace::RecordKind::kAlloc, trace::RecordKind::kFree,
                                       trace::RecordKind::kAllocIn, trace::RecordKind::kFreeIn}) {
    hot.records += counts[static_cast<size_t>(kind)].records;
    hot.bytes += counts[static_cast<size_t>(kind)].bytes;
  }
  const double events = static_cast<double>(hot.records);
  absl::PrintF("streams          %d\nblocks           %d (%d open)\n", reader.streams().size(), s.blocks,
               s.open_blocks);
  absl::PrintF("file             %s\nrecords          %d\n", FormatBytes(s.file_bytes), total);
  if (events > 0) {
    absl::PrintF("bytes per event  %.2f in the file; %.2f unpacked, of which %.2f for the event itself\n",
                 s.file_bytes / events, payload_bytes / events, hot.bytes / events);
  }
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (counts[kind].records == 0) continue;
    absl::PrintF("  %-16s%-10d %s\n", trace::RecordKindName(static_cast<trace::RecordKind>(kind)),
                 counts[kind].records, FormatBytes(counts[kind].bytes));
  }
  absl::PrintF("process          %d allocations (%s), %d frees; %d + %d recorded\n", s.totals.alloc_calls,
               FormatBytes(s.totals.alloc_bytes), s.totals.free_calls, s.totals.recorded_allocs,
               s.totals.recorded_frees);
}

absl::Status DumpTrace(const std::string& path, const DumpOptions& options) {
  PLATEAU_ASSIGN_OR_RETURN(const auto reader, TraceReader::Open(path));
  PrintHeader(*reader);
  KindCounts counts;
  reader::ReadSummary summary = reader->summary();
  uint64_t payload_bytes = 0;
  int64_t printed = 0;
  for (const StreamIndex& stream : reader->streams()) {
    if (options.has_stream && stream.stream != options.stream) continue;
    if (!options.stats_only) absl::PrintF("stream %d\n", stream.stream);
    for (const BlockRef& ref : stream.blocks) {
      if (options.limit > 0 && printed >= options.limit) break;
      reader::LoadedBlock block;
      if (const absl::Status status = reader->Load(ref, &block); !status.ok()) {
        ++summary.damaged_blocks;
        summary.Note(std::string(status.message()));
        continue;
      }
      payload_bytes += block.payload.size();
      if (!options.stats_only) {
        absl::PrintF("block seq=%d offset=%d %s@%d\n", ref.header.seq, ref.offset,
                     ref.open_copy >= 0 ? "open " : "", ref.header.first_tsc);
      }
      trace::RecordReader records(block.header, block.payload);
      trace::Record record;
      size_t start = 0;
      while ((options.limit == 0 || printed < options.limit) && records.Next(&record)) {
        KindCount& count = counts[static_cast<size_t>(record.kind)];
        ++count.records;
        count.bytes += records.offset() - start;
        start = records.offset();
        ++printed;
        if (!options.stats_only) absl::PrintF("%s\n", reader::RecordToText(record));
      }
      summary.unknown_records += records.unknown_records();
      if (records.damaged()) {
        ++summary.damaged_records;
        summary.Note(absl::StrCat(path, ": block at offset ", ref.offset, ": record at byte ",
                                  records.offset(), " cannot be read; the rest of the block is skipped"));
      }
    }
  }
  if (options.stats_only) PrintStats(*reader, counts, payload_bytes);
  for (const std::string& sentence : summary.Sentences()) absl::PrintF("# %s\n", sentence);
  for (const std::string& note : summary.notes) absl::FPrintF(stderr, "%s\n", note);
  return absl::OkStatus();
}

absl::StatusOr<int> RunDump(const Arguments& arguments) {
  DumpOptions options;
  options.stats_only = arguments.Has("stats");
  options.has_stream = arguments.Has("stream");
  PLATEAU_ASSIGN_OR_RETURN(options.stream, arguments.Integer("stream", 0));
  PLATEAU_ASSIGN_OR_RETURN(options.limit, arguments.Integer("limit", 0));
  PLATEAU_ASSIGN_OR_RETURN(const reader::Recording recording, reader::OpenRecording(arguments.positional()));
  for (const reader::TraceFile& trace : recording.traces)
    PLATEAU_RETURN_IF_ERROR(DumpTrace(trace.path, options));
  for (const std::string& sentence : recording.skipped) absl::FPrintF(stderr, "%s\n", sentence);
  return kExitOk;
}

}  // namespace

const Command& DumpCommand() {
  static const Command command = {
      .name = "dump",
      .usage = "RECORDING...",
      .summary = "Print the records of a trace as text.",
      .description =
          "One line per record, stream by stream, in the order they were recorded. Works on a damaged trace "
          "and on one "
          "that is still being written; what cannot be read is counted at the end and explained on stderr.",
      .options =
          {{.name = "stats",
            .letter = 's',
            .help = "Count the records of each kind and their bytes instead of printing them."},
           {.name = "stream", .value = "N", .help = "Only this stream (thread).", .default_value = "all"},
           {.name = "limit",
            .letter = 'n',
            .value = "N",
            .help = "Stop after N records.",
            .default_value = "all"}},
      .examples = {{"plateau dump --stats rec/", "how many records of each kind, and bytes per event"},
                   {"plateau dump -n 100 rec/train-4242.plt", "the first 100 records of one process"}},
      .min_positional = 1,
      .run = RunDump};
  return command;
}

}  // namespace plateau::cli
