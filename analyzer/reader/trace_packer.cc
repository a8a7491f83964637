#include "analyzer/reader/trace_packer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/pack/column_codec.h"
#include "analyzer/reader/recording.h"
#include "analyzer/reader/trace_reader.h"
#include "preload/trace/checksum.h"
#include "preload/trace/encoder.h"

namespace plateau::reader {
namespace {

// A file that is not there before it is whole.
class NewFile {
 public:
  explicit NewFile(const std::string& target) : target_(target), temporary_(target + ".packing") {}
  ~NewFile() {
    if (fd_ >= 0) close(fd_);
    if (!is_done_) unlink(temporary_.c_str());
  }

  absl::Status Open() {
    unlink(temporary_.c_str());
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd_ >= 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, temporary_);
  }
  absl::Status Write(const void* data, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t n = write(fd_, static_cast<const char*>(data) + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return absl::ErrnoToStatus(errno, temporary_);
      done += static_cast<size_t>(n);
    }
    bytes_ += size;
    return absl::OkStatus();
  }
  absl::Status Align(size_t alignment) {
    static constexpr char kZeros[trace::kBlockAlign] = {};
    const size_t over = bytes_ % alignment;
    return over == 0 ? absl::OkStatus() : Write(kZeros, alignment - over);
  }
  absl::Status Rewrite(const void* data, size_t size) {
    return pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size) ? absl::OkStatus()
                                                                    : absl::ErrnoToStatus(errno, temporary_);
  }
  absl::Status Finish() {
    if (fsync(fd_) != 0) return absl::ErrnoToStatus(errno, temporary_);
    if (rename(temporary_.c_str(), target_.c_str()) != 0) return absl::ErrnoToStatus(errno, target_);
    is_done_ = true;
    return absl::OkStatus();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  const std::string target_;
  const std::string temporary_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  bool is_done_ = false;
};

class Packer {
 public:
  Packer(const TraceReader& reader, const PackOptions& options)
      : reader_(reader), options_(options), file_(reader.path()) {}

  absl::StatusOr<uint64_t> Run() {
    trace::FileHeader header = reader_.header();
    header.version_major = trace::kVersionMajor;
    header.version_minor = trace::kVersionMinor;
    header.extent_count = 0;
    std::memset(header.extent_offset, 0, sizeof(header.extent_offset));
    header.ended_threads = reader_.summary().totals;  // the slots' counters have no other home now
    trace::SealHeader(&header);
    std::string page(trace::kHeaderBytes, '\0');
    std::memcpy(page.data(), &header, sizeof(header));
    PLATEAU_RETURN_IF_ERROR(file_.Open());
    PLATEAU_RETURN_IF_ERROR(file_.Write(page.data(), page.size()));
    Progress progress(absl::StrCat("packing ", reader_.path()), reader_.summary().file_bytes);
    for (const StreamIndex& stream : reader_.streams()) {
      uint32_t seq = 0;
      for (size_t begin = 0; begin < stream.blocks.size();) {
        PLATEAU_ASSIGN_OR_RETURN(const size_t end, PackBlocks(stream, begin, seq++, &progress));
        begin = end;
      }
    }
    header.data_end = file_.bytes();
    std::memcpy(page.data(), &header, sizeof(header));
    PLATEAU_RETURN_IF_ERROR(file_.Rewrite(page.data(), page.size()));
    PLATEAU_RETURN_IF_ERROR(file_.Finish());
    return file_.bytes();
  }

 private:
  // Packs blocks from `begin` on into one and says where the next begins.
  absl::StatusOr<size_t> PackBlocks(const StreamIndex& stream, size_t begin, uint32_t seq,
                                    Progress* progress) {
    std::vector<std::string> payloads;
    std::vector<trace::BlockHeader> headers;
    size_t bytes = 0, end = begin;
    uint64_t last_tsc = 0;
    while (end < stream.blocks.size() && (end == begin || bytes < options_.payload_bytes)) {
      LoadedBlock block;
      PLATEAU_RETURN_IF_ERROR(reader_.Load(stream.blocks[end], &block));
      payloads.emplace_back(block.payload);
      headers.push_back(block.header);
      last_tsc = block.header.last_tsc;
      bytes += block.payload.size();
      progress->Add(block.header.payload_bytes);
      ++end;
    }
    std::vector<EventsPayload> parts;
    for (size_t i = 0; i < payloads.size(); ++i) {
      parts.push_back({headers[i].first_tsc, payloads[i], headers[i].delta_rules});
    }
    PLATEAU_ASSIGN_OR_RETURN(const PackedColumns packed, PackColumns(parts, options_.level));
    trace::BlockHeader header{};
    header.magic = trace::kBlockMagic;
    header.type = trace::BlockType::kColumns;
    header.header_bytes = sizeof(header);
    header.delta_rules = trace::DeltaRules::kVersion3;
    header.stream = stream.stream;
    header.seq = seq;
    header.payload_bytes = static_cast<uint32_t>(packed.bytes.size());
    header.record_count = packed.record_count;
    header.first_tsc = packed.first_tsc;
    header.last_tsc = last_tsc;
    header.raw_bytes = packed.raw_bytes;
    header.crc32c =
        trace::Crc32c(trace::Crc32c(0, &header, sizeof(header)), packed.bytes.data(), packed.bytes.size());
    PLATEAU_RETURN_IF_ERROR(file_.Write(&header, sizeof(header)));
    PLATEAU_RETURN_IF_ERROR(file_.Write(packed.bytes.data(), packed.bytes.size()));
    PLATEAU_RETURN_IF_ERROR(file_.Align(trace::kBlockAlign));
    return end;
  }

  const TraceReader& reader_;
  const PackOptions& options_;
  NewFile file_;
};

bool IsPacked(const TraceReader& reader) {
  for (const StreamIndex& stream : reader.streams()) {
    for (const BlockRef& ref : stream.blocks) {
      if (ref.header.type == trace::BlockType::kEvents) return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<PackResult> PackTrace(const std::string& path, const PackOptions& options) {
  PLATEAU_ASSIGN_OR_RETURN(const auto reader, TraceReader::Open(path));
  PackResult result;
  result.bytes_before = result.bytes_after = reader->summary().file_bytes;
  if (IsRunning(reader->header())) {
    result.is_running = true;
    return result;
  }
  if (IsPacked(*reader)) {
    result.was_packed = true;
    return result;
  }
  if (reader->summary().HasDamage() || reader->summary().unknown_blocks > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": has damage and is left as it is; `plateau dump` says where"));
  }
  PLATEAU_ASSIGN_OR_RETURN(result.bytes_after, Packer(*reader, options).Run());
  return result;
}

}  // namespace plateau::reader
