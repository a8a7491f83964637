"""Finds recordings below a folder, without opening what is none."""
import glob
import os


class NoRecordings(Exception):
    """Nothing of what was given is a recording; the text says what was looked at."""


def _is_recording(names):
    return any(name.endswith(".plt") for name in names)


def find(patterns, max_depth=6):
    """Paths of recordings: folders with traces at or below what the patterns match.

    A pattern that names a folder by itself and finds no trace in it is kept, if the launcher left its note there: a recording
    without a trace is an answer too. Symbolic links to folders are followed at the top only.
    """
    found, looked_at = [], 0
    for pattern in patterns:
        matches = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern))
        if not matches and len(patterns) == 1:
            raise NoRecordings("%s: no such file or directory" % pattern)
        for match in matches:
            if not os.path.isdir(match):
                looked_at += 1
                if match.endswith(".plt"):
                    found.append(match)
                continue
            for folder, below, names in os.walk(match):
                looked_at += len(names)
                depth = os.path.relpath(folder, match).count(os.sep)
                if depth >= max_depth:
                    below[:] = []
                below.sort()
                if _is_recording(names) or "ending.txt" in names:
                    found.append(folder)
                    below[:] = []
    if not found:
        shown = " ".join(patterns)
        raise NoRecordings("%s: no recording there (%d other files); record with `plateau run -o DIR`" % (shown, looked_at))
    return list(dict.fromkeys(os.path.abspath(path) for path in found))


def is_tables(path):
    """Whether a folder holds tables of `plateau export -f parquet` already."""
    return os.path.isdir(os.path.join(path, "jobs")) and os.path.isdir(os.path.join(path, "ranks"))
