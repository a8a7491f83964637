#include "preload/recorder/file/trace_sink.h"

#include <errno.h>
#include <linux/falloc.h>

#include <cstring>
#include <type_traits>

#include "preload/base/arena.h"
#include "preload/base/clock.h"
#include "preload/base/fixed_text.h"
#include "preload/base/page_size.h"
#include "preload/base/raw_log.h"
#include "preload/base/system_call.h"
#include "preload/base/system_filter.h"
#include "preload/recorder/file/trace_file_name.h"
#include "preload/trace/encoder.h"

namespace plateau {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr int kHighDescriptor = 900;

constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Field 22 of /proc/self/stat. The name in field 2 may contain anything, so fields are counted from its
// closing parenthesis.
uint64_t ProcessStartTicks() {
  char text[1024];
  sys::ReadFile("/proc/self/stat", text, sizeof(text));
  const char* p = std::strrchr(text, ')');
  if (p == nullptr) return 0;
  for (int field = 2; field < 22; ++field) {
    p = std::strchr(p + 1, ' ');
    if (p == nullptr) return 0;
  }
  uint64_t ticks = 0;
  for (++p; *p >= '0' && *p <= '9'; ++p) ticks = ticks * 10 + static_cast<uint64_t>(*p - '0');
  return ticks;
}

// Puts zeroed private memory in the place of a mapping.
bool BecomesPrivate(void* memory, size_t bytes) {
  return !sys::Failed(sys::Mmap(memory, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
}

// The magic comes last: a process that is killed before that has left no header, rather than half of one.
void PublishHeader(const trace::FileHeader& whole, trace::FileHeader* header) {
  constexpr size_t kMagic = sizeof(whole.magic);
  std::memcpy(reinterpret_cast<char*>(header) + kMagic, reinterpret_cast<const char*>(&whole) + kMagic,
              sizeof(whole) - kMagic);
  uint64_t magic;
  static_assert(sizeof(magic) == kMagic && offsetof(trace::FileHeader, magic) == 0);
  std::memcpy(&magic, whole.magic, kMagic);
  __atomic_store_n(reinterpret_cast<uint64_t*>(header), magic, __ATOMIC_RELEASE);
}

}  // namespace

constinit TraceSink g_sink;
static_assert(std::is_trivially_destructible_v<TraceSink>);

bool TraceSink::Open(const Options& options, std::string_view program) {
  reported_ = false;
  is_full_ = false;
  is_lost_ = false;
  if (!CreateFile(options, program)) return false;
  if (!MapHeader()) return false;

  trace::FileHeader whole = {};
  trace::FileHeader* const h = &whole;
  std::memcpy(h->magic, trace::kFileMagic, sizeof(h->magic));
  h->version_major = trace::kVersionMajor;
  h->version_minor = trace::kVersionMinor;
  h->header_bytes = trace::kHeaderBytes;
  h->pid = static_cast<uint32_t>(sys::Getpid());
  h->parent_pid = static_cast<uint32_t>(sys::Call(SYS_getppid));
  h->start_tsc = Now();
  h->start_monotonic_ns = ClockNs(CLOCK_MONOTONIC);
  h->start_realtime_ns = ClockNs(CLOCK_REALTIME);
  h->process_start_ticks = ProcessStartTicks();
  h->slot_bytes = trace::kSlotBytes;
  h->slots_per_extent = trace::kSlotsPerExtent;
  h->mode = static_cast<uint8_t>(options.mode);
  h->tsc_is_monotonic_ns = g_clock.is_monotonic_ns;
  h->shared_ring = shared_;
  h->exact_from_bytes = options.mode == trace::Mode::kExact ? 0 : options.exact_from;
  h->sample_bytes = options.mode == trace::Mode::kExact ? 0 : options.sample_bytes;
  h->max_trace_bytes = options.max_trace;
  h->python_sample_bytes = options.python_alloc == PythonAlloc::kExact ? 0 : options.sample_bytes;
  h->clock_tsc = h->start_tsc;
  h->clock_monotonic_ns = h->start_monotonic_ns;
  h->clock_realtime_ns = h->start_realtime_ns;
  h->data_end = trace::kHeaderBytes;
  trace::SealHeader(h);
  PublishHeader(whole, header_);
  if (!shared_) WriteAll(0, header_, trace::kHeaderBytes, nullptr, 0);
  return true;
}

bool TraceSink::CreateFile(const Options& options, std::string_view program) {
  const CreatedFile file = CreateTraceFile(options.out.c_str(), program, &path_);
  if (sys::Failed(file.fd)) {
    Fail(file.complaint, static_cast<int>(-file.fd));
    return false;
  }
  struct stat info;
  sys::Call(SYS_fstat, file.fd, sys::Arg(&info));
  device_ = info.st_dev;
  inode_ = info.st_ino;
  sys::Close(static_cast<int>(file.fd));
  return true;
}

bool TraceSink::MapHeader() {
  const int error = Reserve(0, trace::kHeaderBytes);
  if (error != 0) {
    Fail("cannot write", error);
    sys::Call(SYS_unlinkat, AT_FDCWD, sys::Arg(path_), 0);
    return false;
  }
  const Descriptor file(*this);
  // Removed a moment after it was made: what would be recorded could go nowhere.
  if (file.fd() < 0) {
    Fail("cannot open", -file.fd());
    return false;
  }
  long memory = sys::Mmap(nullptr, trace::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  shared_ = !sys::Failed(memory);
  if (!shared_) memory = sys::Arg(ArenaMap(trace::kHeaderBytes));
  if (memory == 0) {
    Fail("cannot map the header of", ENOMEM);
    return false;
  }
  header_ = reinterpret_cast<trace::FileHeader*>(memory);
  least_bytes_ = trace::kHeaderBytes;
  return true;
}

// The descriptor is moved to a high number, out of the way of a thread of the program that puts a file of its
// own under a number it believes to be free.
TraceSink::Descriptor::Descriptor(const TraceSink& sink) {
  const long low = sys::Open(sink.path_, O_RDWR | O_NOFOLLOW);
  if (sys::Failed(low)) {
    fd_ = static_cast<int>(low);
    return;
  }
  struct rlimit limit = {};
  sys::Getrlimit(RLIMIT_NOFILE, &limit);
  const long lowest =
      limit.rlim_cur > kHighDescriptor ? kHighDescriptor : static_cast<long>(limit.rlim_cur / 2);
  const long high = sys::Call(SYS_fcntl, low, F_DUPFD_CLOEXEC, lowest);
  if (!sys::Failed(high)) sys::Close(static_cast<int>(low));
  fd_ = static_cast<int>(sys::Failed(high) ? low : high);
  struct stat info;
  if (sys::Failed(sys::Call(SYS_fstat, fd_, sys::Arg(&info))) || info.st_dev != sink.device_ ||
      info.st_ino != sink.inode_ || static_cast<uint64_t>(info.st_size) < sink.least_bytes_) {
    sys::Close(fd_);
    fd_ = -ESTALE;
  }
}

TraceSink::Descriptor::~Descriptor() {
  if (fd_ >= 0) sys::Close(fd_);
}

// Beyond the limit the kernel would send SIGXFSZ, which ends a program that does not expect it.
bool TraceSink::FitsFileSizeLimit(uint64_t end) const {
  struct rlimit limit;
  return sys::Failed(sys::Getrlimit(RLIMIT_FSIZE, &limit)) || limit.rlim_cur == RLIM_INFINITY ||
         end <= limit.rlim_cur;
}

// Makes sure that the disk has these bytes. Returns 0 or an error number.
int TraceSink::Reserve(uint64_t offset, uint64_t bytes) {
  if (!FitsFileSizeLimit(offset + bytes)) return EFBIG;
  long result;
  do {
    const Descriptor file(*this);
    if (file.fd() < 0) return -file.fd();
    result = sys::Fallocate(file.fd(), 0, offset, bytes);
  } while (result == -EINTR);
  if (!sys::Failed(result)) return 0;
  if (result != -EOPNOTSUPP && result != -ENOSYS && result != -EINVAL) return static_cast<int>(-result);
  alignas(64) static constexpr char kZeros[kPageBytes] = {};
  for (uint64_t done = 0; done < bytes; done += kPageBytes) {
    const int error = WriteAll(offset + done, kZeros, kPageBytes, nullptr, 0);
    if (error != 0) return error;
  }
  return 0;
}

int TraceSink::WriteAll(uint64_t offset, const void* head, size_t head_bytes, const void* body,
                        size_t body_bytes) {
  if (!FitsFileSizeLimit(offset + head_bytes + body_bytes)) return EFBIG;
  const Descriptor file(*this);
  if (file.fd() < 0) return -file.fd();
  iovec parts[2] = {{const_cast<void*>(head), head_bytes}, {const_cast<void*>(body), body_bytes}};
  int first = 0;
  while (first < 2 && parts[first].iov_len == 0) ++first;
  while (first < 2) {
    const long written = sys::Pwritev(file.fd(), parts + first, 2 - first, offset);
    if (written == -EINTR) continue;
    if (sys::Failed(written)) return static_cast<int>(-written);
    if (written == 0) return EIO;
    offset += static_cast<uint64_t>(written);
    size_t left = static_cast<size_t>(written);
    while (first < 2 && left >= parts[first].iov_len) left -= parts[first++].iov_len;
    if (first < 2) {
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
  return 0;
}

uint8_t* TraceSink::AddExtent() {
  if (extent_count_ == trace::kMaxExtents) return nullptr;
  uint8_t* memory = nullptr;
  uint64_t offset = 0;
  if (shared_) {
    uint64_t end = __atomic_load_n(&header_->data_end, __ATOMIC_RELAXED);
    do {
      offset = RoundUp(end, PageBytes());  // a file is mapped at whole pages
      const uint64_t limit = header_->max_trace_bytes;
      if (limit != 0 && offset + trace::kExtentBytes > limit && extent_count_ > 0) return nullptr;
    } while (!__atomic_compare_exchange_n(&header_->data_end, &end, offset + trace::kExtentBytes, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    // The file covers the extent; its slots stay holes until they are reserved.
    const int error = WriteAll(offset + trace::kExtentBytes - 1, "", 1, nullptr, 0);
    if (error != 0) {
      Fail("cannot extend", error);
      return nullptr;
    }
    const Descriptor file(*this);
    const long mapped = sys::Mmap(nullptr, trace::kExtentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(),
                                  static_cast<int64_t>(offset));
    if (sys::Failed(mapped)) {
      Fail("cannot map", static_cast<int>(-mapped));
      return nullptr;
    }
    memory = reinterpret_cast<uint8_t*>(mapped);
    least_bytes_ = offset + trace::kExtentBytes;
    header_->extent_offset[extent_count_] = offset;
    __atomic_store_n(&header_->extent_count, extent_count_ + 1, __ATOMIC_RELEASE);
  } else {
    memory = static_cast<uint8_t*>(ArenaMap(trace::kExtentBytes));
    if (memory == nullptr) return nullptr;
  }
  extents_[extent_count_++] = {memory, offset};
  return memory;
}

const TraceSink::Extent* TraceSink::ExtentOf(const uint8_t* memory) const {
  for (uint32_t i = 0; i < extent_count_; ++i) {
    if (memory >= extents_[i].memory && memory < extents_[i].memory + trace::kExtentBytes)
      return &extents_[i];
  }
  return nullptr;
}

bool TraceSink::ReserveSlot(const uint8_t* memory) {
  if (!shared_) return true;
  const Extent* extent = ExtentOf(memory);
  if (extent == nullptr) return false;
  const int error =
      Reserve(extent->offset + static_cast<uint64_t>(memory - extent->memory), trace::kSlotBytes);
  if (error != 0) Fail("cannot reserve space in", error);
  return error == 0;
}

bool TraceSink::WriteBlock(const trace::BlockHeader& open, const uint8_t* payload) {
  if (__atomic_load_n(&is_lost_, __ATOMIC_RELAXED)) return false;
  const uint64_t tsc = Now();
  const trace::BlockHeader sealed = trace::SealedHeader(open, payload, tsc);
  const uint64_t size = RoundUp(sizeof(sealed) + sealed.payload_bytes, trace::kBlockAlign);
  uint64_t offset = __atomic_load_n(&header_->data_end, __ATOMIC_RELAXED);
  do {
    if (header_->max_trace_bytes != 0 && offset + size > header_->max_trace_bytes) {
      CountDrop(trace::DropReason::kLimit, sealed.record_count, sealed.payload_bytes);
      __atomic_store_n(&is_full_, true, __ATOMIC_RELAXED);
      return false;
    }
  } while (!__atomic_compare_exchange_n(&header_->data_end, &offset, offset + size, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  const int error = WriteAll(offset, &sealed, sizeof(sealed), payload, sealed.payload_bytes);
  if (error != 0) {
    // The space was not used; give it back when nobody came after us, so that retries do not stretch the
    // file.
    uint64_t expected = offset + size;
    __atomic_compare_exchange_n(&header_->data_end, &expected, offset, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    CountDrop(trace::DropReason::kWrite, sealed.record_count, sealed.payload_bytes);
    Fail("cannot write", error);
  }
  RefreshClock();
  if (!shared_) WriteAll(0, header_, trace::kHeaderBytes, nullptr, 0);
  return error == 0;
}

bool TraceSink::MayWrite() const {
  for (const long number : {SYS_openat, SYS_fstat, SYS_pwritev, SYS_prlimit64, SYS_fcntl, SYS_close}) {
    if (!sys::MayCall(number)) return false;
  }
  return true;
}

void TraceSink::RefreshClock() {
  if (header_ == nullptr) return;
  const uint64_t tsc = Now();
  const uint64_t monotonic_ns = ClockNs(CLOCK_MONOTONIC);
  CalibrateClock(tsc, monotonic_ns);
  __atomic_store_n(&header_->clock_tsc, tsc, __ATOMIC_RELAXED);
  __atomic_store_n(&header_->clock_monotonic_ns, monotonic_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&header_->clock_realtime_ns, ClockNs(CLOCK_REALTIME), __ATOMIC_RELAXED);
}

void TraceSink::MarkCleanExit() {
  RefreshClock();
  __atomic_store_n(&header_->clean_exit, 1u, __ATOMIC_RELAXED);
  if (!shared_) WriteAll(0, header_, trace::kHeaderBytes, nullptr, 0);
}

void TraceSink::MarkStopped() {
  constexpr uint32_t kStoppedByRequest = 2;
  __atomic_store_n(&header_->state, kStoppedByRequest, __ATOMIC_RELAXED);
  MarkCleanExit();
}

// The header stays what it is: a thread that is about to write a block reads from it where to.
void TraceSink::LetGo() {
  __atomic_store_n(&is_lost_, true, __ATOMIC_RELAXED);
  if (shared_) ReplaceExtents();
}

void TraceSink::PunchHole(const uint8_t* memory, size_t bytes) {
  const Extent* extent = shared_ ? ExtentOf(memory) : nullptr;
  if (extent == nullptr) return;
  const Descriptor file(*this);
  if (file.fd() < 0) return;
  sys::Fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                 extent->offset + static_cast<uint64_t>(memory - extent->memory), bytes);
}

bool TraceSink::ReplaceExtents() {
  bool is_done = true;
  for (uint32_t i = 0; i < extent_count_; ++i) {
    is_done &= BecomesPrivate(extents_[i].memory, trace::kExtentBytes);
  }
  return is_done;
}

bool TraceSink::ReplaceMappings() {
  const bool is_done = ReplaceExtents();
  return (header_ == nullptr || BecomesPrivate(header_, trace::kHeaderBytes)) && is_done;
}

bool TraceSink::Owns(const void* address) const {
  if (!shared_ || header_ == nullptr) return false;
  const auto* byte = static_cast<const uint8_t*>(address);
  const auto* header = reinterpret_cast<const uint8_t*>(header_);
  return (byte >= header && byte < header + trace::kHeaderBytes) || ExtentOf(byte) != nullptr;
}

bool TraceSink::BecomeScratch() {
  const bool is_first = !__atomic_exchange_n(&is_lost_, true, __ATOMIC_RELAXED);
  if (!ReplaceMappings()) return false;
  if (is_first) Fail("lost", ESTALE);
  return true;
}

void TraceSink::AbandonInChild() {
  if (shared_) ReplaceMappings();
  is_lost_ = false;
  least_bytes_ = 0;
  header_ = nullptr;
  shared_ = false;
  extent_count_ = 0;
  path_[0] = 0;
}

uint64_t TraceSink::file_bytes() const {
  return header_ == nullptr ? 0 : __atomic_load_n(&header_->data_end, __ATOMIC_RELAXED);
}

uint64_t TraceSink::BytesLeft() const {
  if (header_ == nullptr) return 0;
  const uint64_t limit = header_->max_trace_bytes, used = file_bytes();
  return limit == 0 ? UINT64_MAX : limit > used ? limit - used : 0;
}

void TraceSink::CountDrop(trace::DropReason reason, uint64_t events, uint64_t bytes) {
  if (header_ == nullptr) return;
  __atomic_fetch_add(&header_->dropped_events[static_cast<size_t>(reason)], events, __ATOMIC_RELAXED);
  __atomic_fetch_add(&header_->dropped_bytes[static_cast<size_t>(reason)], bytes, __ATOMIC_RELAXED);
}

void TraceSink::AddEnded(const trace::Totals& totals) {
  if (header_ == nullptr) return;
  trace::Totals* sum = &header_->ended_threads;
  __atomic_fetch_add(&sum->alloc_calls, totals.alloc_calls, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->alloc_bytes, totals.alloc_bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->free_calls, totals.free_calls, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->freed_bytes, totals.freed_bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->recorded_allocs, totals.recorded_allocs, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sum->recorded_frees, totals.recorded_frees, __ATOMIC_RELAXED);
}

void TraceSink::Fail(const char* what, int error_number) {
  if (__atomic_exchange_n(&reported_, true, __ATOMIC_RELAXED)) return;
  FixedText<1024> line;
  line << what << " " << (path_[0] != 0 ? path_ : "the trace") << ": " << ErrorName(error_number) << " ("
       << error_number << "); the program goes on, its trace is incomplete";
  RawLog(line.view());
}

}  // namespace plateau
