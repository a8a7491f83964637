"""Programs that are looked after while they run: --on with a command, a signal and a webhook, --stop-before-oom with a checkpoint, and the
report of a program that the kernel killed.

Every program waits for what must happen to it, so that a slow machine makes the test slower and not wrong.
"""
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from plateau_cli import PLATEAU, compile_c, failures, report_json, report_text

PATIENCE = 200  # seconds, for a loaded machine

# Keeps 200,001 bytes a step until it is told to stop: by a file, or by SIGUSR1, which it answers with a checkpoint.
LEAK = r"""
#include <plateau/mark.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* kept[1000000];
static volatile sig_atomic_t asked;
static void on_usr1(int n) { asked = n; }
int main(int argc, char** argv) {
  alarm(600);  /* never outlives the test */
  size_t size = argc > 2 ? atol(argv[2]) : 200001;
  signal(SIGUSR1, on_usr1);
  for (int i = 0; access(argv[1], F_OK) != 0; ++i) {
    kept[i] = malloc(size);
    memset(kept[i], 1, size);
    plateau_step();
    if (asked) {
      char name[4096];
      snprintf(name, sizeof name, "%s.checkpoint", argv[1]);
      fclose(fopen(name, "w"));
      if (argc > 3) asked = 0;   /* goes on until SIGTERM */
      else return 7;
    }
    usleep(5000);
  }
  return 0;
}
"""


def a_leak_is_acted_upon_while_the_program_runs():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(folder, "leak", LEAK)
        posted = []
        arrived = threading.Event()

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()
                arrived.set()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stop, said = folder / "stop", folder / "said"
        # The hook is asked first: the program ends by the command, when all else has happened.
        waits = f"printf '%s\\n' \"$PLATEAU_CONDITION\" \"$PLATEAU_VERDICT\" \"$PLATEAU_SUMMARY\" \"$PLATEAU_PID\" > {said}.new && mv {said}.new {said}"
        launcher = subprocess.Popen([PLATEAU, "run", "--no-report", "-o", folder / "rec", "--on", "growth", "--judge-every", "0.5", "--do", waits, "--webhook",
                                     f"http://127.0.0.1:{server.server_port}/hook", "--", program, stop], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert arrived.wait(PATIENCE), "no webhook"
            for _ in range(PATIENCE * 10):
                if said.exists():
                    break
                threading.Event().wait(0.1)
        finally:
            stop.touch()
            output, errors = launcher.communicate(timeout=PATIENCE)
            server.shutdown()
        assert launcher.returncode == 0 and output == b"", (launcher.returncode, output)
        condition, verdict, summary, pid = said.read_text().splitlines()
        assert (condition, verdict) == ("growth", "unbounded_growth"), (condition, verdict)
        assert "leak.c:" in summary and re.search(r"19\d KiB every step", summary), summary
        assert len(posted) == 1, "each condition acts once"
        assert posted[0]["summary"] == summary and posted[0]["verdict"] == verdict and posted[0]["pid"] == int(pid), posted
        assert posted[0]["site"].startswith("leak.c:"), posted
        assert errors.count(b"--on growth: ") == 1, errors


def a_signal_reaches_the_process_that_leaks_and_not_its_shell():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(folder, "leak", LEAK)
        done = subprocess.run([PLATEAU, "run", "-q", "--no-report", "-o", folder / "rec", "--on", "growth", "--judge-every", "0.5", "--signal", "USR1", "--", "sh", "-c",
                               f"{program} {folder}/never; echo $?"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.stdout.strip() == "7" and done.returncode == 0, done  # its own answer to SIGUSR1, through the shell
        assert (folder / "never.checkpoint").exists()


def a_program_is_ended_with_a_checkpoint_before_memory_is_full():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(folder, "leak", LEAK)
        done = subprocess.run([PLATEAU, "run", "--no-report", "-o", folder / "rec", "--stop-before-oom", "60MiB", "--grace", "1", "--", program, f"{folder}/never", "1000001",
                               "goes on"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 128 + 15, done
        assert (folder / "never.checkpoint").exists(), "SIGUSR1 comes first"
        assert "SIGUSR1 sent to 1 process" in done.stderr, done.stderr
        report = report_json(folder / "rec")
        assert report["recording"]["ending"].startswith("signal 15; stopped before memory ran out: the program has "), report["recording"]["ending"]


def who_handles_no_usr1_gets_sigterm_at_once():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script = "kept=[]\nwhile True: kept.append(bytearray(1000001))"
        done = subprocess.run([PLATEAU, "run", "--no-report", "-o", folder / "rec", "--stop-before-oom", "100MiB", "--grace", "100000", "--", "/usr/bin/python3", "-c",
                               f"import time\n{script.replace(': kept', ': time.sleep(0.005); kept')}"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 128 + 15, done
        assert "nobody handles SIGUSR1" in done.stderr, done.stderr


def nothing_is_looked_at_without_the_options():
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run([PLATEAU, "run", "--no-report", "-o", f"{name}/rec", "--on", "leak", "--", "true"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and "--on needs something to do" in done.stderr, done
        assert not os.path.exists(f"{name}/rec")


def the_report_of_an_out_of_memory_kill_tells_its_last_minutes():
    """In a cgroup of version 1 with a limit of 64 MiB, where this machine lets us make one."""
    group = pathlib.Path(f"/sys/fs/cgroup/memory/plateau-test-{os.getpid()}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(64 << 20))
        if (group / "memory.memsw.limit_in_bytes").exists():
            (group / "memory.memsw.limit_in_bytes").write_text(str(64 << 20))
    except OSError as error:
        if group.exists():
            group.rmdir()
        print(f"  no cgroup of our own here ({error}); the words are tested in memory_room_test")
        return
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = compile_c(folder, "leak", LEAK)
            done = subprocess.run(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh", PLATEAU, "run", "-q", "-o", folder / "rec", "--", program,
                                   f"{folder}/never", "500001"], capture_output=True, text=True, timeout=PATIENCE)
            if done.returncode == -9:  # the launcher itself was chosen
                print("  the kernel chose the launcher; nothing to see")
                return
            assert done.returncode == 137, done
            report = report_json(folder / "rec")
            last = report["last_minutes"]
            assert last["out_of_memory"] and "out of memory: the kernel killed 1 process of the cgroup" in report["recording"]["ending"], report["recording"]["ending"]
            assert last["asked"][0]["site"].startswith("leak.c:") and last["asked"][0]["grown_bytes"] > 0, last
            assert last["largest"][0]["site"] == last["asked"][0]["site"], last
            assert last["rss_to_bytes"] > last["rss_from_bytes"], last
            text = report_text(folder / "rec")
            assert "The last minutes" in text and "asked last" in text and "At the end" in text, text
    finally:
        group.rmdir()


if __name__ == "__main__":
    sys.exit(failures([a_leak_is_acted_upon_while_the_program_runs, a_signal_reaches_the_process_that_leaks_and_not_its_shell,
                      a_program_is_ended_with_a_checkpoint_before_memory_is_full, who_handles_no_usr1_gets_sigterm_at_once,
                      nothing_is_looked_at_without_the_options, the_report_of_an_out_of_memory_kill_tells_its_last_minutes]))
