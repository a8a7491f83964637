"""plateau_no_leak with the real pytest, the real recorder and the real verdict."""
import os
import re
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["PLATEAU_BUILD"], os.environ["PLATEAU_SOURCE"]
PLATEAU = os.path.join(BUILD, "bin", "plateau")

TESTS = '''
import pytest
kept = []
cache = {}
turn = iter(range(10 ** 9))

@pytest.mark.plateau_no_leak
def test_leak():
    kept.append(bytearray(20000))

@pytest.mark.plateau_no_leak(max_growth="1MiB")
def test_leak_below_the_limit():
    kept.append(bytearray(20000))

@pytest.mark.plateau_no_leak(repeats=60)
def test_cache():
    key = next(turn) % 8
    if key not in cache:
        cache[key] = bytearray(50000)

@pytest.mark.plateau_no_leak(warmup=2)
def test_clean(tmp_path):
    assert tmp_path.exists()
    sum(len(bytearray(30000)) for _ in range(3))

@pytest.mark.plateau_no_leak
def test_fails_by_itself():
    assert 1 == 2, "own failure"

def test_unmarked():
    pass
'''
EXPECTED = {"test_leak": "FAILED", "test_leak_below_the_limit": "PASSED", "test_cache": "PASSED",
            "test_clean": "PASSED", "test_fails_by_itself": "FAILED", "test_unmarked": "PASSED"}


def run(folder, **extra):
    env = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "python"), PYTHONDONTWRITEBYTECODE="1", **extra)
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "plateau_trace.pytest_plugin", "-p", "no:cacheprovider",
                           "--strict-markers", folder], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    return dict(re.findall(r"::(\w+) (PASSED|FAILED|ERROR|SKIPPED)", text)), text


def main():
    try:
        import pytest  # noqa: F401
    except ImportError:
        print("no pytest here")
        sys.exit(77)
    if subprocess.run([PLATEAU, "help", "report"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        print("this build has no `plateau report`")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_sample.py"), "w") as out:
            out.write(TESTS)
        results, text = run(folder, PLATEAU_BIN=PLATEAU)
        assert results == EXPECTED, (results, text)
        assert "test_sample.py:9 test_leak" in text, text  # the line of the leak
        assert re.search(r"test keeps \d+ objects? in `test_sample\.kept`", text), text  # and who keeps it
        assert "own failure" in text, text
        results, text = run(folder, PLATEAU_BIN="/nonexistent", PATH="/usr/bin:/bin")
        assert results["test_leak"] == "PASSED" and "unmeasured" in text, text


if __name__ == "__main__":
    main()
