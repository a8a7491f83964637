#!/usr/bin/env python3
"""How many calls of the allocator an attached recording sees, against a library that counts them from the start of the program in the same window.

    tests/field/attach/coverage.py [--tree DIR] [--seconds S] SUBJECT...

SUBJECT is as for cycles.py (cpp, an interpreter, torch:INTERPRETER). The program is stopped at both ends of the window, so both counts are of one moment.
"""
import argparse
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import cycles

# Counts by name in a file that this script maps too. Everything is thread-safe and allocates nothing.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
extern void* __libc_malloc(size_t); extern void* __libc_calloc(size_t, size_t); extern void* __libc_realloc(void*, size_t); extern void __libc_free(void*);
extern void* __libc_memalign(size_t, size_t);
static uint64_t unmapped[4];
static uintptr_t loader_begin, loader_end;
static uint64_t* volatile counts = unmapped;
static int FindLoader(struct dl_phdr_info* info, size_t size, void* data) {
  if (info->dlpi_addr != getauxval(AT_BASE)) return 0;
  loader_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > loader_end) loader_end = end;
  }
  return 1;
}
static void InChild(void) { counts = unmapped; }
__attribute__((constructor)) static void Map(void) {
  dl_iterate_phdr(FindLoader, 0);
  pthread_atfork(0, 0, InChild);
  const char* path = getenv("COUNTS");
  int fd = path ? open(path, O_RDWR) : -1;
  void* p = fd < 0 ? MAP_FAILED : mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  unsetenv("COUNTS");
  if (p != MAP_FAILED) counts = p;
  if (fd >= 0) close(fd);
}
/* The loader's own calls go through a pointer of its own, which nobody else can stand before: they are counted apart. */
static void CountBy(int i, uintptr_t caller) { __atomic_fetch_add(&counts[i + (caller >= loader_begin && caller < loader_end ? 2 : 0)], 1, __ATOMIC_RELAXED); }
#define Count(i) CountBy(i, (uintptr_t)__builtin_return_address(0))
void* malloc(size_t n) { Count(0); return __libc_malloc(n); }
void* calloc(size_t n, size_t m) { Count(0); return __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { if (n || !p) Count(0); if (p) Count(1); return __libc_realloc(p, n); }
void* reallocarray(void* p, size_t n, size_t m) { size_t b; if (__builtin_mul_overflow(n, m, &b)) return 0; return realloc(p, b); }
void free(void* p) { if (p) Count(1); __libc_free(p); }
void* memalign(size_t a, size_t n) { Count(0); return __libc_memalign(a, n); }
void* aligned_alloc(size_t a, size_t n) { Count(0); return __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { Count(0); *p = __libc_memalign(a, n); return *p ? 0 : 12; }
"""


def measure(name, options, folder):
    (folder / "counter.c").write_text(COUNTER)
    subprocess.run(["cc", "-O2", "-w", "-shared", "-fPIC", folder / "counter.c", "-o", folder / "counter.so", "-ldl"], check=True)
    counts = folder / "counts"
    counts.write_bytes(bytes(4096))
    os.environ.update(LD_PRELOAD=str(folder / "counter.so"), COUNTS=str(counts))
    try:
        subject = cycles.Subject(name, folder)
    finally:
        del os.environ["LD_PRELOAD"], os.environ["COUNTS"]
    pid, plateau = subject.pid, options.tree / "bin/plateau"
    subprocess.run([plateau, "attach", str(pid), "--exact", "-o", folder / "rec"], check=True, stderr=subprocess.DEVNULL)
    time.sleep(2.5)  # looks at late words are over

    def now():
        os.kill(pid, signal.SIGSTOP)
        while " T " not in pathlib.Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.001)
        time.sleep(0.05)
        (trace,) = (folder / "rec").glob(f"*.{pid}.*.plt")
        said = subprocess.run([plateau, "dump", "--stats", trace], capture_output=True, text=True, check=True).stdout
        seen = [int(number) for number in re.search(r"process +(\d+) allocations \(.*?\), (\d+) frees", said).groups()]
        counted = struct.unpack("<4Q", counts.read_bytes()[:32])
        os.kill(pid, signal.SIGCONT)
        return seen, counted

    seen_before, counted_before = now()
    time.sleep(options.seconds)
    seen_after, counted_after = now()
    subprocess.run([plateau, "detach", str(pid)], check=True, stderr=subprocess.DEVNULL)
    end = subject.end()
    seen = [b - a for a, b in zip(seen_before, seen_after)]
    counted = [b - a for a, b in zip(counted_before, counted_after)]
    print(f"{name}: {seen[0]} of {counted[0]} allocations ({100 * seen[0] / max(1, counted[0]):.4f} %), {seen[1]} of {counted[1]} frees "
          f"({100 * seen[1] / max(1, counted[1]):.4f} %); the loader's own, not among them: {counted[2]} and {counted[3]}{'; ' + end if end else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+", metavar="SUBJECT")
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path(os.environ.get("PLATEAU_BUILD", "build/dev")))
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    for name in options.subjects:
        with tempfile.TemporaryDirectory(prefix="plateau-attach-") as folder:
            os.chmod(folder, 0o755)
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
