// Part of a libplateau.so for tests in which a system call of ours fails: the n-th, in each way that its manual page
// lists. PLATEAU_FAULT_PLAN names the file with the plan (fault_plan.h). Calls that the shim makes for the program
// (sys::KernelCall) are the program's own and never fail here.
#include <errno.h>
#include <stdlib.h>

#include <span>

#include "preload/base/system_call.h"
#include "tests/faults/fault_plan.h"

namespace plateau::faults {
namespace {

FaultPlan* g_plan = nullptr;

constexpr uint64_t kMap[] = {ENOMEM, EACCES, EPERM};
constexpr uint64_t kProtect[] = {ENOMEM, EACCES};
constexpr uint64_t kOpen[] = {EMFILE, EACCES, ENOSPC, EINTR, EDQUOT, ENOMEM, EROFS};
constexpr uint64_t kRead[] = {EIO, EINTR, kShort};
constexpr uint64_t kWrite[] = {ENOSPC, EIO, EINTR, EDQUOT, EFBIG, kShort};
constexpr uint64_t kGrow[] = {ENOSPC, EDQUOT, EIO, EINTR, EOPNOTSUPP, EFBIG};
constexpr uint64_t kClose[] = {EIO, EINTR, EDQUOT};
constexpr uint64_t kStat[] = {ENOMEM, EACCES, EIO};
constexpr uint64_t kFolder[] = {ENOSPC, EACCES, EROFS, EDQUOT};
constexpr uint64_t kNotHere[] = {ENOSYS, EPERM};

std::span<const uint64_t> WaysToFail(long number) {
  switch (number) {
    case SYS_mmap:
    case SYS_mremap:
      return kMap;
    case SYS_munmap:
    case SYS_madvise:
    case SYS_mincore:
    case SYS_mprotect:
      return kProtect;
    case SYS_openat:
      return kOpen;
    case SYS_read:
    case SYS_pread64:
      return kRead;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_pwritev:
      return kWrite;
    case SYS_ftruncate:
    case SYS_fallocate:
      return kGrow;
    case SYS_close:
      return kClose;
    case SYS_fstat:
    case SYS_getdents64:
    case SYS_newfstatat:
    case SYS_readlinkat:
    case SYS_getcwd:
    case SYS_fcntl:
      return kStat;
    case SYS_mkdirat:
    case SYS_unlinkat:
      return kFolder;
    case SYS_clock_gettime:
    case SYS_prlimit64:
    case SYS_sched_getaffinity:
    case SYS_uname:
    case SYS_membarrier:
    case SYS_process_vm_readv:
    case SYS_prctl:
      return kNotHere;
    default:  // those that cannot fail: getpid, gettid, sched_yield, ...
      return {};
  }
}

// A call that does half of what it was asked for, as at the end of a disk or after a signal.
long DoHalf(long number, long a, long b, long c, long d, long e, long f) {
  if (number != SYS_pwritev) return sys::KernelCall(number, a, b, c > 1 ? c / 2 : c, d, e, f);
  iovec half = *reinterpret_cast<const iovec*>(b);
  if (half.iov_len > 1) half.iov_len /= 2;
  return sys::KernelCall(number, a, sys::Arg(&half), 1, d, e, f);
}

long Fail(uint64_t way, long number, long a, long b, long c, long d, long e, long f) {
  if (way == kShort) return DoHalf(number, a, b, c, d, e, f);
  if (number == SYS_close) sys::KernelCall(number, a);  // the descriptor is gone all the same
  return -static_cast<long>(way);
}

long CallWithFaults(long number, long a, long b, long c, long d, long e, long f) {
  const uint64_t n = g_plan->calls.fetch_add(1) + 1;
  const std::span<const uint64_t> ways = WaysToFail(number);
  const bool is_chosen = n == g_plan->fail_at;
  if (is_chosen) {
    g_plan->number = static_cast<uint64_t>(number);
    g_plan->ways = ways.size();
  }
  const bool follows = g_plan->keep_failing != 0 && n > g_plan->fail_at && g_plan->fail_at != 0;
  const uint64_t way = is_chosen ? g_plan->way : 0;
  if ((!is_chosen && !follows) || way >= ways.size()) return sys::KernelCall(number, a, b, c, d, e, f);
  if (is_chosen) g_plan->error = ways[way];
  g_plan->failed.fetch_add(1);
  return Fail(ways[way], number, a, b, c, d, e, f);
}

// Before the constructor of the shim, which makes its first calls. In forked children the map goes on.
[[gnu::constructor(101)]] void Begin() {
  const char* path = getenv("PLATEAU_FAULT_PLAN");
  if (path == nullptr) return;
  const long fd = sys::KernelCall(SYS_openat, AT_FDCWD, sys::Arg(path), O_RDWR | O_CLOEXEC);
  if (sys::Failed(fd)) return;
  const long map = sys::KernelCall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  sys::KernelCall(SYS_close, fd);
  if (sys::Failed(map)) return;
  g_plan = reinterpret_cast<FaultPlan*>(map);
  sys::g_interceptor.store(CallWithFaults);
}

}  // namespace
}  // namespace plateau::faults
