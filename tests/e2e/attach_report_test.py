"""What is said of a program that was attached to in the middle of its run: a leak is found with its line, a cache that is full after the first pass is
never called a warm-up that is over or a leak, a program that only frees what it had before is steady, and what was live before is no gap of the allocator."""
import pathlib
import subprocess
import tempfile

from plateau_cli import compile_c, plateau, report_json, report_text

# Passes over 60 examples. A cache keeps each example once; a leak keeps 20 KiB a step; a steady program keeps nothing and frees what it had. 64 MiB are
# live before anything begins.
PROGRAM = r"""
#include <plateau/mark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { kExamples = 60, kBlocks = 1024 };
static void* volatile passing;
static void *before[kBlocks], *cache[kExamples], *leaked[100000];
__attribute__((noinline)) static void* Allocate(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
__attribute__((noinline)) static void Fill(int example) {
  if (cache[example] == NULL) cache[example] = Allocate(100001);  /* THE CACHE */
}
__attribute__((noinline)) static void Leak(int step) {
  leaked[step] = Allocate(20480);  /* THE LEAK */
}
/* Of their own, because a loop that runs keeps the address of a mark that was not there when it began. */
__attribute__((noinline)) static void Step(void) { plateau_step(); }
__attribute__((noinline)) static void Epoch(void) { plateau_epoch(); }
int main(int argc, char** argv) {
  const int leaks = argv[1][0] == 'l', fills = argv[1][0] == 'c';
  for (int i = 0; i < kBlocks; ++i) before[i] = Allocate(65536);
  printf("ready\n");
  fflush(stdout);
  for (int step = 0; step < 100000; ++step) {
    if (leaks) Leak(step);
    if (fills) Fill(step % kExamples);
    if (!leaks && !fills && step % 2 == 0 && step / 2 < kBlocks) free(before[step / 2]);
    passing = Allocate(50005);
    free(passing);
    Step();
    if (step % kExamples == kExamples - 1) {
      Epoch();
      printf("pass\n");
      fflush(stdout);
    }
    usleep(step < kExamples ? 20000 : 1000);  /* time to attach within the first pass */
  }
}
"""


def recorded(program, kind, folder, passes):
    """Attached in the first pass, for some passes."""
    process = subprocess.Popen([program, kind], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        recording = folder / kind
        plateau("attach", process.pid, "--exact", "-o", recording)
        for _ in range(passes):
            assert process.stdout.readline() == "pass\n"
        plateau("detach", process.pid)
        assert process.poll() is None
        return recording
    finally:
        process.kill()
        process.wait()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(folder, "passes", PROGRAM, "-fuse-ld=bfd")
        leak = recorded(program, "leak", folder, 5)
        report = report_json(leak)
        top = report["sites"][0]
        assert top["function"] == "Allocate" or top["function"] == "Leak", top
        assert report["verdict"] in ("leak", "slow_leak"), report["verdict"]
        attached = report["attached"]
        assert attached["age_seconds"] > 0 and 60 << 20 <= attached["before_bytes"] <= attached["resident_bytes"], attached
        assert (attached["modules_not_hooked"], attached["program_imports"], attached["implied_frees"]) == (0, True, 0), attached
        assert "recorded from step ? on" in attached["sentence"], attached
        (trace,) = leak.glob("*.plt")
        records = [line for line in plateau("dump", trace, text=True).splitlines() if line.split(maxsplit=1)[0] == "attach"]
        assert len(records) == 1 and records[0].startswith("attach number=1 age="), records
        last = report["ledger"][-1]
        assert last["live_bytes"] >= 60 << 20, "what was live before is not in the ledger"
        assert last["allocator_gap_bytes"] < 30 << 20, f"what was live before is called a gap: {last}"
        parts = sum(last[key] for key in ("live_bytes", "allocator_gap_bytes", "rss_file_bytes", "rss_shmem_bytes", "own_bytes", "unexplained_bytes"))
        assert parts == last["rss_bytes"], last
        card = report_text(leak)
        assert "attached after" in card and "recorded from step ?" in " ".join(card.split()) and "were live before" in " ".join(card.split()), card
        cache = recorded(program, "cache", folder, 6)
        report = report_json(cache)
        verdicts = {report["verdict"], *(site["verdict"] for site in report["sites"])}
        assert report["attached"] is not None
        assert not verdicts & {"leak", "slow_leak", "warmup_complete", "unbounded_growth"}, (report["verdict"], [(s["function"], s["verdict"]) for s in report["sites"]])
        steady = recorded(program, "steady", folder, 5)
        report = report_json(steady)
        # What it frees its allocator keeps.
        assert report["verdict"] in ("steady", "allocator_retention"), (report["verdict"], report["headline"]["sentence"])
        assert report["attached"]["unknown_frees"] >= 60, report["attached"]


main()
