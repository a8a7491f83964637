"""`plateau watch` on programs that are really running, in a terminal: new frames, another window size, the quit key, the end of the
program, its violent end, and output that is no terminal.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from plateau_cli import PLATEAU, compile_c, failures

PATIENCE = 60  # seconds; a loaded machine is slow

PROGRAM = r"""
#include <plateau/mark.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* kept[1000000];
int main(int argc, char** argv) {
  for (int i = 0; access(argv[1], F_OK) != 0; ++i) {
    kept[i] = malloc(20001);
    memset(kept[i], 1, 20001);
    plateau_step();
    usleep(10000);
  }
}
"""


class Program:
    """A recorded program that keeps 20001 bytes a step until it is told to stop, at the end of its `with` at the latest."""

    def __init__(self, folder, name):
        self.recording, self.stop_file = folder / name, folder / f"{name}.stop"
        self.launcher = subprocess.Popen([PLATEAU, "run", "-q", "--no-report", "-o", str(self.recording), "--", str(folder / "program"),
                                          str(self.stop_file)])
        until("a trace", lambda: list(self.recording.glob("*.plt")))
        time.sleep(0.5)  # a few steps; nothing below relies on how many

    def pid(self):
        return int(next(self.recording.glob("*.plt")).name.split(".")[-3])

    def stop(self):
        self.stop_file.touch()
        self.launcher.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Watch:
    """`plateau watch` in a terminal of its own."""

    def __init__(self, program, rows=40, columns=100):
        self.text = ""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            time.sleep(0.2)  # until the size is set
            os.execv(PLATEAU, [PLATEAU, "watch", str(program.recording), "--interval", "0.2"])
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.2):
        end = time.monotonic() + seconds
        while select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
            try:
                self.text += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:  # the other side is closed
                return

    def frames(self):
        """Whole screens, oldest first, without colours and cursor movements."""
        parts = self.text.split("\x1b[?7l\x1b[H")[1:]
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part).replace("\r", "") for part in parts if part.rstrip("\n").endswith("\x1b[J") or "\x1b[J" in part]

    def steps(self):
        return [int(n.replace(",", "")) for frame in self.frames() for n in re.findall(r"([\d,]+) steps", frame.split("\n")[0])]

    def exit_code(self):
        self.status = None

        def ended():
            self.read(0.1)
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            return pid != 0
        until("the end of watch", ended)
        return self.status


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.05)


def check_frames_sizes_and_quit_key(folder):
    with Program(folder, "live") as program:
        watch = Watch(program)
        until("growing steps", lambda: watch.read() or len(set(watch.steps())) >= 3)
        assert watch.steps() == sorted(watch.steps()), watch.steps()
        assert "q ends the view" in watch.frames()[-1]
        seen = len(watch.frames())
        assert "  running  " in watch.frames()[-1], watch.frames()[-1]
        watch.resize(12, 60)
        until("frames of the new size", lambda: watch.read() or len(watch.frames()) >= seen + 2)
        last = watch.frames()[-1]
        assert len(last.split("\n")) <= 12, last
        assert "q ends the view" in last, last
        os.write(watch.terminal, b"x")  # no key of ours
        watch.read(0.5)
        os.write(watch.terminal, b"q")
        assert watch.exit_code() == 0
        assert watch.text.rstrip().endswith("\x1b[?1049l\x1b[?25h"), repr(watch.text[-40:])  # the cursor is back
        assert program.launcher.poll() is None, "the view ended the program"


def check_terminal_is_put_back_after_a_signal(folder):
    with Program(folder, "signalled") as program:
        watch = Watch(program)
        until("a frame", lambda: watch.read() or watch.frames())
        flags = termios.tcgetattr(watch.terminal)[3]
        assert not flags & termios.ECHO and not flags & termios.ICANON
        os.kill(watch.child, signal.SIGTERM)
        until("the terminal's settings", lambda: watch.read() or termios.tcgetattr(watch.terminal)[3] & termios.ECHO)
        assert watch.exit_code() == 0


def check_ends_with_the_program(folder):
    with Program(folder, "ending") as program:
        watch = Watch(program)
        until("a frame", lambda: watch.read() or watch.frames())
        program.stop()
        assert watch.exit_code() == 0
        assert "the run has ended" in watch.text[watch.text.rindex("\x1b[?1049l"):], watch.text[-2000:]


def check_ends_with_a_killed_program(folder):
    with Program(folder, "killed") as program:
        watch = Watch(program)
        until("a frame", lambda: watch.read() or watch.frames())
        os.kill(program.pid(), signal.SIGKILL)
        program.launcher.wait(PATIENCE)
        assert watch.exit_code() == 0
        assert "the run has ended" in watch.text[watch.text.rindex("\x1b[?1049l"):], watch.text[-2000:]


def check_without_a_terminal(folder):
    with Program(folder, "piped") as program:
        watch = subprocess.Popen([PLATEAU, "watch", str(program.recording), "--interval", "0.2"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        time.sleep(1)
        program.stop()
        text = watch.communicate(timeout=PATIENCE)[0].decode()
        assert watch.returncode == 0 and "\x1b" not in text and "Made at" in text, text[:500]
        missing = subprocess.run([PLATEAU, "watch", str(folder / "nothing")], capture_output=True)
        assert missing.returncode == 3 and b"\x1b" not in missing.stdout, missing


def check_in_tmux(folder):
    """As people see it: a narrow pane, keys, nothing wider than the pane, and the shell's screen back behind it."""
    if not shutil.which("tmux"):
        return "skipped: no tmux"
    socket = str(folder / "tmux")

    def tmux(*words):
        return subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *words], capture_output=True, text=True, check=True).stdout

    def screen():
        return tmux("capture-pane", "-p", "-t", "view")

    with Program(folder, "paned") as program:
        tmux("new-session", "-d", "-s", "view", "-x", "64", "-y", "18", "sh")
        try:
            tmux("send-keys", "-t", "view", f"TERM=screen {PLATEAU} watch {program.recording} --interval 0.3", "Enter")
            until("a running view", lambda: "  running  " in screen() and "site, by growth" in screen())
            shown = screen()
            assert all(len(line) <= 64 for line in shown.splitlines()) and "\ufffd" not in shown, shown
            assert "live  " in shown and "RSS   " in shown and "q ends the view" in shown, shown
            tmux("send-keys", "-t", "view", "s")
            until("another order", lambda: "site, by retained" in screen())
            tmux("send-keys", "-t", "view", "Down", "Up", "Enter")
            until("the details of a site", lambda: "retained " in screen() and "site, by" not in screen())
            tmux("send-keys", "-t", "view", "Enter")
            until("the table again", lambda: "site, by retained" in screen())
            tmux("send-keys", "-t", "view", "p")
            until("the pause", lambda: "  paused  " in screen())
            tmux("resize-window", "-t", "view", "-x", "38", "-y", "12")
            until("the narrow view", lambda: "  paused " in screen() and all(len(line) <= 38 for line in screen().splitlines()))
            assert "MiB" in screen() or "KiB" in screen(), screen()
            tmux("send-keys", "-t", "view", "q")
            until("the shell's own screen", lambda: "paused" not in screen())
        finally:
            tmux("kill-server")
    return "ok"


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-watch-") as name:
        folder = pathlib.Path(name)
        compile_c(folder, "program", PROGRAM)
        return failures((check_frames_sizes_and_quit_key, check_terminal_is_put_back_after_a_signal, check_ends_with_the_program,
                         check_ends_with_a_killed_program, check_without_a_terminal, check_in_tmux), folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
