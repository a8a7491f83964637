#include "analyzer/reader/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "analyzer/base/human_units.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/pack/column_codec.h"
#include "preload/trace/decoder.h"

namespace plateau::reader {
namespace {

// From the two clock readings of the header, or 1 when they are too close together or make no sense.
double Calibrate(const trace::FileHeader& header) {
  if (header.tsc_is_monotonic_ns) return 1;
  const double ticks = static_cast<double>(header.clock_tsc) - static_cast<double>(header.start_tsc);
  const double ns =
      static_cast<double>(header.clock_monotonic_ns) - static_cast<double>(header.start_monotonic_ns);
  constexpr double kShortestNs = 1e5;
  if (ticks <= 0 || ns < kShortestNs) return 1;
  const double rate = ns / ticks;
  return rate > 1e-3 && rate < 1e3 ? rate : 1;
}

absl::Status CheckHeader(const std::string& path, trace::HeaderStatus status, size_t bytes,
                         const trace::FileHeader& header, ReadSummary* summary) {
  switch (status) {
    case trace::HeaderStatus::kOk:
      return absl::OkStatus();
    case trace::HeaderStatus::kDamaged:
      summary->header_damaged = true;
      summary->Note(absl::StrCat(path, ": header: checksum mismatch; its settings may be wrong"));
      return absl::OkStatus();
    case trace::HeaderStatus::kTooShort:
      if (bytes == 0)
        return absl::FailedPreconditionError(absl::StrCat(path, ": empty file, not a Plateau trace"));
      return absl::FailedPreconditionError(absl::StrCat(path, ": truncated: ", bytes,
                                                        " bytes are left, the header alone has ",
                                                        trace::kPackedHeaderBytes, "; nothing can be read"));
    case trace::HeaderStatus::kNewerVersion:
      return absl::UnimplementedError(absl::StrCat(path, ": written by a newer Plateau (trace version ",
                                                   header.version_major, ".", header.version_minor,
                                                   ", this one reads up to ", trace::kVersionMajor,
                                                   "); use that version to read it"));
    case trace::HeaderStatus::kNotATrace:
      break;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": not a Plateau trace; give a recording directory or a .plt file"));
}

// A file that was cut between two blocks looks whole but for its header, which knows how long it was.
void NoteMissingEnd(const std::string& path, const trace::FileHeader& header, ReadSummary* summary) {
  if (summary->header_damaged || summary->truncated) return;
  // Space that was taken and could not be written: what was lost by that is counted.
  using trace::DropReason;
  for (const DropReason reason : {DropReason::kWrite, DropReason::kNoSlot}) {
    if (summary->dropped_events[static_cast<size_t>(reason)] > 0) return;
  }
  // The last block may end before its padding. A thread that was about to write a block when the process
  // ended, in order or not, has left it open in its slot; where slots are not in the file, any may have been.
  const uint64_t pending_blocks = header.shared_ring != 0 ? summary->open_blocks : header.stream_count;
  uint64_t allowed_bytes = trace::kBlockAlign - 1;
  if (header.header_bytes != trace::kPackedHeaderBytes) {
    allowed_bytes += pending_blocks * trace::kSlotBytes;
    if (!summary->clean_exit) allowed_bytes += trace::kExtentBytes;  // it may have been about to add slots
  }
  if (header.data_end <= summary->file_bytes + allowed_bytes) return;
  ++summary->gap_blocks;  // or more
  summary->Note(absl::StrCat(path, ": the file was cut: ", FormatBytes(header.data_end - summary->file_bytes),
                             " at its end are missing"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(const std::string& path, Check check) {
  PLATEAU_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::unique_ptr<TraceReader> reader(new TraceReader(std::move(file), check));
  std::string page(trace::kHeaderBytes, '\0');
  PLATEAU_ASSIGN_OR_RETURN(const size_t bytes, reader->file_.Read(0, page.data(), page.size()));
  const trace::HeaderStatus status =
      trace::ReadFileHeader(reinterpret_cast<const uint8_t*>(page.data()), bytes, &reader->header_);
  PLATEAU_RETURN_IF_ERROR(CheckHeader(path, status, bytes, reader->header_, &reader->summary_));

  const trace::FileHeader& header = reader->header_;
  ReadSummary& summary = reader->summary_;
  summary.clean_exit = header.clean_exit == 1;
  summary.totals = header.ended_threads;
  std::copy(std::begin(header.dropped_events), std::end(header.dropped_events),
            summary.dropped_events.begin());
  std::copy(std::begin(header.dropped_bytes), std::end(header.dropped_bytes), summary.dropped_bytes.begin());
  reader->ns_per_tick_ = Calibrate(header);
  PLATEAU_RETURN_IF_ERROR(BuildBlockIndex(reader->file_, header, check, &reader->index_, &summary));
  NoteMissingEnd(path, header, &summary);
  return reader;
}

absl::StatusOr<std::string_view> TraceReader::ReadPayload(const BlockRef& ref, std::string* buffer) const {
  const bool is_checked = check_ == Check::kNow;
  const uint64_t begin = is_checked ? ref.offset + ref.header.header_bytes : ref.offset;
  const size_t size = (is_checked ? 0 : ref.header.header_bytes) + size_t{ref.header.payload_bytes};
  buffer->resize(size);
  PLATEAU_ASSIGN_OR_RETURN(const size_t n, file_.Read(begin, buffer->data(), size));
  const auto fail = [&](const char* why) {
    return absl::DataLossError(absl::StrCat(path(), ": block at offset ", ref.offset, ": ", why));
  };
  if (n < size) return fail("the file became shorter while it was read");
  if (is_checked) return *buffer;
  trace::BlockHeader header;
  std::string_view payload;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(buffer->data());
  if (trace::ReadBlock(bytes, size, &header, &payload) != trace::BlockStatus::kOk ||
      std::memcmp(&header, &ref.header, sizeof(header)) != 0) {
    has_unsound_block_.store(true, std::memory_order_relaxed);
    return fail("checksum mismatch");
  }
  return payload;
}

absl::Status TraceReader::Load(const BlockRef& ref, LoadedBlock* block) const {
  block->header = ref.header;
  const auto fail = [&](auto... words) {
    return absl::DataLossError(absl::StrCat(path(), ": block at offset ", ref.offset, ": ", words...));
  };
  if (ref.open_copy >= 0) {
    block->payload = index_.open_payloads[ref.open_copy];
    return absl::OkStatus();
  }
  PLATEAU_ASSIGN_OR_RETURN(const std::string_view stored, ReadPayload(ref, &block->stored));
  switch (ref.header.type) {
    case trace::BlockType::kEvents:
      block->payload = stored;
      return absl::OkStatus();
    case trace::BlockType::kColumns: {
      absl::StatusOr<std::string> unpacked = UnpackColumns(ref.header, stored);
      if (!unpacked.ok()) return fail("cannot be unpacked: ", std::string(unpacked.status().message()));
      block->unpacked = *std::move(unpacked);
      block->payload = block->unpacked;
      return absl::OkStatus();
    }
  }
  return fail("packed in a way this version does not know");
}

}  // namespace plateau::reader
