// Locks itself in as argv[1] says, allocates argv[2] blocks of 10007 bytes, keeps one of them, and ends as it would without
// a tracer. Every system call outside of what it needs itself kills it.
//   strict    seccomp's strict mode        filter    prctl(PR_SET_SECCOMP) with a list of allowed calls
//   seccomp   the same by syscall()        errors    a filter that answers other calls with an error number
//   bad       filters that the kernel refuses, then the list      tsc   without the time stamp counter
//   child     as filter, and the allocating is done by a child of fork()
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
static constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
static constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// What malloc, puts and the end of a process need, and fork and wait for "child".
static const long kNeeded[] = {
    SYS_brk,   SYS_mmap,  SYS_munmap, SYS_write,          SYS_exit_group,      SYS_exit, SYS_futex,
    SYS_clone, SYS_wait4, SYS_gettid, SYS_rt_sigprocmask, SYS_set_robust_list, SYS_rseq, SYS_mprotect};

static sock_fprog ListOf(sock_filter* code, unsigned otherwise) {
  unsigned short n = 0;
  const unsigned short count = sizeof(kNeeded) / sizeof(kNeeded[0]);
  code[n++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  code[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  code[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  code[n++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (unsigned short i = 0; i < count; ++i) {
    code[n++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kNeeded[i], (unsigned char)(count - i), 0);
  }
  code[n++] = BPF_STMT(BPF_RET | BPF_K, otherwise);
  code[n++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return {n, code};
}

static void LockIn(const char* way) {
  static sock_filter code[64];
  const bool is_gentle = strcmp(way, "errors") == 0;
  const sock_fprog list = ListOf(code, is_gentle ? SECCOMP_RET_ERRNO | EACCES : SECCOMP_RET_KILL_PROCESS);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (strcmp(way, "bad") == 0) {
    const sock_fprog nowhere = {3, reinterpret_cast<sock_filter*>(8)};
    errno = 0;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &nowhere) != -1 || errno != EFAULT) _exit(3);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 16) != -1 || errno != EFAULT) _exit(4);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) != -1 || errno != EFAULT) _exit(5);
    sock_filter endless[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
    const sock_fprog unended = {1, endless};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &unended) != -1 || errno != EINVAL) _exit(6);
  }
  long result = 0;
  if (strcmp(way, "strict") == 0) {
    result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  } else if (strcmp(way, "tsc") == 0) {
    result = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  } else if (strcmp(way, "seccomp") == 0) {
    result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &list);
  } else if (strcmp(way, "none") != 0) {
    result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &list, 0, 0);
  }
  if (result != 0) _exit(2);
}

static void Allocate(long count) {
  for (long i = 0; i < count; ++i) {
    void* p = malloc(10007);
    if (i + 1 < count) free(p);
  }
}

int main(int, char** argv) {
  const char* way = argv[1];
  // The heap has room for the block before strict mode forbids to ask for more.
  free(malloc(100000));
  fflush(stdout);
  LockIn(way);
  int status = 0;
  if (strcmp(way, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      Allocate(atol(argv[2]));
      _exit(7);
    }
    waitpid(child, &status, 0);
    status = WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
  } else {
    Allocate(atol(argv[2]));
  }
  const char done[] = "done\n";
  if (write(1, done, sizeof(done) - 1) < 0) status = 1;
  if (strcmp(way, "strict") == 0) syscall(SYS_exit, status);  // exit_group is not in its list
  _exit(status);
}
