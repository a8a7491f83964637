#!/usr/bin/env python3
"""The transcript at the top of the README is what its command prints today, but for the numbers that differ from run to run."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["PLATEAU_SOURCE"])
BUILD = pathlib.Path(os.environ["PLATEAU_BUILD"])


def shape(line):
    """A line without what varies: numbers, units, curves, and the spaces that align them."""
    line = re.sub(r"[▁▂▃▄▅▆▇█]+", "~", line)
    line = re.sub(r"[0-9][0-9.,]*( [KMG]i?B| B| s| ms)?", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def main():
    block = re.search(r"```\n\$ (.*?)\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)
    if not block:
        sys.exit("README.md has no transcript that begins with '$ '")
    command, transcript = block.group(1).split(), [line for line in block.group(2).splitlines() if line.strip()]
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}:/usr/bin:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SOURCE / "examples", os.path.join(folder, "examples"))
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600,
                              env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    printed = {shape(line) for line in (done.stdout + done.stderr).splitlines()}
    missing = [line for line in transcript if shape(line) not in printed]
    for line in missing:
        print("not printed any more:", line)
    # The fourth-best model and the last-named pattern may change with a run's noise; the verdict and the line may not.
    if len(missing) > len(transcript) // 4 or any(line in missing for line in transcript[:3]):
        print("what it prints:\n" + done.stdout + done.stderr)
        return 1
    print(f"{len(transcript) - len(missing)} of {len(transcript)} lines as printed")
    return 0


if __name__ == "__main__":
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode:
        sys.exit(77)
    sys.exit(main())
