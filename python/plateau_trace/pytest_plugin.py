"""Tests that fail when their body leaks, and not when it fills a cache.

    @pytest.mark.plateau_no_leak(max_growth="10KiB", warmup=5, repeats=40)
    def test_request():
        handle(make_request())

The body runs `warmup` times and then `repeats` times in a process of its own under Plateau's recorder, each repetition
a step. The test fails when Plateau's verdict on a call site is a leak that grows by more than `max_growth` per
repetition (0 by default); growth that stops, such as a cache or a pool that fills, is not a leak. Garbage cycles are
collected before every step. Fixtures of the test are set up once in that process. When the body itself fails, the test
fails with its output.

`plateau` is taken from PLATEAU_BIN, the installation of this package, or PATH. Where there is none, the body runs once,
unmeasured, with a warning.
"""
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import pytest

from plateau_trace import mark
from plateau_trace.installation import find_plateau

MARKER = "plateau_no_leak"
GROWING = ("leak", "slow_leak", "staircase")
_REPEATS = "PLATEAU_PYTEST_REPEATS"  # "warmup:repeats", set in the recorded process
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 1000, "KIB": 1 << 10, "M": 1 << 20, "MB": 10**6, "MIB": 1 << 20,
          "G": 1 << 30, "GB": 10**9, "GIB": 1 << 30}


class PlateauWarning(UserWarning):
    pass


def parse_bytes(value):
    """4096, "10KiB", "1.5 MB" -> bytes."""
    if isinstance(value, (int, float)):
        return float(value)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
    if match is None or match.group(2).upper() not in _UNITS:
        raise ValueError("not a number of bytes: %r" % (value,))
    return float(match.group(1)) * _UNITS[match.group(2).upper()]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", MARKER + "(max_growth=0, warmup=5, repeats=40): run the body repeatedly under Plateau and fail when "
        "a call site leaks more than max_growth bytes per repetition")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    marker = pyfuncitem.get_closest_marker(MARKER)
    if marker is None:
        return None
    if _REPEATS in os.environ:
        _repeat(pyfuncitem, *map(int, os.environ[_REPEATS].split(":")))
        return True
    plateau = find_plateau()
    if not plateau:
        warnings.warn(PlateauWarning("%s: no `plateau` found (PLATEAU_BIN, PATH); the body runs once, unmeasured" %
                                     pyfuncitem.nodeid))
        return None
    _judge(pyfuncitem, plateau, **_arguments(marker))
    return True


def _arguments(marker):
    allowed = {"max_growth": 0, "warmup": 5, "repeats": 40}
    unknown = set(marker.kwargs) - set(allowed)
    if unknown or marker.args:
        raise pytest.UsageError("%s takes max_growth=, warmup= and repeats=" % MARKER)
    allowed.update(marker.kwargs)
    return allowed


def _repeat(item, warmup, repeats):
    """In the recorded process."""
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    for _ in range(warmup):
        item.obj(**arguments)
    gc.collect()
    for repeat in range(repeats):
        item.obj(**arguments)
        gc.collect()
        mark.step()
        if repeat + 1 in (repeats // 2, repeats):
            mark.holders()


def _judge(item, plateau, max_growth, warmup, repeats):
    limit = parse_bytes(max_growth)
    with tempfile.TemporaryDirectory(prefix="plateau-pytest-") as folder:
        recording = os.path.join(folder, "recording")
        _record(item, plateau, recording, "%d:%d" % (warmup, repeats))
        # A repetition is a whole pass over whatever the body works on.
        done = subprocess.run([plateau, "report", recording, "--epoch-steps", "1", "--json", "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    if done.returncode != 0:
        pytest.fail("plateau report: exit code %d\n%s" % (done.returncode, done.stderr.decode(errors="replace")),
                    pytrace=False)
    report = json.loads(done.stdout)
    leaks = leaking_sites(report, limit)
    if leaks:
        pytest.fail(describe(leaks, limit, repeats), pytrace=False)


def _record(item, plateau, recording, repeats):
    env = dict(os.environ, PLATEAU_QUIET="1")
    env[_REPEATS] = repeats
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(item.config.rootdir),
               os.path.join(str(item.config.rootdir), item.nodeid)]
    if item.config.pluginmanager.get_plugin("plateau") is None:
        command[3:3] = ["-p", "plateau_trace.pytest_plugin"]
    run = [plateau, "run", "--exact-from=1", "--python-alloc=exact", "--quiet", "--no-report", "--no-pack", "-o", recording, "--"]
    done = subprocess.run(run + command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          cwd=str(item.config.invocation_params.dir))
    if done.returncode != 0:
        pytest.fail("the repeated body failed (exit code %d):\n%s" %
                    (done.returncode, done.stdout.decode(errors="replace")), pytrace=False)


def leaking_sites(report, limit):
    """Call sites of a report whose verdict is growth without an end, above the limit."""
    return [site for site in report.get("sites", [])
            if site.get("verdict") in GROWING and (site.get("growth_bytes_per_step") or 0) > limit]


def keepers(site):
    """Who keeps what a call site made: 'test keeps 40 tensors in `client._cache`'."""
    lines = []
    for path in site.get("held_by") or []:
        share = path.get("share") or 0
        if path.get("end") == "garbage":
            lines.append("%d %% waits for the garbage collector: %s" % (round(100 * share), path["text"]))
            continue
        if path.get("end") != "path":
            lines.append(path["text"])
            continue
        kind = "tensor" if site.get("tensor_count") else "object"
        count = round(share * (site.get("tensor_count") or site.get("retained_count") or 0))
        where = path.get("container") or path["text"]
        lines.append("test keeps %d %s%s in `%s`" % (count, kind, "" if count == 1 else "s", where))
    return lines


def describe(leaks, limit, repeats):
    lines = ["%d call site%s leak%s (limit %d bytes per repetition, %d repetitions):" %
             (len(leaks), "" if len(leaks) == 1 else "s", "s" if len(leaks) == 1 else "", limit, repeats)]
    for site in leaks[:10]:
        where = "%s:%s %s" % (site.get("file") or site.get("module"), site.get("line"), site.get("function"))
        lines.append("  %.0f bytes per repetition, %d bytes kept: %s [%s]" % (
            site["growth_bytes_per_step"], site.get("retained_bytes", 0), where, site["verdict"]))
        lines += ["    " + line for line in keepers(site)]
    return "\n".join(lines)
