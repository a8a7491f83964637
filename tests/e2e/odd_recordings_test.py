"""Reports of recordings that are hardly one: no steps, one step, killed at once, children only, hundreds of processes, code without a
module, and names that are spaces, emoji, broken UTF-8 or markup. Every command must answer, the card must keep its size, and names
must survive in text, JSON and HTML.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import plateau_cli
from plateau_cli import PYTHON, SHIM, compile_c, display_width, failures, plateau

STEPS = r"""
#include <plateau/mark.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  for (int i = atoi(argv[1]); i > 0; --i) {
    volatile char* p = malloc(30001);
    p[0] = 1;
    plateau_step();
  }
}
"""
# Allocates from machine code in an anonymous map: a frame that belongs to no module.
NO_MODULE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  /* push %rbx; mov %rdi,%rbx; mov $40001,%edi; call *%rbx; pop %rbx; ret */
  static const unsigned char code[] = {0x53, 0x48, 0x89, 0xfb, 0xbf, 0x41, 0x9c, 0x00, 0x00, 0xff, 0xd3, 0x5b, 0xc3};
  void* page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof(code));
  for (int i = 0; i < 50; ++i) ((void* (*)(void*))page)((void*)malloc);
}
"""
KEEPS = "import os\nkept = []\ndef {function}():\n    for i in range(100):\n        kept.append(bytearray(50001))\n{function}()\nos._exit(0)\n"


def record(folder, name, *command):
    plateau_cli.record(folder / name, *command)
    return folder / name


def report(recording, folder):
    """All outputs of a recording, with the promises that hold for any."""
    card = plateau("report", recording, "--card").decode()
    lines = card.splitlines()
    assert 1 < len(lines) <= 25, card
    assert max(map(display_width, lines)) <= 80, card
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", card), "control characters in the card"
    data = json.loads(plateau("report", recording, "--json", "-"))
    sum_of_parts = sum(s["retained_bytes"] for s in data["sites"]) + sum(r["retained_bytes"] for r in data["totals"]["leftovers"])
    assert sum_of_parts == data["totals"]["retained_bytes"], (sum_of_parts, data["totals"])
    plateau("report", recording, "--html", folder / "page.html", "--tree")
    plateau("sites", recording)
    plateau("export", recording, "-f", "sqlite", "-o", folder / "run.sqlite")
    plateau("bundle", recording, "--anonymize", "-o", folder / "bundle.tar.zst")
    page = (folder / "page.html").read_bytes()
    assert len(page) < 8 << 20
    return card, data, page.decode()


def check_no_step_and_one_step(folder):
    for steps in (0, 1, 2):
        _, data, _ = report(record(folder, f"steps{steps}", str(folder / "steps"), str(steps)), folder)
        assert data["verdict"] in ("inconclusive", "steady"), (steps, data["verdict"])
        if steps:
            assert data["steps"]["count"] == steps, data["steps"]


def check_killed_at_once(folder):
    recording = folder / "killed"
    child = subprocess.Popen(["sleep", "60"], env=dict(os.environ, LD_PRELOAD=SHIM, PLATEAU_OUT=str(recording), PLATEAU_QUIET="1"))
    while not any(path.read_bytes()[:8].strip(b"\0") for path in recording.glob("*.plt")):  # there is a header
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    report(recording, folder)


def check_only_children(folder):
    """The traces of the children alone, as when the parent's was lost."""
    recording = record(folder, "children", "sh", "-c", f"{folder}/steps 40; {folder}/steps 50; true")
    traces = [path for path in recording.glob("*.plt") if path.name.startswith("steps")]
    assert len(traces) == 2, list(recording.iterdir())
    for path in recording.glob("*.plt"):
        if path not in traces:
            path.unlink()
    _, data, _ = report(recording, folder)
    assert len(data["processes"]) == 2, data["processes"]


def check_three_hundred_processes(folder):
    recording = record(folder, "many", "sh", "-c", f"i=0; while [ $i -lt 300 ]; do {folder}/steps 2; i=$((i+1)); done")
    _, data, page = report(recording, folder)
    assert len(data["processes"]) >= 300, len(data["processes"])


def check_code_without_a_module(folder):
    _, data, _ = report(record(folder, "no_module.rec", str(folder / "no_module")), folder)
    total = sum(s["retained_bytes"] for s in data["sites"] if s["retained_bytes"] >= 40001)
    assert total >= 50 * 40001, [s["site"] for s in data["sites"][:5]]


def check_names(folder):
    names = {"two words.py": "two words.py", "fire\U0001f525.py": "fire\U0001f525.py", "quote'\"&.py": "quote'\"&.py",
             os.fsdecode(b"bad\xff\xfe.py"): "bad\ufffd\ufffd.py", "<script>alert(1)<.py": "<script>alert(1)<.py"}
    for number, (name, shown) in enumerate(names.items()):
        path = os.path.join(folder, name)
        function = "gr\u00f6\u00dfe" if number % 2 else "keep"
        with open(path, "w") as out:
            out.write(KEEPS.format(function=function))
        card, data, page = report(record(folder, f"names{number}", PYTHON, path), folder)
        site = data["sites"][0]
        assert site["file"].endswith(shown), (site["file"], shown)
        assert (site["line"], site["function"], site["source_line"].strip()) == (5, function, "kept.append(bytearray(50001))"), site
        assert shown in card and f"{function}" in card, card
        assert "<script>alert" not in page, "markup got into the page"
        embedded = json.loads(re.search(r'<script[^>]*id="plateau-data"[^>]*>(.*?)</script>', page, re.S).group(1))
        assert any(shown in str(value) for site in embedded["sites"] for value in site.values()), shown


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-odd-") as place:
        folder = pathlib.Path(place)
        for name, source in {"steps": STEPS, "no_module": NO_MODULE}.items():
            compile_c(folder, name, source)
        return failures((check_no_step_and_one_step, check_killed_at_once, check_only_children, check_three_hundred_processes,
                         check_code_without_a_module, check_names), folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
