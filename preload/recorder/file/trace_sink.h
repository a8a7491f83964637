// The trace file of this process: its header page, space for ring extents, and finished blocks.
//
//   Open()          creates DIR/PROGRAM.PID.START.plt (0600, never through a link, never over a file)
//   AddExtent()     takes kExtentBytes of the file and maps them
//   ReserveSlot()   gives one slot of an extent its disk space
//   WriteBlock()    seals a copy of an open block and appends it; the block itself stays as it is
//
// Space is reserved before it is mapped, so a full disk shows as an error here and never as SIGBUS in the
// program. Where the file system refuses shared mappings, header and extents live in private memory and the
// header is written with every block (FileHeader::shared_ring is 0).
//
// No descriptor is kept: programs count theirs, close all of them, and put their own files under any number.
// The file is opened by its path for each write (one per 64 KiB), under a high number, compared by device and
// inode, and closed. When that fails, as after chroot() or a change of user, the block is lost and counted.
// We never write into a file of the program's.
//
// Threads: WriteBlock() from any thread at once, space is taken by an atomic add. AddExtent() under the
// caller's lock. Allocates: never from the traced heap. errno is not touched.
#ifndef PLATEAU_PRELOAD_RECORDER_FILE_TRACE_SINK_H_
#define PLATEAU_PRELOAD_RECORDER_FILE_TRACE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/base/options.h"
#include "preload/trace/format.h"

namespace plateau {

class TraceSink {
 public:
  constexpr TraceSink() = default;

  // Creates the file. When that fails it writes one line to the log and returns false. `program` is cleaned
  // for use in a file name.
  bool Open(const Options& options, std::string_view program);

  // Memory for kSlotsPerExtent slots, all zero; null when there is none. A slot must be reserved before it is
  // touched.
  uint8_t* AddExtent();
  // Reserves disk space for the slot at `memory`. When there is none it writes one line and returns false.
  bool ReserveSlot(const uint8_t* memory);

  // False when the block could not be written; that has been counted and, the first time, reported.
  bool WriteBlock(const trace::BlockHeader& open, const uint8_t* payload);

  // False when a seccomp filter of the program has taken what WriteBlock() needs. Blocks stay in their slots then.
  bool MayWrite() const;

  // Reads the clocks once more for the header, which calibrates time stamps; also done with every block.
  void RefreshClock();

  // Marks an orderly end. Recording goes on until the process is gone.
  void MarkCleanExit();
  // Marks the end of a recording whose program goes on.
  void MarkStopped();
  // After that: the ring becomes private memory, so that nobody needs the file any more, and nothing is written.
  void LetGo();
  // Gives back the disk space of a slot that nobody uses.
  void PunchHole(const uint8_t* memory, size_t bytes);

  // Called in a forked child: what was mapped shared becomes private scratch memory, so that a write through
  // a stale pointer cannot reach the parent's trace.
  void AbandonInChild();

  // Whether `address` is in memory that is mapped from the file.
  bool Owns(const void* address) const;
  // The file was cut under its mappings: puts private memory in their place and reports it. Nothing is written
  // any more. False when the kernel gives none. Safe in a signal handler, while other threads use the memory.
  bool BecomeScratch();

  trace::FileHeader* header() { return header_; }
  bool is_open() const { return header_ != nullptr; }
  // Whether the size limit has kept a block from being written.
  bool is_full() const { return __atomic_load_n(&is_full_, __ATOMIC_RELAXED); }
  bool shared() const { return shared_; }
  // Bytes of the file in use.
  uint64_t file_bytes() const;
  // Bytes that may still be written; all there are when there is no limit.
  uint64_t BytesLeft() const;
  const char* path() const { return path_; }

  void CountDrop(trace::DropReason reason, uint64_t events, uint64_t bytes);
  void AddEnded(const trace::Totals& totals);

 private:
  // The file, open for one operation; fd() is negative, an error number, when it cannot be opened.
  class Descriptor {
   public:
    explicit Descriptor(const TraceSink& sink);
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int fd() const { return fd_; }

   private:
    int fd_;
  };
  struct Extent {
    uint8_t* memory;
    uint64_t offset;
  };

  bool ReplaceExtents();
  bool ReplaceMappings();
  bool CreateFile(const Options& options, std::string_view program);
  bool MapHeader();
  bool FitsFileSizeLimit(uint64_t end) const;
  int Reserve(uint64_t offset, uint64_t bytes);
  const Extent* ExtentOf(const uint8_t* memory) const;
  int WriteAll(uint64_t offset, const void* head, size_t head_bytes, const void* body, size_t body_bytes);
  void Fail(const char* what, int error_number);

  trace::FileHeader* header_ = nullptr;
  bool shared_ = false;
  bool reported_ = false;
  bool is_full_ = false;
  bool is_lost_ = false;      // see BecomeScratch()
  uint64_t least_bytes_ = 0;  // the file was this long
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  Extent extents_[trace::kMaxExtents] = {};
  uint32_t extent_count_ = 0;
  char path_[4096] = {};
};

// The one sink of the process.
extern TraceSink g_sink;

}  // namespace plateau

#endif  // PLATEAU_PRELOAD_RECORDER_FILE_TRACE_SINK_H_
