#!/usr/bin/env python3
"""clang-tidy finds nothing in the files it is asked about, with the checks of .clang-tidy.

    tests/checks/tidy.py --build build/ci --all          every source file of preload/ and analyzer/: about 4 s of a core each
    tests/checks/tidy.py --build build/ci --changed REV  those that changed since REV, or include a header that did
    tests/checks/tidy.py --build build/ci --newest 6     the six that were committed last
    tests/checks/tidy.py --build build/ci FILE...

A file that passed is not looked at again while it, the headers of ours that it includes, the configuration and clang-tidy stay
as they are: build/NAME/tidy-cache has one empty file for each such state. Without clang-tidy the check is skipped (77).
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("PLATEAU_SOURCE", pathlib.Path(__file__).resolve().parents[2])).resolve()
INCLUDE = re.compile(r'^#include "((?:preload|analyzer)/[^"]+)"', re.M)
SKIPPED = 77


@functools.lru_cache(maxsize=None)
def digest(path):
    """Of one file and of every header of ours that it includes."""
    seen, waiting = {}, [path]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        file = SOURCE / name
        text = file.read_text(errors="replace") if file.exists() else ""  # one that the build writes
        seen[name] = hashlib.sha256(text.encode()).hexdigest()
        waiting += INCLUDE.findall(text)
    return hashlib.sha256(json.dumps(sorted(seen.items())).encode()).hexdigest(), frozenset(seen)


def git(*arguments):
    return subprocess.run(["git", "-C", SOURCE, *arguments], capture_output=True, text=True, check=True).stdout.split("\n")


def chosen(options, known):
    if options.all:
        return sorted(known)
    if options.changed:
        changed = set(git("diff", "--name-only", options.changed))
        return sorted(file for file in known if digest(file)[1] & changed)
    if options.newest:
        listed = git("log", "--format=", "--name-only", "-n", "60")
        return [file for file in dict.fromkeys(listed) if file in known][:options.newest]
    files = [os.path.relpath(os.path.abspath(file), SOURCE) for file in options.files]
    unknown = [file for file in files if file not in known]
    if unknown:
        sys.exit(f"no source file that {options.build} compiles: {' '.join(unknown)}")
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("PLATEAU_BUILD", "build/ci"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", metavar="REV")
    parser.add_argument("--newest", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    tidy = shutil.which("clang-tidy")
    if tidy is None:
        print("clang-tidy is missing; tools/setup develop installs it")
        return SKIPPED
    commands = {}
    for entry in json.loads((pathlib.Path(options.build) / "compile_commands.json").read_text()):
        file = os.path.relpath(entry["file"], SOURCE)
        if file.startswith(("preload/", "analyzer/")):
            commands[file] = entry["command"]
    version = subprocess.run([tidy, "--version"], capture_output=True, text=True).stdout
    settings = version + (SOURCE / ".clang-tidy").read_text()
    cache = pathlib.Path(options.build) / "tidy-cache"
    cache.mkdir(exist_ok=True)

    def check(file):
        flags = " ".join(word for word in commands[file].split() if word.startswith(("-D", "-std", "-m", "-f")))
        passed = cache / hashlib.sha256((settings + flags + digest(file)[0]).encode()).hexdigest()
        if passed.exists():
            return ""
        done = subprocess.run([tidy, "-p", options.build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", SOURCE / file],
                              capture_output=True, text=True)
        if done.returncode == 0:
            passed.touch()
            return ""
        return done.stdout

    files = chosen(options, commands)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = 0
        for text in pool.map(check, files):
            if text:
                print(text, flush=True)
                found += 1
    print(f"{len(files)} files, {found} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
