#include "preload/base/system_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <atomic>

#include "preload/base/system_call.h"

namespace plateau::sys {
namespace {

// Every call that preload/ makes for itself. tests/preload/base/system_filter_test.cc looks for others in the sources.
constexpr long kOwnCalls[] = {
    SYS_mmap,
    SYS_munmap,
    SYS_madvise,
    SYS_mprotect,
    SYS_openat,
    SYS_close,
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_fallocate,
    SYS_fstat,
    SYS_getdents64,
    SYS_fcntl,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_readlinkat,
    SYS_getcwd,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_prlimit64,
    SYS_sched_yield,
    SYS_uname,
    SYS_sched_getaffinity,
    SYS_prctl,
    SYS_clock_gettime,
    SYS_rt_sigprocmask,
    SYS_mincore,
    SYS_process_vm_readv,
    SYS_nanosleep,
    SYS_tgkill,
    SYS_brk,
};

constexpr uint32_t kArchitecture =
#if defined(__x86_64__)
    AUDIT_ARCH_X86_64;
#else
    AUDIT_ARCH_AARCH64;
#endif

constinit std::atomic<uint64_t> g_forbidden[CallSet::kNumbers / 64] = {};

long AllowedCall(long number, long a, long b, long c, long d, long e, long f) {
  return MayCall(number) ? KernelCall(number, a, b, c, d, e, f) : -EPERM;
}

bool IsOrderly(uint32_t answer) {
  const uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_LOG;
}

// A word of the filter's machine, which may depend on the call's arguments.
struct Word {
  uint32_t value = 0;
  bool is_known = true;
};

struct Machine {
  uint32_t at = 0;
  Word a, x;
  Word memory[BPF_MEMWORDS];
};

Word LoadData(uint32_t offset, long number) {
  if (offset == offsetof(seccomp_data, nr)) return {static_cast<uint32_t>(number), true};
  if (offset == offsetof(seccomp_data, arch)) return {kArchitecture, true};
  return {0, false};
}

Word Compute(uint16_t operation, Word a, Word b) {
  if (!a.is_known || !b.is_known) return {0, false};
  switch (operation) {
    case BPF_ADD:
      return {a.value + b.value, true};
    case BPF_SUB:
      return {a.value - b.value, true};
    case BPF_MUL:
      return {a.value * b.value, true};
    case BPF_DIV:
      return {b.value == 0 ? 0 : a.value / b.value, true};
    case BPF_AND:
      return {a.value & b.value, true};
    case BPF_OR:
      return {a.value | b.value, true};
    case BPF_XOR:
      return {a.value ^ b.value, true};
    case BPF_LSH:
      return {b.value < 32 ? a.value << b.value : 0, true};
    case BPF_RSH:
      return {b.value < 32 ? a.value >> b.value : 0, true};
    case BPF_NEG:
      return {0 - a.value, true};
    default:
      return {0, false};
  }
}

enum class Branch { kNo, kYes, kEither };

Branch Compare(uint16_t operation, Word a, Word b) {
  if (!a.is_known || !b.is_known) return Branch::kEither;
  bool is_true = false;
  if (operation == BPF_JEQ) is_true = a.value == b.value;
  if (operation == BPF_JGT) is_true = a.value > b.value;
  if (operation == BPF_JGE) is_true = a.value >= b.value;
  if (operation == BPF_JSET) is_true = (a.value & b.value) != 0;
  return is_true ? Branch::kYes : Branch::kNo;
}

// Follows every way through the filter that the call's number leaves open. Jumps go forward only, so each way
// ends; too many of them count as the worst answer.
class Walk {
 public:
  Walk(const sock_fprog& program, long number) : program_(program), number_(number) {}

  uint32_t Worst() {
    ways_[0] = Machine{};
    count_ = 1;
    uint32_t worst = SECCOMP_RET_ALLOW;
    while (count_ > 0) {
      Machine machine = ways_[--count_];
      const uint32_t answer = Follow(&machine);
      if (!IsOrderly(answer)) return answer;
      if (answer != SECCOMP_RET_ALLOW) worst = answer;
    }
    return worst;
  }

 private:
  static constexpr int kMaxWays = 16;  // waiting at a time
  static constexpr int kMaxSteps = 1 << 16;

  uint32_t Follow(Machine* m) {
    while (m->at < program_.len && ++steps_ < kMaxSteps) {
      const sock_filter& i = program_.filter[m->at++];
      const Word operand = BPF_SRC(i.code) == BPF_X ? m->x : Word{i.k, true};
      switch (BPF_CLASS(i.code)) {
        case BPF_LD:
        case BPF_LDX: {
          Word loaded;
          if (BPF_MODE(i.code) == BPF_IMM) loaded = {i.k, true};
          if (BPF_MODE(i.code) == BPF_ABS) loaded = LoadData(i.k, number_);
          if (BPF_MODE(i.code) == BPF_LEN) loaded = {sizeof(seccomp_data), true};
          if (BPF_MODE(i.code) == BPF_MEM) loaded = m->memory[i.k % BPF_MEMWORDS];
          (BPF_CLASS(i.code) == BPF_LD ? m->a : m->x) = loaded;
          break;
        }
        case BPF_ST:
          m->memory[i.k % BPF_MEMWORDS] = m->a;
          break;
        case BPF_STX:
          m->memory[i.k % BPF_MEMWORDS] = m->x;
          break;
        case BPF_ALU:
          m->a = Compute(BPF_OP(i.code), m->a, operand);
          break;
        case BPF_MISC:
          if (BPF_MISCOP(i.code) == BPF_TAX) m->x = m->a;
          if (BPF_MISCOP(i.code) == BPF_TXA) m->a = m->x;
          break;
        case BPF_RET: {
          const Word answer = BPF_RVAL(i.code) == BPF_A ? m->a : Word{i.k, true};
          return answer.is_known ? answer.value : SECCOMP_RET_KILL_PROCESS;
        }
        case BPF_JMP: {
          if (BPF_OP(i.code) == BPF_JA) {
            m->at += i.k;
            break;
          }
          const Branch branch = Compare(BPF_OP(i.code), m->a, operand);
          if (branch == Branch::kEither) {
            if (count_ == kMaxWays) return SECCOMP_RET_KILL_PROCESS;
            ways_[count_] = *m;
            ways_[count_++].at += i.jf;
          }
          m->at += branch == Branch::kNo ? i.jf : i.jt;
          break;
        }
      }
    }
    return SECCOMP_RET_KILL_PROCESS;
  }

  const sock_fprog& program_;
  const long number_;
  Machine ways_[kMaxWays];
  int count_ = 0;
  int steps_ = 0;
};

}  // namespace

uint32_t WorstAnswer(const sock_fprog& program, long number) { return Walk(program, number).Worst(); }

CallSet FilteredCalls(const sock_fprog& program) {
  CallSet calls;
  for (long number : kOwnCalls) {
    if (!IsOrderly(WorstAnswer(program, number))) calls.Add(number);
  }
  return calls;
}

CallSet StrictlyFilteredCalls() {
  CallSet calls;
  for (long number : kOwnCalls) {
    if (number != SYS_read && number != SYS_write) calls.Add(number);
  }
  return calls;
}

void Forbid(const CallSet& calls) {
  if (calls.empty()) return;
  for (size_t i = 0; i < CallSet::kNumbers / 64; ++i) g_forbidden[i].fetch_or(calls.words[i]);
  g_interceptor.store(AllowedCall);
  // Those that have not seen it are in the kernel for microseconds. A thread that is stopped there is not waited for.
  for (int round = 0; round < 1000 && g_calls_at_work.load() > 0; ++round) KernelCall(SYS_sched_yield);
}

void AllowAgain(const CallSet& calls) {
  for (size_t i = 0; i < CallSet::kNumbers / 64; ++i) g_forbidden[i].store(calls.words[i]);
  if (calls.empty()) g_interceptor.store(nullptr);
}

CallSet ForbiddenCalls() {
  CallSet calls;
  for (size_t i = 0; i < CallSet::kNumbers / 64; ++i) calls.words[i] = g_forbidden[i].load();
  return calls;
}

bool MayCall(long number) {
  if (g_interceptor.load(std::memory_order_relaxed) != AllowedCall) [[likely]]
    return true;
  return (g_forbidden[number / 64].load(std::memory_order_relaxed) >> (number % 64) & 1) == 0;
}

}  // namespace plateau::sys
