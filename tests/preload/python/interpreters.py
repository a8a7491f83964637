"""The interpreters of this machine that the tests run on.

/usr/bin/python3 and every pyenv version from 3.8 on; PLATEAU_TEST_PYTHONS (a list separated by ':') adds others or,
when it starts with '=', replaces them.
"""
import glob
import os
import re
import subprocess


def find():
    """Paths of interpreters, each version once per kind of build."""
    paths = ["/usr/bin/python3"]
    for folder in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*"))):
        match = re.match(r"3\.(\d+)\.", os.path.basename(folder))
        if match and int(match.group(1)) >= 8:
            paths.append(os.path.join(folder, "bin", "python3"))
    extra = os.environ.get("PLATEAU_TEST_PYTHONS", "")
    if extra.startswith("="):
        paths, extra = [], extra[1:]
    paths += [path for path in extra.split(":") if path]
    return [path for path in paths if os.access(path, os.X_OK)]


def version(path):
    """(3, 11, 2)"""
    out = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:3])"], stdout=subprocess.PIPE, check=True)
    return tuple(int(part) for part in out.stdout.split())


def label(path):
    return "%s %s" % (".".join(map(str, version(path))), path)
