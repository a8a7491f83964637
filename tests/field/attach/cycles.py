#!/usr/bin/env python3
"""Attaches to a busy program and detaches again, many times, and says how long it stood still and whether it survived with its output right.

    tests/field/attach/cycles.py [--tree DIR] [--cycles N] [--no-stop] [--kill N] SUBJECT...

SUBJECT is `cpp` (threads, all functions of malloc, dlopen and dlclose, exceptions, fork), the path of a Python interpreter (threads and a loop of small
objects), `torch:INTERPRETER` (training with two DataLoader workers), `redis` (redis-server under redis-benchmark), or `postgres` (a server's process under
pgbench; as root). --tree is an installed tree or a build
folder. --kill kills N injectors at random moments first. One line a subject; the exit code is 1 when anything went wrong.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CPP = r"""
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>
static std::atomic<bool> stop{false};
static std::atomic<unsigned long> bad{0}, work{0};
static void Work(unsigned seed) {
  struct Block { unsigned char* p; size_t n; unsigned char c; };
  std::vector<Block> blocks(200);
  unsigned r = seed;
  while (!stop) {
    r = r * 1664525 + 1013904223;
    Block& b = blocks[(r >> 8) % blocks.size()];
    if (b.p) {
      for (size_t i = 0; i < b.n; i += 97) if (b.p[i] != b.c) ++bad;
      if (r & 1) b.p = static_cast<unsigned char*>(realloc(b.p, b.n + 64));
      free(b.p);
      b.p = nullptr;
    } else {
      b.n = (r >> 12) % 64 == 0 ? 200000 : (r >> 16) % 2000 + 1;
      b.c = static_cast<unsigned char>(r >> 24);
      void* p = nullptr;
      switch ((r >> 4) & 3) { case 0: p = calloc(1, b.n); break; case 1: if (posix_memalign(&p, 64, b.n)) abort(); break; default: p = malloc(b.n); }
      b.p = static_cast<unsigned char*>(memset(p, b.c, b.n));
    }
    std::map<int, std::string> m;
    m[1] = std::string(40, 'x');
    ++work;
    if ((r & 0xfff) == 0) usleep(1000);
  }
  for (Block& b : blocks) free(b.p);
}
static void Loads() { while (!stop) { void* h = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL); if (h) dlclose(h); usleep(300); } }
static void Throws() {
  while (!stop) {
    try { throw std::string("a rather long text that goes to the heap, not the small buffer"); } catch (const std::string& s) { if (s.size() < 10) ++bad; }
    dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { free(malloc(100)); return 0; }, nullptr);
    usleep(100);
  }
}
static void Forks() {
  while (!stop) {
    const pid_t child = fork();
    if (child == 0) { for (int i = 0; i < 50; ++i) free(malloc(1000)); _exit(3); }
    int status = 0;
    if (waitpid(child, &status, 0) == child && WEXITSTATUS(status) != 3) ++bad;
    std::thread([] { std::vector<std::string> v; for (int i = 0; i < 50; ++i) v.push_back(std::string(100, 'y')); }).join();
    usleep(20000);
  }
}
int main() {
  signal(SIGTERM, [](int) { stop = true; });
  std::vector<std::thread> t;
  for (unsigned i = 1; i < 4; ++i) t.emplace_back(Work, i);
  t.emplace_back(Loads); t.emplace_back(Throws); t.emplace_back(Forks);
  printf("ready\n"); fflush(stdout);
  for (std::thread& x : t) x.join();
  printf("bad %lu\n", bad.load());
  return bad != 0;
}
"""
PYTHON = """
import signal, sys, threading
stop = False
def end(*_):
    global stop
    stop = True
signal.signal(signal.SIGTERM, end)
bad = 0
def work(seed):
    global bad
    while not stop:
        kept = [bytes([seed]) * n for n in range(1, 2000, 7)]
        d = {str(i): [seed] * 20 for i in range(200)}
        if sum(map(len, kept)) != sum(range(1, 2000, 7)) or any(v[0] != seed for v in d.values()):
            bad += 1
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads: t.start()
print("ready", flush=True)
while not stop:
    signal.pause() if False else threads[0].join(0.1)
for t in threads: t.join()
print("bad", bad)
sys.exit(bad != 0)
"""
TORCH = """
import signal, sys, time, torch
from torch.utils.data import DataLoader, Dataset
stop = False
def end(*_):
    global stop
    stop = True
class Data(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return torch.full((2000,), float(i)), float(i)
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    model = torch.nn.Linear(2000, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    loader = DataLoader(Data(), batch_size=8, num_workers=2)
    print("ready", flush=True)
    bad = 0
    while not stop:
        for x, y in loader:
            optimizer.zero_grad()
            loss = ((model(x).squeeze(1) - y.float()) ** 2).mean()
            loss.backward()
            optimizer.step()
            bad += not bool(torch.isfinite(loss)) or float(x[0, 0]) != float(y[0])
    print("bad", bad)
    sys.exit(bad != 0)
"""


def start_postgres(folder):
    """The server, the load, and the process that serves it."""
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    data, port, options = folder / "data", str(20000 + random.randrange(20000)), dict(user="postgres", cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    data.mkdir()
    shutil.chown(data, "postgres", "postgres")
    subprocess.run([programs / "initdb", "-D", data, "-A", "trust"], check=True, **options)
    server = subprocess.Popen([programs / "postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-k", data], **options)
    where = ["-h", "127.0.0.1", "-p", port]
    while subprocess.run([programs / "pg_isready", *where], **options).returncode:
        time.sleep(0.2)
    subprocess.run([programs / "pgbench", *where, "-i", "-q", "postgres"], check=True, **options)
    load = subprocess.Popen([programs / "pgbench", *where, "-c", "2", "-T", "100000", "postgres"], **options)
    ask = lambda text: subprocess.run([programs / "psql", *where, "-Atc", text, "postgres"], user="postgres", cwd="/", capture_output=True, text=True).stdout.split()
    while len(served := ask("select pid from pg_stat_activity where application_name = 'pgbench'")) < 2:
        time.sleep(0.2)
    return server, load, int(served[0]), ask


class Subject:
    def __init__(self, name, folder):
        self.name, self.load = name, None
        if name == "postgres":
            self.process, self.load, self.pid, self.ask = start_postgres(folder)
            return
        if name == "cpp":
            source = folder / "cpp.cc"
            source.write_text(CPP)
            subprocess.run(["c++", "-std=c++17", "-O2", "-w", source, "-o", folder / "cpp", "-pthread", "-ldl"], check=True)
            command = [folder / "cpp"]
        elif name == "redis":
            port = str(20000 + random.randrange(20000))
            command = ["redis-server", "--port", port, "--save", "", "--appendonly", "no"]
        else:
            script = folder / "subject.py"
            script.write_text(TORCH if name.startswith("torch:") else PYTHON)
            command = [name.removeprefix("torch:"), script]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if name == "redis":
            time.sleep(1)
            self.load = subprocess.Popen(["redis-benchmark", "-p", port, "-l", "-q", "-d", "3000", "-r", "10000", "-t", "set,get,lpush,lpop"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            while "ready" not in (line := self.process.stdout.readline()):
                assert line, "the subject ended"
        self.pid = self.process.pid
        time.sleep(0.5)

    def is_alive(self):
        return self.process.poll() is None and pathlib.Path(f"/proc/{self.pid}").exists()

    def end(self):
        """None when it went on as ever."""
        if self.load:
            if self.load.poll() is not None:
                return f"the load ended with {self.load.returncode}"
            self.load.kill()
            self.load.wait()
        if self.process.poll() is not None:
            return f"it ended with {self.process.returncode}"
        if self.name == "postgres":
            sums = self.ask("select (select sum(abalance) from pgbench_accounts) - (select sum(bbalance) from pgbench_branches)")
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
            return None if sums == ["0"] and self.process.returncode == 0 else f"the books do not balance: {sums}, exit {self.process.returncode}"
        self.process.send_signal(signal.SIGTERM)
        try:
            out = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it hangs"
        if self.process.returncode != 0 or (self.name != "redis" and "bad 0" not in out):
            return f"exit {self.process.returncode}: {out[-200:]}"
        return None


def look(pid):
    """What every thread of the process and of its children waits for, told by the kernel and by a debugger when there is one."""
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        state = (task / "stat").read_text().rsplit(") ", 1)[1].split()[0]
        print(f"  {pid}/{task.name} {(task / 'comm').read_text().strip()}: {state} {(task / 'wchan').read_text()} {(task / 'syscall').read_text().strip()}")
    if shutil.which("gdb"):
        told = subprocess.run(["gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all backtrace 30"], capture_output=True, text=True, timeout=300)
        print("".join(f"    {line}\n" for line in told.stdout.splitlines() if line.startswith(("#", "Thread"))), flush=True)
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            look(child)


def cycles(name, options, folder):
    plateau = options.tree / "bin/plateau"
    subject = Subject(name, folder)
    pid, wrong, stops, totals, done, killed = str(subject.pid), [], [], [], 0, 0
    attach = [plateau, "attach", pid, *(["--no-stop"] if options.no_stop else [])]
    for i in range(options.kill):
        injector = subprocess.Popen([*attach, "-o", folder / f"killed{i}"], stderr=subprocess.DEVNULL)
        time.sleep(random.random() * options.kill_within)
        killed += injector.poll() is None
        injector.kill()
        injector.wait()
        subprocess.run([plateau, "detach", pid, "--wait", "5s"], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder / f"killed{i}", ignore_errors=True)
        if not subject.is_alive():
            break
    # What the last of them began may have come to its end only now.
    time.sleep(1)
    subprocess.run([plateau, "detach", pid], stderr=subprocess.DEVNULL)
    for i in range(options.cycles):
        if not subject.is_alive():
            break
        recording = folder / f"rec{i}"
        said = subprocess.run([*attach, "-o", recording], capture_output=True, text=True)
        if said.returncode:
            wrong.append(f"attach {i}: {said.stderr.strip()}")
            if options.look and len(wrong) == 1:
                look(pid)
            subprocess.run([plateau, "detach", pid], stderr=subprocess.DEVNULL)
            continue
        if found := re.search(r"stood still for ([\d.]+) ms", said.stderr):
            stops.append(float(found[1]))
        totals.append(float(re.search(r" in (\d+) ms", said.stderr)[1]))
        time.sleep(options.pause)
        left = subprocess.run([plateau, "detach", pid], capture_output=True, text=True)
        if left.returncode:
            wrong.append(f"detach {i}: {left.stderr.strip()}")
            if options.look and len(wrong) == 1:
                look(pid)
        done += left.returncode == 0
        shutil.rmtree(recording, ignore_errors=True)
    end = subject.end()
    if end:
        wrong.append(end)
    stops.sort()
    at = lambda share: stops[min(len(stops) - 1, int(len(stops) * share))] if stops else 0
    print(f"{name}: {done} of {options.cycles} cycles, {killed} injectors killed, stood still ms: median {at(0.5):.2f} p95 {at(0.95):.2f} p99 {at(0.99):.2f} "
          f"max {at(1):.2f}, attach median {sorted(totals)[len(totals) // 2] if totals else 0:.0f} ms; {len(wrong)} wrong", flush=True)
    for line in wrong[:10]:
        print(f"  {line}", flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="+", metavar="SUBJECT")
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path(os.environ.get("PLATEAU_BUILD", "build/dev")))
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between attach and detach")
    parser.add_argument("--no-stop", action="store_true")
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--kill-within", type=float, default=0.05, help="seconds after its start")
    parser.add_argument("--look", action="store_true", help="show the stacks of the program at the first failure")
    options = parser.parse_args()
    wrong = 0
    for name in options.subjects:
        with tempfile.TemporaryDirectory(prefix="plateau-attach-") as folder:
            os.chmod(folder, 0o755)  # the subject may be another user's
            wrong += cycles(name, options, pathlib.Path(folder))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
