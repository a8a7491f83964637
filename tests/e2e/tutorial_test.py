"""docs/tutorial.md from top to bottom, in an empty folder: its program is written, its commands are run, and what it shows is printed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from plateau_cli import BUILD, PYTHON, SOURCE


def main():
    text = (SOURCE / "docs/tutorial.md").read_text()
    blocks = re.findall(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", text, re.S | re.M)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        os.symlink(BUILD / "bin/plateau", folder / "bin/plateau")
        os.symlink(PYTHON, folder / "bin/python3")
        environment = dict(os.environ, PATH=f"{folder}/bin:/usr/bin:/bin", PYTHONPATH=str(SOURCE / "python"), HOME=name)
        printed, shown = "", 0
        for kind, title, block in blocks:
            if kind == "python":
                (folder / title).write_text(block)
            elif kind == "sh":
                printed = ""
                for command in block.splitlines():
                    done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
                    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
                    printed += done.stdout + done.stderr
            elif kind == "text":
                flat = re.sub(r"\s+", " ", printed)
                for line in block.splitlines():
                    assert line.strip() in flat, f"not printed: {line}\n{printed}"
                    shown += 1
        assert shown >= 6 and (folder / "before.html").stat().st_size > 100000
    print(f"{len(blocks)} blocks, {shown} lines as shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())
