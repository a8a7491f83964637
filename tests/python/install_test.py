"""The package by pip and by `cmake --install`: importable, and pytest finds the plug-in by itself."""
import os
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["PLATEAU_BUILD"], os.environ["PLATEAU_SOURCE"]


def output(command, **extra):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env.update(extra)
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout.decode()


def main():
    check = "import plateau.mark; plateau.mark.step(); print(plateau.mark.__file__)"
    with tempfile.TemporaryDirectory() as folder:
        output(["cmake", "--install", os.path.join(BUILD, "python"), "--prefix", folder])
        where = os.path.join(folder, "lib", "plateau", "python")
        assert output([sys.executable, "-c", check], PYTHONPATH=where).startswith(folder)
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "site")
        copy = os.path.join(folder, "python")
        subprocess.run(["cp", "-r", os.path.join(SOURCE, "python"), copy], check=True)
        pip = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
                              "--no-index", "--target", target, copy], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if pip.returncode != 0:
            text = pip.stdout.decode()
            if "No module named" in text:
                print("pip or setuptools is missing here")
                sys.exit(77)
            sys.exit(text)
        assert output([sys.executable, "-c", check], PYTHONPATH=target).startswith(folder)
        try:
            import pytest  # noqa: F401
        except ImportError:
            return
        markers = output([sys.executable, "-m", "pytest", "--markers", "-p", "no:cacheprovider"], PYTHONPATH=target)
        assert "plateau_no_leak" in markers, markers


if __name__ == "__main__":
    main()
