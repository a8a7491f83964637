"""A bundle of real recordings, opened where the traced program is gone; and one without names.

A C program with a library of its own and a Python script are recorded, bundled, and removed with their sources, binaries and
recordings. The bundle must still name functions, files and lines, in text, JSON and HTML. With --anonymize no byte of it,
unpacked, may hold a path, a function, a user or a host.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from plateau_cli import PLATEAU, PYTHON, failures, run

LIBRARY = """
#include <stdlib.h>
#include <string.h>
void* zebra_buffer_make(size_t bytes) { void* p = malloc(bytes); memset(p, 1, bytes); return p; }
"""
PROGRAM = """
#include <stddef.h>
void* zebra_buffer_make(size_t bytes);
static void* kept[400];
__attribute__((noinline)) static void giraffe_train_step(int i) { kept[i] = zebra_buffer_make(50001); /* walrus source */ }
int main(void) { for (int i = 0; i < 400; ++i) giraffe_train_step(i); }
"""
SCRIPT = """
import os, threading
kept = []

def okapi_load_sample(i):
    kept.append(bytearray(60001))  # walrus source
def okapi_main():
    for i in range(300):
        okapi_load_sample(i)
worker = threading.Thread(target=okapi_main, name="ibex-worker")
worker.start()
worker.join()
os._exit(0)  # what an ordinary end frees would not be retained
"""
# Every name that a person chose: folders, files, functions, threads, arguments, source text, the home and its owner.
HOST = "quokka-host"
SECRETS = ["lynx-project", "lynx.customer", "zebra", "giraffe", "okapi", "ibex-worker", "walrus", "marmot-token", "capybara"]


def on_another_host():
    """A prefix that gives a command a host name of our choice, where the system lets us."""
    prefix = ["unshare", "--uts", "sh", "-c", f'hostname {HOST} && exec "$@"', "sh"]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else []


def record(folder):
    """Two recordings: a C program with its library, a Python script. Nothing of them is left but the bundles."""
    home = folder / "home" / "capybara"
    work = home / "lynx-project" / "lynx.customer"
    work.mkdir(parents=True)
    (work / "zebra.c").write_text(LIBRARY)
    (work / "giraffe.c").write_text(PROGRAM)
    (work / "okapi.py").write_text(SCRIPT)
    run("cc", "-g", "-O1", "-shared", "-fPIC", work / "zebra.c", "-o", work / "libzebra.so")
    run("cc", "-g", "-O1", work / "giraffe.c", f"-L{work}", "-lzebra", f"-Wl,-rpath,{work}", "-o", work / "giraffe")
    user = {**os.environ, "HOME": str(home), "USER": "capybara", "LOGNAME": "capybara", "PLATEAU_QUIET": "1"}
    bundles, prefix = {}, on_another_host()
    for name, command in {"c": [work / "giraffe", "--marmot-token=x"], "python": [PYTHON, work / "okapi.py", "marmot-token"]}.items():
        recording = work / f"lynx-project-{name}"
        run(*prefix, PLATEAU, "run", "-q", "--exact", "--no-report", "-o", recording, "--", *command, env=user, cwd=work)
        for anonymize in (False, True):
            bundle = folder / f"{name}{'-anonymous' if anonymize else ''}.tar.zst"
            markdown = run(PLATEAU, "bundle", recording, "-o", bundle, *(["--anonymize"] if anonymize else []), env=user, cwd=work)
            bundles[name, anonymize] = (bundle, markdown)
    shutil.rmtree(home)
    return bundles


def outputs(bundle, folder):
    """What a person sees of a bundle: text, JSON, page, call tree, an export."""
    page = folder / "page.html"
    text = run(PLATEAU, "report", bundle, "--tree", "--html", page)
    return {"text": text, "json": run(PLATEAU, "report", bundle, "--json", "-"), "html": page.read_bytes(),
            "sites": run(PLATEAU, "sites", bundle), "folded": run(PLATEAU, "export", bundle, "-f", "folded")}


def check_symbols_without_the_program(bundles, folder):
    for name, wanted in {"c": [b"giraffe_train_step", b"zebra_buffer_make", b"giraffe.c"], "python": [b"okapi_load_sample", b"okapi.py"]}.items():
        seen = outputs(bundles[name, False][0], folder)
        for word in wanted:
            for kind in ("text", "json", "html"):
                assert word in seen[kind], f"{name}: {word} is not in the {kind}"
        assert wanted[0] in seen["folded"], f"{name}: {wanted[0]} is not in the folded stacks"
        assert b"walrus source" in seen["html"] or name == "c", "the source line went with the file"
        top = json.loads(seen["json"])["sites"][0]
        line, retained = {"c": (4, 400 * 50001), "python": (6, 300 * 60001)}[name]
        assert top["line"] == line, top["site"]
        assert retained <= top["retained_bytes"] < retained * 1.1, top["retained_bytes"]


def check_no_byte_names_anybody(bundles, folder):
    for name in ("c", "python"):
        bundle, markdown = bundles[name, True]
        place = folder / f"unpacked-{name}"
        place.mkdir()
        run("tar", "--zstd", "-xf", bundle, "-C", place)
        files = [path for path in place.rglob("*") if path.is_file()]
        assert {path.name for path in files} == {"README.md", "card.txt", "report.json", "report.html"}, files
        contents = {str(path.name): path.read_bytes() for path in files}
        contents["markdown on stdout"] = markdown
        contents["tar"] = run("zstd", "-dc", bundle)
        contents.update(outputs(bundle, folder))
        for secret in [*SECRETS, HOST, str(folder), os.path.basename(folder)]:
            for where, content in contents.items():
                at = content.lower().find(secret.lower().encode())
                assert at < 0, f"{name}: {secret!r} is in {where}: {content[max(0, at - 60):at + 60]}"
        report = json.loads(contents["report.json"])
        sites = [site for site in report["sites"] if site["retained_bytes"] > 10 ** 7]
        assert sites and sites[0]["line"] in (4, 6), "the anonymous report lost its largest site"
        # The same stand-in everywhere: the site's function is a frame of its stack.
        functions = [frame["function"] for frame in sites[0]["stack"]]
        assert sites[0]["function"] in functions, (sites[0]["function"], functions)


def check_plain_bundle_holds_the_traces(bundles, _folder):
    listing = run("tar", "--zstd", "-tf", bundles["c", False][0]).decode()
    assert "trace/" in listing, listing


def main():
    with tempfile.TemporaryDirectory(prefix="lynx-project-") as name:
        folder = pathlib.Path(name)
        return failures((check_symbols_without_the_program, check_no_byte_names_anybody, check_plain_bundle_holds_the_traces), record(folder),
                        folder)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
