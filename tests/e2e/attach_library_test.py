"""libplateau_attach.so in a program that opens it itself, as the injector's blob does: what is recorded is what is born from then on, whole and
exact; it goes without a trace and can come again; and libplateau.so opened that way records nothing and says why."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from plateau_cli import BUILD, SHIM, report_json

TARGET = BUILD / "tests/programs/attach_target"
LIBRARY = BUILD / "lib/libplateau_attach.so"
KEEPER = BUILD / "tests/programs/keeper.so"
STATE_OFFSET, WANTED, DETACHED = 360, 2, 3  # attach_state of docs/trace-format.md


class Target:
    """attach_target with its standard input and output."""

    def __init__(self, **options):
        self.process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **options)
        assert self.process.stdout.readline() == f"pid {self.process.pid}\n"

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def attach(self, recording, mode):
        """Tried again while a thread is still inside the last recording."""
        for _ in range(100):
            answer = self.say(f"attach {LIBRARY} PLATEAU_OUT={recording} PLATEAU_MODE={mode} PLATEAU_QUIET=1")
            words = answer.split()
            if words[1] != "3":
                return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}
            time.sleep(0.1)
        raise AssertionError(answer)

    def trace(self, recording):
        (trace,) = pathlib.Path(recording).glob(f"attach_target.{self.process.pid}.*.plt")
        return trace

    def detach(self, recording):
        trace = self.trace(recording)
        with open(trace, "r+b") as file:
            file.seek(STATE_OFFSET)
            file.write(struct.pack("<I", WANTED))
        for _ in range(3000):
            self.say("churn 50")
            with open(trace, "rb") as file:
                file.seek(STATE_OFFSET)
                if struct.unpack("<I", file.read(4))[0] == DETACHED:
                    return
            time.sleep(0.01)
        raise AssertionError("the process did not detach")

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0, "the program saw blocks or errno change"


def sites(recording):
    return {site["function"]: (site["retained_bytes"], site["retained_count"]) for site in report_json(recording)["sites"]}


def check_mode(folder, mode):
    target = Target()
    target.say("keep 50 20002")  # before: not ours
    target.say("threads 2")
    for round in range(2):
        recording = folder / f"{mode}{round}"
        answer = target.attach(recording, mode)
        assert (answer["result"], answer["left_out"], answer["program"], answer["errno"]) == (0, 0, 1, 77), answer
        assert answer["words"] >= 20, answer
        target.say("keep 100 30003")
        target.say("drop 20")
        target.say(f"open {KEEPER}")
        for _ in range(200):  # the look at new modules comes with one of the next events
            time.sleep(0.01)
            target.say("churn 20")
        target.say("call keep")
        child = int(target.say("fork").split()[1])
        target.say("mark")
        target.detach(recording)
        found = sites(recording)
        assert found["Keep"] == (80 * 30003 + 10 * 30003, 90), found  # the child's too
        assert found["keep"] == (10 * 40004, 10), found
        report = report_json(recording)
        assert report["drops"]["events"] == 0, report["drops"]
        assert {process["pid"] for process in report["processes"]} == {target.process.pid, child}
        assert report["steps"]["count"] == 1, report["steps"]
        after = target.trace(recording).stat().st_size
        target.say("keep 10 50005")
        target.say("churn 100")
        assert target.trace(recording).stat().st_size == after, "it still writes"
    target.say("quiet")
    target.end()


def words_into_library(pid):
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in maps]
    library = [span for span, line in zip(ranges, maps) if line.endswith("libplateau_attach.so")]
    low, high = library[0][0], library[-1][1]
    count = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for (begin, end), line in zip(ranges, maps):
            if not line.split()[-1].startswith("/") or "libplateau_attach" in line or ".plt" in line or " r" not in line or "x" in line.split()[1]:
                continue
            memory.seek(begin)
            for (value,) in struct.iter_unpack("<Q", memory.read(end - begin)):
                count += low <= value < high
    return count


def expect_no_words(target, words):
    # What the C library itself keeps: the fork handler, the destructor of a thread's key, the entry in the loader's lists.
    left = words_into_library(target.process.pid)
    assert left < words / 2, f"{left} words lead into the library after the detach, {words} did before"


def check_no_word_is_left(folder):
    """After a detach the process's own words hold what they held: nothing of the library is called any more."""
    target = Target()
    target.say("churn 10")  # binds the program's words
    recording = folder / "words"
    words = target.attach(recording, "default")["words"]
    assert words_into_library(target.process.pid) >= words
    target.detach(recording)
    expect_no_words(target, words)
    target.end()


def check_look_and_detach(folder):
    """A thread that looks at a new module while another detaches leaves no hook behind, and one can attach again."""
    target = Target()
    target.say("threads 3")
    recording = folder / "look"
    words = target.attach(recording, "exact")["words"]
    target.say("slow 100")  # a look takes some three seconds then
    target.say(f"open {KEEPER}")
    time.sleep(2)  # a tick comes once a second
    target.say("mark")  # a tick of this thread
    target.detach(recording)
    time.sleep(4)
    expect_no_words(target, words)
    target.say("slow 0")
    assert target.attach(folder / "again", "exact")["words"] >= words
    target.detach(folder / "again")
    target.say("quiet")
    target.end()


def check_plain_open(folder):
    program = [sys.executable, "-c", f"import ctypes, os; ctypes.CDLL({str(SHIM)!r}); os.write(1, b'on\\n')"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "on\n"), done
    assert "opened while the program ran" in done.stderr and "plateau attach" in done.stderr, done.stderr
    assert not (folder / "plateau-out").exists(), "it made a recording"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_plain_open(folder)
        check_mode(folder, "exact")
        check_mode(folder, "default")
        check_no_word_is_left(folder)
        check_look_and_detach(folder)


main()
