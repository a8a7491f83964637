#include "analyzer/reader/trace_packer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/base/input_file.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/status_macros.h"
#include "analyzer/base/work_on_threads.h"
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
  explicit NewFile(const std::string& target) : target_(target), temporary_(target + kPackingSuffix) {}
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
  Packer(const TraceReader& reader, const PackOptions& options, PackResult* result)
      : reader_(reader), options_(options), result_(result), file_(reader.path()) {}

  absl::Status Run() {
    trace::FileHeader header = reader_.header();
    header.version_major = trace::kVersionMajor;
    header.version_minor = trace::kVersionMinor;
    header.header_bytes = trace::kPackedHeaderBytes;
    header.extent_count = 0;
    std::memset(header.extent_offset, 0, sizeof(header.extent_offset));
    header.ended_threads = reader_.summary().totals;  // the slots' counters have no other home now
    trace::SealHeader(&header);
    PLATEAU_RETURN_IF_ERROR(file_.Open());
    PLATEAU_RETURN_IF_ERROR(file_.Write(&header, trace::kPackedHeaderBytes));
    Progress progress(absl::StrCat("packing ", reader_.path()), reader_.summary().file_bytes);
    PLATEAU_RETURN_IF_ERROR(PackGroups(FindGroups(), &progress));
    header.data_end = file_.bytes();
    PLATEAU_RETURN_IF_ERROR(file_.Rewrite(&header, trace::kPackedHeaderBytes));
    PLATEAU_RETURN_IF_ERROR(file_.Finish());
    result_->bytes_after = file_.bytes();
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kMostWorkers = 8;

  // Blocks of a stream that become one.
  struct Group {
    const StreamIndex* stream;
    size_t begin, end;
    uint32_t seq;
  };
  struct LoadedGroup {
    std::vector<LoadedBlock> blocks;
    std::vector<EventsPayload> parts;
  };
  struct Packed {
    trace::BlockHeader header{};
    std::string payload;
    PackCosts costs = {};
    uint64_t bytes_read = 0;
  };

  static uint64_t RawBytes(const BlockRef& ref) {
    return std::max(ref.header.payload_bytes, ref.header.raw_bytes);
  }
  std::vector<Group> FindGroups() const {
    std::vector<Group> groups;
    for (const StreamIndex& stream : reader_.streams()) {
      uint64_t left = 0;
      for (const BlockRef& ref : stream.blocks) left += RawBytes(ref);
      // Groups of about the same size: what remained for a small last one would have to learn all anew.
      uint64_t count = std::max<uint64_t>(1, (left + options_.payload_bytes / 2) / options_.payload_bytes);
      uint32_t seq = 0;
      for (size_t begin = 0; begin < stream.blocks.size(); --count) {
        const uint64_t most = count <= 1 ? left : left / count;
        uint64_t bytes = 0;
        size_t end = begin;
        while (end < stream.blocks.size() && (end == begin || bytes < most))
          bytes += RawBytes(stream.blocks[end++]);
        groups.push_back({&stream, begin, end, seq++});
        begin = end;
        left -= bytes;
      }
    }
    return groups;
  }

  absl::StatusOr<LoadedGroup> Load(const Group& group) const {
    LoadedGroup loaded;
    loaded.blocks.resize(group.end - group.begin);
    for (size_t i = 0; i < loaded.blocks.size(); ++i) {
      LoadedBlock& block = loaded.blocks[i];
      PLATEAU_RETURN_IF_ERROR(reader_.Load(group.stream->blocks[group.begin + i], &block));
      loaded.parts.push_back({block.header.first_tsc, block.payload});
    }
    return loaded;
  }
  // Packs groups on all cores and writes them in their order, so that the file does not depend on the machine. A
  // thread goes on with one group after the other, because packing keeps its working memory.
  absl::Status PackGroups(const std::vector<Group>& groups, Progress* progress) {
    std::mutex mutex;
    std::condition_variable was_written;
    std::atomic<size_t> next = 0;
    size_t written = 0;
    absl::Status status;
    WorkOnThreads(std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostWorkers), [&](size_t) {
      for (size_t i = next++; i < groups.size(); i = next++) {
        const absl::StatusOr<Packed> packed = Pack(groups[i]);
        std::unique_lock lock(mutex);
        was_written.wait(lock, [&] { return written == i; });
        if (status.ok()) status = packed.ok() ? Write(*packed) : packed.status();
        if (status.ok()) {
          progress->Add(packed->bytes_read);
        } else {
          next = groups.size();  // what other threads have in hand is not written either
        }
        ++written;
        was_written.notify_all();
      }
    });
    return status;
  }
  // Called by several threads at once.
  absl::StatusOr<Packed> Pack(const Group& group) const {
    Packed packed;
    bool is_heap_only = true;
    PLATEAU_ASSIGN_OR_RETURN(const LoadedGroup loaded, Load(group));
    for (const LoadedBlock& block : loaded.blocks) {
      packed.bytes_read += block.header.payload_bytes;
      is_heap_only &= trace::IsHeapOnly(block.header);
    }
    PLATEAU_ASSIGN_OR_RETURN(PackedColumns columns,
                             PackColumns(loaded.parts, options_.count_costs ? &packed.costs : nullptr));
    packed.payload = std::move(columns.bytes);
    trace::BlockHeader& header = packed.header;
    header.magic = trace::kBlockMagic;
    header.type = trace::BlockType::kColumns;
    header.flags = is_heap_only ? trace::kBlockHeapOnly : 0;
    header.header_bytes = sizeof(header);
    header.stream = group.stream->stream;
    header.seq = group.seq;
    header.payload_bytes = static_cast<uint32_t>(packed.payload.size());
    header.record_count = columns.record_count;
    header.first_tsc = columns.first_tsc;
    header.last_tsc = loaded.blocks.back().header.last_tsc;
    header.raw_bytes = columns.raw_bytes;
    header.crc32c = trace::Crc32c(trace::Crc32c(0, &header, sizeof(header)), packed.payload.data(),
                                  packed.payload.size());
    return packed;
  }

  absl::Status Write(const Packed& packed) {
    result_->records += packed.header.record_count;
    for (size_t i = 0; i < kColumns; ++i) result_->costs[i] += packed.costs[i];
    PLATEAU_RETURN_IF_ERROR(file_.Write(&packed.header, sizeof(packed.header)));
    PLATEAU_RETURN_IF_ERROR(file_.Write(packed.payload.data(), packed.payload.size()));
    return file_.Align(trace::kBlockAlign);
  }

  const TraceReader& reader_;
  const PackOptions& options_;
  PackResult* const result_;
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
  PLATEAU_RETURN_IF_ERROR(Packer(*reader, options, &result).Run());
  return result;
}

std::string ColumnName(size_t column) {
  static constexpr const char* kCommon[] = {"tag", "time", "node", "location", "offset"};
  static constexpr const char* kHeap[] = {"stack", "size",      "size_far", "place", "place_far",
                                          "freed", "freed_far", "elder",    "reused"};
  static_assert(std::size(kHeap) == kHeapColumns);
  if (column < std::size(kCommon)) return kCommon[column];
  if (column - kColumnMalloc < std::size(kHeap)) {
    return absl::StrCat("malloc.", kHeap[column - kColumnMalloc]);
  }
  if (column - kColumnPymalloc < std::size(kHeap)) {
    return absl::StrCat("pymalloc.", kHeap[column - kColumnPymalloc]);
  }
  return column == kColumnOtherExt ? "ext other" : absl::StrCat("ext ", column - kColumnExt);
}

}  // namespace plateau::reader
