"""`plateau attach` and `plateau detach` as a user runs them: programs of C++ and Python, other users and namespaces, what is refused and how, an
injector that is killed, and a program that does not allocate."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from plateau_cli import BUILD, PLATEAU, PYTHON, report_json

TARGET = BUILD / "tests/programs/attach_target"
NOBODY = 65534
LEAK = """
import os, sys, time
kept = []
print(os.getpid(), flush=True)
end = time.time() + 120
def work():
    kept.append(bytearray(50005))  # THE LINE
while time.time() < end:
    work()
    time.sleep(0.002)
"""
LEAK_LINE = 7
FAMILY = """
import os, time
child = os.fork()
kept = []
print(os.getpid(), flush=True)
end = time.time() + 120
while time.time() < end:
    kept.append(bytearray(30003 if child else 40004))
    time.sleep(0.01)
"""


def plateau(*arguments, code=0, user=None):
    """What it said, on both streams."""
    done = subprocess.run([PLATEAU, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          user=user, extra_groups=[] if user else None)
    assert done.returncode == code, f"plateau {' '.join(map(str, arguments))}: exit {done.returncode}, expected {code}\n{done.stdout}"
    return done.stdout


class Program:
    """A program that is ended whatever happens, and must then have ended as told and not before."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **options)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        assert alive or self.process.returncode == 0, f"the program ended with {self.process.returncode}"

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0, "the program saw blocks or errno change"


def target(**options):
    program = Program(TARGET, **options)
    assert program.process.stdout.readline().startswith("pid ")
    return program


def python(text, **options):
    program = Program(PYTHON, "-c", text, **options)
    program.process.stdout.readline()
    return program


def kept(recording):
    return {site["function"]: site["retained_count"] for site in report_json(recording)["sites"]}


def check_there_and_back(folder):
    with target() as program:
        program.say("keep 50 20002")
        program.say("threads 3")
        for round, options in enumerate(([], ["--no-stop"], ["--memory-file"])):
            recording = folder / f"cpp{round}"
            said = plateau("attach", program.pid, "--exact", "-o", recording, *options)
            assert "attached to attach_target" in said and "were resident before" in said, said
            assert ("stood still" in said) == (options != ["--no-stop"]), said
            plateau("attach", program.pid, "-o", folder / "again", code=3)  # it is recorded already
            program.say("keep 100 30003")
            program.say("drop 20")
            program.say("mark")
            assert "detached" in plateau("detach", program.pid)
            found = kept(recording)
            assert found["Keep"] == 80, found
            plateau("detach", program.pid, code=3)
        program.say("quiet")
        program.end()


def check_python(folder):
    with python(LEAK) as program:
        recording = folder / "python"
        plateau("attach", program.pid, "-o", recording)
        time.sleep(2)
        assert "kept" in plateau("holders", recording), "nobody was found who holds what stays"
        plateau("detach", program.pid)
        top = report_json(recording)["sites"][0]
        assert (top["line"], top["function"]) == (LEAK_LINE, "work"), top
        assert top["retained_count"] >= 50, top
        assert "card" not in plateau("watch", "--pid", program.pid, "--once")
        assert "can be attached to" in plateau("doctor", "--pid", program.pid)


def check_removed_recording(folder):
    """Somebody removes the recording: one can detach all the same, and attach again."""
    with target() as program:
        program.say("threads 1")
        for round in range(2):
            plateau("attach", program.pid, "-o", folder / "removed")
            shutil.rmtree(folder / "removed")
            assert "recorded already" in plateau("attach", program.pid, "-o", folder / "other", code=3)
            assert "detached" in plateau("detach", program.pid)
        program.say("quiet")
        program.end()


def check_files_that_cannot_be_mapped(folder):
    """Where the trace cannot be shared with the process nobody could end the recording."""
    with Program(BUILD / "tests/programs/deny_shared_mmap", TARGET) as program:
        assert program.process.stdout.readline().startswith("pid ")
        program.say("threads 1")
        assert "does not map files" in plateau("attach", program.pid, "-o", folder / "unmapped", code=3)
        program.say("quiet")
        program.end()


def check_end_by_itself(folder):
    with target() as program:
        program.say("threads 1")
        plateau("attach", program.pid, "--for", "0.3s", "-o", folder / "for")
        for _ in range(600):  # the header says so: attach_state of docs/trace-format.md
            (trace,) = (folder / "for").glob("*.plt")
            if trace.read_bytes()[360] == 3:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("it did not end by itself")
        program.say("quiet")
        program.end()


def check_steps(folder):
    with target() as program:
        plateau_attach = subprocess.Popen([PLATEAU, "attach", str(program.pid), "--steps", "5", "-o", folder / "steps"], stderr=subprocess.PIPE, text=True)
        while plateau_attach.poll() is None:
            program.say("churn 1")
        assert plateau_attach.returncode == 0, plateau_attach.stderr.read()
        for _ in range(400):
            program.say("mark")
            program.say("churn 2")
            time.sleep(0.01)
            if "nothing to detach" in subprocess.run([PLATEAU, "detach", "--wait", "0.01s", str(program.pid)], capture_output=True, text=True).stderr:
                break
        assert 1 <= report_json(folder / "steps")["steps"]["count"], "no step was recorded"
        program.end()


def check_children(folder):
    with python(FAMILY) as program:
        said = plateau("attach", program.pid, "--children", "-o", folder / "family")
        assert said.count("attached to") == 2, said
        time.sleep(3)
        assert plateau("detach", program.pid, "--children").count("detached") == 2
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        processes = {int(process["pid"]): process["retained_bytes"] for process in report_json(folder / "family")["processes"]}
        assert set(processes) == {program.pid, *map(int, children)} and min(processes.values()) > 1_000_000, processes


def check_children_of_one_that_waits(folder):
    """A child that is made while nobody has come to open the library does not open it: nobody waits for the child."""
    with Program(BUILD / "tests/programs/only_forks") as program:
        assert program.process.stdout.readline().startswith("pid ")
        said = plateau("attach", program.pid, "--wait", "1s", "-o", folder / "forks", code=5)
        assert "no thread allocated" in said, said
        assert not (folder / "forks").exists(), "a child made a recording"
        program.end()


def check_lock_of_torch(folder):
    """A program whose only allocations are made under the lock of torch's callbacks: neither attach nor detach takes that lock there."""
    driver, library = BUILD / "tests/fake_torch_driver", BUILD / "tests/fake_torch/GOOD/libtorch_cpu.so"
    for round in range(2):
        with Program(driver, library, "run") as program:
            assert program.process.stdout.readline().startswith("pid ")
            for again in range(2):
                recording = folder / f"torch{round}{again}"
                plateau("attach", program.pid, "--exact", "-o", recording)
                time.sleep(1.5)
                plateau("detach", program.pid)
                assert "ranges armed" in report_json(recording)["recording"]["levels"]["torch"]
            time.sleep(0.2)
            assert program.say("end") == "0 callbacks"


def check_other_allocators(folder):
    """The operators of jemalloc and tcmalloc do not come by malloc: they are a moment to begin at, and are seen."""
    for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        path = pathlib.Path("/usr/lib/x86_64-linux-gnu") / library
        if not path.exists():
            continue
        with target(env={**os.environ, "LD_PRELOAD": str(path)}) as program:

            def meanwhile(*arguments):
                running = subprocess.Popen([PLATEAU, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
                while running.poll() is None:
                    program.say("new 1 40")
                assert running.returncode == 0, running.stderr.read()

            recording = folder / library
            meanwhile("attach", program.pid, "--exact", "-o", recording)
            program.say("new 50 30003")
            meanwhile("detach", program.pid)
            assert [site["retained_bytes"] for site in report_json(recording)["sites"] if site["function"] == "KeepNew"][0] >= 50 * 30003
            program.end()


def check_refusals(folder):
    assert "no such process" in plateau("attach", 4194304 - 3, code=3)
    with Program("sleep", "60") as sleeper:
        time.sleep(0.2)
        said = plateau("attach", sleeper.pid, "--wait", "0.5s", "-o", folder / "idle", code=5)
        assert "no thread allocated" in said and "it had 0.00 s of processor time" in said and "nothing was changed" in said, said
        assert not (folder / "idle").exists()
        os.kill(sleeper.pid, signal.SIGSTOP)
        while " T " not in pathlib.Path(f"/proc/{sleeper.pid}/stat").read_text():
            time.sleep(0.01)
        assert "it is stopped" in plateau("attach", sleeper.pid, code=3)
        assert "it is stopped" in plateau("doctor", "--pid", sleeper.pid, code=1)
        os.kill(sleeper.pid, signal.SIGCONT)
    with Program("strace" if shutil.which("strace") else "cat", *(["-f", "-o", "/dev/null", "sleep", "60"] if shutil.which("strace") else [])) as tracer:
        children = []
        for _ in range(100):
            # Its first children only try things out.
            children = [child for child in pathlib.Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()
                        if subprocess.run(["cat", f"/proc/{child}/comm"], capture_output=True, text=True).stdout == "sleep\n"]
            if children or not shutil.which("strace"):
                break
            time.sleep(0.05)
        if children:
            assert "traces it" in plateau("attach", children[0], code=3)
    (folder / "static.c").write_text("#include <unistd.h>\nint main(void) { pause(); }\n")
    if subprocess.run(["cc", "-static", folder / "static.c", "-o", folder / "static"], stderr=subprocess.DEVNULL).returncode == 0:
        with Program(folder / "static") as program:
            assert "static" in plateau("attach", program.pid, code=3)
    if os.geteuid() != 0:
        return
    with target() as program:
        if os.access(PLATEAU, os.X_OK) and may_run_as_nobody():
            said = plateau("attach", program.pid, code=3, user=NOBODY)
            assert "another user" in said, said
            assert "another user" in plateau("doctor", "--pid", program.pid, code=1, user=NOBODY)
        program.end()


def may_run_as_nobody():
    """The build folder may lie where others cannot look."""
    try:
        return subprocess.run([PLATEAU, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=NOBODY, extra_groups=[]).returncode == 0
    except (PermissionError, FileNotFoundError):
        return False


def check_same_user(folder):
    """Nobody attaches to nobody's program; root attaches to it too, and the recording belongs to nobody."""
    if os.geteuid() != 0 or not may_run_as_nobody():
        return
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    for who in (NOBODY, None):
        with Program(TARGET, user=NOBODY, extra_groups=[]) as program:
            program.process.stdout.readline()
            program.say("threads 1")
            recording = home / f"by_{who}"
            plateau("attach", program.pid, "--exact", "-o", recording, user=who)
            program.say("keep 40 30003")
            program.say("mark")
            plateau("detach", program.pid, user=who)
            assert kept(recording)["Keep"] == 40
            assert {path.stat().st_uid for path in recording.glob("*.plt")} == {NOBODY}
            program.say("quiet")
            program.end()


def check_container(folder):
    """Other mount, pid and user namespaces, where the library's path leads nowhere."""
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return
    inside = folder / "inside"
    inside.mkdir()
    script = f"mount -t proc proc /proc && mount -t tmpfs none {BUILD}/lib && exec {TARGET}"
    with Program(*unshare, "sh", "-c", script) as program:
        assert program.process.stdout.readline() == "pid 1\n"
        (child,) = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        program.say("threads 1")
        said = plateau("doctor", "--pid", child)
        assert "another root" in said and "pid namespace" in said and "memory file" in said, said
        plateau("attach", child, "--exact", "-o", inside / "rec")
        program.say("keep 30 30003")
        program.say("mark")
        plateau("detach", child)
        assert kept(inside / "rec")["Keep"] == 30
        program.say("quiet")
        program.end()


def check_killed_injector(folder):
    """Killed at any moment it leaves a program that goes on, and can be attached to afterwards."""
    random.seed(7)
    with target() as program:
        program.say("threads 3")
        for i in range(12):
            attaching = subprocess.Popen([PLATEAU, "attach", str(program.pid), "-o", folder / f"killed{i}"], stderr=subprocess.DEVNULL)
            time.sleep(random.random() * 0.06)
            attaching.kill()
            attaching.wait()
            assert "done" in program.say("churn 20")
        # Whatever is in it now is a recording, or nothing.
        for _ in range(100):
            subprocess.run([PLATEAU, "detach", str(program.pid)], stderr=subprocess.DEVNULL)
            if subprocess.run([PLATEAU, "attach", str(program.pid), "-o", folder / "after"], stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("it cannot be attached to any more")
        program.say("keep 10 30003")
        plateau("detach", program.pid)
        program.say("quiet")
        program.end()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        with target() as program:
            if "cannot be attached" in plateau("doctor", "--pid", program.pid, code=0 if os.geteuid() == 0 else 1):
                sys.exit(77)
            program.end()
        for check in (check_there_and_back, check_python, check_removed_recording, check_files_that_cannot_be_mapped,
                      check_end_by_itself, check_steps, check_children, check_children_of_one_that_waits, check_lock_of_torch, check_other_allocators,
                      check_refusals, check_same_user, check_container,
                      check_killed_injector):
            begin = time.time()
            check(folder)
            print(f"{check.__name__}: {time.time() - begin:.1f} s", flush=True)


main()
