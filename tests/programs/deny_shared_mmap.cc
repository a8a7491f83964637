// Runs argv[1...] in a world where files cannot be mapped shared and writable, as on some network file
// systems.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int, char** argv) {
  const auto argument = [](int i) {
    return static_cast<unsigned>(offsetof(seccomp_data, args) + 8u * static_cast<unsigned>(i));
  };
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(4)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("seccomp");
    return 77;
  }
  execv(argv[1], argv + 1);
  return 126;
}
