"""The package by pip and by `cmake --install`: importable, and pytest finds the plug-in by itself.

From a virtual environment with nothing set but PATH, a leaking test fails with its line and a clean one passes.
"""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["PLATEAU_BUILD"], os.environ["PLATEAU_SOURCE"]


TESTS = '''import pytest
kept = []

@pytest.mark.plateau_no_leak
def test_leak():
    kept.append(bytearray(20000))

@pytest.mark.plateau_no_leak
def test_clean():
    len(bytearray(20000))
'''


def environment(**extra):
    without = ("PYTHONPATH", "PLATEAU_BIN")
    return {**{name: value for name, value in os.environ.items() if name not in without}, **extra}


def output(command, **extra):
    return subprocess.run(command, env=environment(**extra), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout.decode()


def main():
    check = "import plateau_trace.mark; plateau_trace.mark.step(); print(plateau_trace.mark.__file__)"
    with tempfile.TemporaryDirectory() as folder:
        output(["cmake", "--install", os.path.join(BUILD, "python"), "--prefix", folder])
        where = os.path.join(folder, "lib", "plateau", "python")
        assert output([sys.executable, "-c", check], PYTHONPATH=where).startswith(folder)
    with tempfile.TemporaryDirectory() as folder:
        python = fresh_environment(folder)
        assert output([python, "-c", check]).startswith(folder)
        try:
            import pytest  # noqa: F401
        except ImportError:
            return
        with open(os.path.join(folder, "test_sample.py"), "w") as out:
            out.write(TESTS)
        done = subprocess.run([python, "-m", "pytest", "-v", "--strict-markers", "-p", "no:cacheprovider", folder], cwd=folder,
                              env=environment(PATH=os.path.join(BUILD, "bin") + ":/usr/bin:/bin"), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        text = done.stdout.decode()
        assert done.returncode == 1 and "test_leak FAILED" in text and "test_clean PASSED" in text, text
        assert "test_sample.py:6 test_leak" in text and "unmeasured" not in text, text  # the line of the leak


def fresh_environment(folder):
    """A virtual environment with the package installed by pip, as `pip install ./python` does; its interpreter."""
    venv, copy = os.path.join(folder, "venv"), os.path.join(folder, "python")
    shutil.copytree(os.path.join(SOURCE, "python"), copy, ignore=shutil.ignore_patterns("__pycache__"))
    # Its own pip would have to be unpacked first; the one outside installs into it as well.
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", venv], check=True)
    python = os.path.join(venv, "bin", "python")
    pip = subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-build-isolation",
                          "--no-deps", "--no-index", copy], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
    if pip.returncode != 0:
        text = pip.stdout.decode()
        if "No module named" in text:
            print("pip or setuptools is missing here")
            sys.exit(77)
        sys.exit(text)
    return python


if __name__ == "__main__":
    main()
