#!/usr/bin/env python3
"""`plateau run` on whole programs: exit codes, signals, what is recorded and what is said about bad input."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from plateau_cli import PLATEAU, compile_c, report_json, skip_unless

KEEPER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void* volatile kept[1000];
__attribute__((noinline)) static void keep(int i) {
  kept[i] = malloc(20002);  /* the line of the site */
  memset((void*)kept[i], 1, 20002);
}
int main(int argc, char** argv) {
  for (int i = 0; i < 300; ++i) {
    keep(i);
    void* volatile brief = malloc(30003);
    free(brief);
  }
  puts("output");
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "hang")) pause();
  if (argc > 1 && !strcmp(argv[1], "abort")) abort();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def run(*arguments, **options):
    return subprocess.run([PLATEAU, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


class LauncherTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="plateau-launcher-"))
        cls.program = compile_c(cls.directory, "keeper", KEEPER)
        cls.line = KEEPER.split("\n").index("  kept[i] = malloc(20002);  /* the line of the site */") + 1

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory, ignore_errors=True)

    def record(self, name, *arguments, options=("--exact",)):
        out = self.directory / name
        done = run("run", *options, "-o", out, "--", self.program, *arguments)
        return out, done

    def test_a_lost_recorder_is_said_instead_of_a_card(self):
        """`env -i` takes LD_PRELOAD away: what is left is the trace of env itself."""
        done = run("run", "-o", self.directory / "lost", "--", "/usr/bin/env", "-i", "/bin/sleep", "1.5")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"only 0\.\d\d s of \d+\.\d s were recorded: the program left the recorder behind")
        self.assertNotIn("Made at", done.stderr)
        # The same wait in a process that is recorded is no loss.
        done = run("run", "-o", self.directory / "kept", "--", "/bin/sleep", "1.5")
        self.assertNotIn("were recorded", done.stderr)

    def test_exit_code_and_output_are_the_programs_own(self):
        out, done = self.record("code", 7)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "output\n")
        self.assertIn("keep", done.stderr)
        self.assertEqual(report_json(out)["recording"]["ending"], "exit 7")

    def test_start_up_line_says_what_is_recorded(self):
        _, done = self.record("start")
        first = done.stderr.splitlines()[0]
        self.assertRegex(first, r"^plateau: recording in .*start: exact mode, Python frames, torch steps, (no )?CUDA")
        _, done = self.record("start2", options=("--no-steps", "--no-cuda"))
        self.assertIn("default mode, Python frames, no torch steps (--no-steps), no CUDA (--no-cuda)", done.stderr)
        _, done = self.record("start3", options=("-q",))
        self.assertNotIn("plateau:", done.stderr)

    def test_a_recording_is_not_written_into_another(self):
        out, _ = self.record("twice", 7)
        _, done = self.record("twice", 8)
        self.assertEqual((done.returncode, done.stdout), (2, ""), "the program was not started")
        self.assertIn("a recording is in it already; give another directory, or --force", done.stderr)
        self.assertEqual(report_json(out)["recording"]["ending"], "exit 7")
        (out / "notes.txt").write_text("mine")
        _, done = self.record("twice", 8, options=("--exact", "--force"))
        self.assertEqual(done.returncode, 8)
        self.assertEqual((len(report_json(out)["processes"]), report_json(out)["recording"]["ending"]), (1, "exit 8"))
        self.assertEqual((out / "notes.txt").read_text(), "mine")

    def test_separate_runs_are_reported_one_by_one(self):
        first, _ = self.record("first")
        second, _ = self.record("second")
        text = run("report", second, first, "--card").stdout
        self.assertEqual(re.findall(r"^Run \d of \d: .*", text, re.M), [f"Run 1 of 2: {first}", f"Run 2 of 2: {second}"])
        done = run("report", first, second, "--json", "-")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, "are separate runs, the second began .* after the first had ended")
        self.assertEqual(run("check", first, second, "--max-rss", "1GiB").returncode, 2)

    def test_site_has_the_line_and_every_byte(self):
        out, _ = self.record("site")
        report = report_json(out)
        site = report["sites"][0]
        self.assertEqual((site["line"], site["function"]), (self.line, "keep"))
        self.assertEqual((site["retained_bytes"], site["retained_count"]), (300 * 20002, 300))
        for field in ("retained_bytes", "peak_bytes", "alloc_bytes", "temporary_bytes", "alloc_count"):
            parts = sum(row[field] for row in report["sites"] + report["totals"]["leftovers"])
            self.assertEqual(parts, report["totals"][field], field)

    def test_default_mode_records_large_requests_exactly(self):
        out, _ = self.record("default", options=())
        self.assertEqual(report_json(out)["sites"][0]["retained_bytes"], 300 * 20002)

    def test_killed_program_gives_128_plus_signal_and_a_whole_recording(self):
        out, done = self.record("abort", "abort")
        self.assertEqual(done.returncode, 128 + signal.SIGABRT)
        report = report_json(out)
        self.assertEqual(report["recording"]["ending"], "signal %d" % signal.SIGABRT)
        self.assertEqual(report["sites"][0]["retained_bytes"], 300 * 20002)

    def test_signal_to_the_launcher_reaches_the_program(self):
        out = self.directory / "term"
        launcher = subprocess.Popen([PLATEAU, "run", "--exact", "-o", out, "--", self.program, "hang"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(launcher.stdout.readline(), "output\n")
        # A running program is read like any other.
        self.assertEqual(report_json(out)["sites"][0]["retained_bytes"], 300 * 20002)
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM)
        self.assertEqual(report_json(out)["sites"][0]["retained_bytes"], 300 * 20002)

    def test_missing_program_is_127_and_leaves_nothing_behind(self):
        out = self.directory / "missing"
        done = run("run", "-o", out, "--", "/nonexistent/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("command not found", done.stderr)
        self.assertFalse(out.exists())

    def test_a_missing_script_gives_its_own_error_and_no_card(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("run", "--", "python3", "trian.py", cwd=folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("can't open file", done.stderr)
            self.assertIn("there is no trian.py, so there is nothing to report", done.stderr)
            self.assertNotIn("Recorded", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_script_without_its_interpreter_gets_the_right_line(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "train.py"), "w") as script:
                script.write("print(1)\n")
            done = run("run", "train.py", cwd=folder)
            self.assertEqual(done.returncode, 127)
            self.assertIn("plateau run -- python3 train.py", done.stderr)

    def test_static_program_runs_and_is_said_not_to_be_recorded(self):
        program = self.directory / "static"
        built = subprocess.run(["cc", "-static", "-o", program, self.directory / "keeper.c"], capture_output=True)
        if built.returncode != 0:
            self.skipTest("no static C library")
        done = run("run", "-o", self.directory / "static-rec", "--", program, "5")
        self.assertEqual((done.returncode, done.stdout), (5, "output\n"))
        self.assertIn("statically linked", done.stderr)
        said = run("doctor", program)
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"bad +\S+/static: .*statically linked")

    def test_program_of_another_processor_is_not_taken_for_a_script(self):
        program = self.directory / "foreign"
        foreign = bytearray(self.program.read_bytes())
        foreign[18:20] = (22).to_bytes(2, "little")  # e_machine: S/390
        program.write_bytes(bytes(foreign))
        program.chmod(0o755)
        done = run("run", "-o", self.directory / "foreign-rec", "--", program)
        self.assertEqual(done.returncode, 126)
        self.assertIn("built for another processor", done.stderr)
        self.assertIn("Exec format error", done.stderr)
        self.assertNotIn("not found", done.stderr)
        self.assertRegex(run("doctor", program).stdout, r"bad +\S+/foreign: is built for another processor")
        # A script without a first line of its own is still the shell's.
        script = self.directory / "plain"
        script.write_text("echo from a shell\n")
        script.chmod(0o755)
        self.assertEqual(run("run", "-q", "--no-report", "-o", self.directory / "plain-rec", "--", script).stdout, "from a shell\n")

    def test_doctor_looks_at_the_program_and_its_c_library(self):
        said = run("doctor", self.program, "/usr/bin/python3").stdout
        self.assertRegex(said, r"good +\S+/keeper: can be recorded; glibc 2\.\d+")
        self.assertRegex(said, r"good +/usr/bin/python3: can be recorded; glibc 2\.\d+; .*frames and pymalloc are recorded")
        missing = run("doctor", self.directory / "nowhere")
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stdout, r"bad +\S+/nowhere: not found")

    def test_program_in_secure_mode_runs_and_is_said_not_to_be_recorded(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user")
        program = self.directory / "privileged"
        # owner, group, mode -> what is said of it; None: it is recorded
        cases = {(65534, 65534, 0o4755): "set-user-id", (0, 65534, 0o2755): "set-group-id", (0, 0, 0o6755): None,
                 (65534, 0, 0o2755): None, (0, 65534, 0o4755): None}
        for (owner, group, mode), said in cases.items():
            program.write_bytes(self.program.read_bytes())
            os.chown(program, owner, group)
            program.chmod(mode)
            out = self.directory / "privileged-rec"
            shutil.rmtree(out, ignore_errors=True)
            done = run("run", "-o", out, "--", program, "6")
            self.assertEqual((done.returncode, done.stdout), (6, "output\n"))
            self.assertEqual(out.exists(), said is None, (owner, group, oct(mode), done.stderr))
            if said is not None:
                self.assertIn(said, done.stderr)
                self.assertRegex(run("doctor", program).stdout, r"bad +\S+/privileged: .*" + said)
        # The bits of a script say nothing: Linux ignores them.
        script = self.directory / "script"
        script.write_text("#!%s 6\n" % self.program)
        os.chown(script, 65534, 65534)
        script.chmod(0o6755)
        self.assertIn("can be recorded", run("doctor", script).stdout)

    def test_start_line_says_whether_python_frames_come(self):
        python = self.directory / "python3.99"
        python.write_bytes(self.program.read_bytes())
        python.chmod(0o755)
        done = run("run", "--no-report", "-o", self.directory / "new-python", "--", python, "0")
        self.assertRegex(done.stderr, r"no Python frames \(python3\.99; recorded are those of 3\.8 to 3\.\d+\)")
        done = run("run", "--no-report", "--no-python", "-o", self.directory / "no-python", "--", python, "0")
        self.assertIn("no Python frames (--no-python)", done.stderr)

    def test_packing_loses_nothing(self):
        raw, _ = self.record("raw", options=("--exact", "--no-pack"))
        before = run("report", raw, "--json", "-").stdout
        explained = run("pack", "--explain", raw)
        self.assertEqual(explained.returncode, 0)
        self.assertRegex(explained.stdout, r"malloc.freed +\d+ bytes +[\d.]+ bits a record")
        after = run("report", raw, "--json", "-").stdout
        without_size = [re.sub(r'"trace_bytes": \d+', "", text) for text in (before, after)]
        self.assertGreater(len(before), 1000)
        self.assertEqual(*without_size)

    def test_only_small_traces_are_packed_at_the_end_of_a_run(self):
        program = pathlib.Path(os.environ["PLATEAU_BUILD"]) / "tests/programs/fold_leak"
        small, large = self.directory / "small", self.directory / "large"
        done = run("run", "--exact", "--no-report", "-o", small, "--", program, "1000")
        self.assertNotIn("plateau pack", done.stderr)
        self.assertLess(next(small.glob("*.plt")).stat().st_size, 1 << 20)
        done = run("run", "--exact", "--no-report", "-o", large, "--", program, "30000")
        self.assertIn("`plateau pack` makes it several times smaller", done.stderr)
        self.assertGreater(next(large.glob("*.plt")).stat().st_size, 32 << 20)

    def test_preload_of_the_user_is_kept(self):
        done = run("run", "--no-report", "-q", "-o", self.directory / "env", "--", "sh", "-c", "echo $LD_PRELOAD",
                   env={**os.environ, "LD_PRELOAD": "libm.so.6"})
        self.assertRegex(done.stdout, r"libplateau\.so.*:libm\.so\.6\n$")

    def test_bad_input_has_one_line_and_its_own_code(self):
        text, empty, bare = self.directory / "text.plt", self.directory / "empty.plt", self.directory / "bare"
        text.write_text("this is no trace, but long enough to be looked at\n")
        empty.write_text("")
        bare.mkdir(exist_ok=True)
        newer = bytearray(next(self.record("version")[0].glob("*.plt")).read_bytes())
        newer[8] = 99
        (self.directory / "newer.plt").write_bytes(newer)
        (self.directory / "cut.plt").write_bytes(newer[:8] + b"\x01\x00" + newer[10:300])
        for name, code, words in ((text, 3, "not a Plateau trace"), (empty, 3, "empty file"), (bare, 3, "no traces"),
                                  (self.directory / "none", 3, "no such file"), (self.directory / "cut.plt", 3, "truncated"),
                                  (self.directory / "newer.plt", 4, "newer Plateau")):
            done = run("report", name)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(str(name), done.stderr)
        self.assertEqual(run("report").returncode, 2)
        self.assertEqual(run("reprot", "x").returncode, 2)


if __name__ == "__main__":
    skip_unless()
    unittest.main(verbosity=2)
