"""`cmake --install`: every part is there, and the tree works after it was moved."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import plateau_cli
from plateau_cli import BUILD, PYTHON, failures

PARTS = ["bin/plateau", "lib/libplateau.so", "lib/libplateau_attach.so", "include/plateau/mark.h", "lib/plateau/python/plateau_trace/mark.py",
         "lib/plateau/python/plateau_trace/pytest_plugin.py", "lib/plateau/python/plateau_trace/trainer_callback.py",
         "lib/plateau/python/plateau_site/sitecustomize.py", "share/man/man1/plateau.1",
         "share/bash-completion/completions/plateau", "share/zsh/site-functions/_plateau", "share/doc/plateau/LICENSE"]

PROGRAM = r"""
#include <plateau/mark.h>
#include <stdlib.h>
#include <string.h>
void* kept[200];
int main(void) {
  for (int i = 0; i < 200; ++i) {
    kept[i] = malloc(70001);
    memset(kept[i], 1, 70001);
    plateau_step();
  }
}
"""
LEAKS = """
import pytest
kept = []

@pytest.mark.plateau_no_leak
def test_leak():
    kept.append(bytearray(20000))

@pytest.mark.plateau_no_leak
def test_clean():
    len(bytearray(20000))
"""


def run(*command, env=None, **options):
    """Where nothing says where the build is."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PLATEAU_BIN", "PLATEAU_BUILD")}
    return plateau_cli.run(*command, env={**environment, **(env or {})}, text=True, **options)


def check_parts(prefix, _folder):
    for part in PARTS + (["lib/libplateau_cuda.so"] if (BUILD / "lib/libplateau_cuda.so").exists() else []):
        assert (prefix / part).is_file() and not (prefix / part).is_symlink(), f"{part} is missing or a link"
    needed = run("readelf", "-d", str(prefix / "bin/plateau"))
    assert "RUNPATH" not in needed and "RPATH" not in needed, "the program looks for libraries in a build folder"


def check_recording(prefix, folder):
    """A program against the installed header, recorded and read by the installed program."""
    source = folder / "train.c"
    source.write_text(PROGRAM)
    run("cc", "-g", f"-I{prefix}/include", str(source), "-o", str(folder / "train"))
    run(str(folder / "train"))  # without the recorder
    run(str(prefix / "bin/plateau"), "run", "-o", str(folder / "rec"), "--", str(folder / "train"))
    report = json.loads(run(str(prefix / "bin/plateau"), "report", str(folder / "rec"), "--json", "-"))
    assert report["steps"]["count"] == 200, report["steps"]
    top = report["sites"][0]
    assert (top["function"], top["retained_bytes"]) == ("main", 200 * 70001), top
    run(str(prefix / "bin/plateau"), "report", str(folder / "rec"), "--html", str(folder / "page.html"))
    assert "<script" in (folder / "page.html").read_text()


def check_man_and_completion(prefix, folder):
    page = run("groff", "-man", "-Tutf8", "-ww", str(prefix / "share/man/man1/plateau.1"))
    assert "warning:" not in page and "plateau" in page.lower(), page[:500]
    script = f". '{prefix}/share/bash-completion/completions/plateau'; COMP_WORDS=(plateau rep); COMP_CWORD=1; _plateau; echo ${{COMPREPLY[*]}}"
    assert run("bash", "-c", script).split() == ["report"]
    assert (prefix / "share/zsh/site-functions/_plateau").read_text().startswith("#compdef plateau")


def check_python(prefix, folder):
    """The installed plug-in finds the program beside itself: nothing on PATH, no PLATEAU_BIN."""
    environment = {"PYTHONPATH": str(prefix / "lib/plateau/python"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    where = run(PYTHON, "-c", "import plateau_trace.mark as m; m.step(); print(m.__file__)", env=environment)
    assert where.startswith(str(prefix)), where
    if subprocess.run([PYTHON, "-c", "import pytest"], stderr=subprocess.DEVNULL).returncode:
        return
    (folder / "test_leaks.py").write_text(LEAKS)
    text = run(PYTHON, "-m", "pytest", "-v", "-p", "plateau_trace.pytest_plugin", "-p", "no:cacheprovider", str(folder / "test_leaks.py"),
               env=environment, code=1)
    assert "test_leak FAILED" in text and "test_clean PASSED" in text and "unmeasured" not in text, text


def main():
    with tempfile.TemporaryDirectory(prefix="plateau-install-") as name:
        folder = pathlib.Path(name)
        run("cmake", "--install", BUILD, "--prefix", folder / "first place")
        prefix = folder / "moved here"
        os.rename(folder / "first place", prefix)
        return failures((check_parts, check_recording, check_man_and_completion, check_python), prefix, folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
